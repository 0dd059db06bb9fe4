"""A site of two layouts, with all that real ones have around their content."""

from scrapy_dedup.core.pages.blocks import Page
from tests.core.builders import parsed

DOMAIN = "site.example"
_WORDS = (
    "harbour copper meadow signal lantern orbit pepper velvet quarry ribbon anchor cobalt ember fjord glacier".split()
)


def words(number: int, count: int) -> str:
    """Return text that no other number has."""
    return " ".join(f"{_WORDS[(number * 7 + place * 3) % len(_WORDS)]}{number * 31 + place}" for place in range(count))


def _around(content: str, number: int, kind: str) -> str:
    menu = "".join(f'<li><a href="/{name}">{name.title()}</a></li>' for name in _WORDS[:8])
    related = "".join(f'<li><a href="/a/{number + step}">{words(number + step, 4)}</a></li>' for step in range(1, 5))
    return (
        f'<html lang="en"><head><title>{words(number, 3)} | The Site</title></head><body class="{kind}">'
        '<div class="consent"><p>We use cookies to give you the best experience on our site.</p></div>'
        f'<header><nav class="menu"><ul>{menu}</ul></nav></header><div class="page">{content}'
        f'<div class="side"><h3>Related</h3><ul>{related}</ul></div></div>'
        "<footer><p>All rights reserved by the site and its makers.</p></footer></body></html>"
    )


def article(number: int) -> str:
    paragraphs = "".join(f"<p>{words(number * 100 + place, 30)}</p>" for place in range(5))
    return _around(f'<article class="post"><h1>{words(number, 3)}</h1>{paragraphs}</article>', number, "single")


def listing(number: int) -> str:
    entries = "".join(
        f'<div class="entry"><h2><a href="/a/{number * 10 + place}">{words(number * 10 + place, 3)}</a></h2>'
        f"<p>{words(5_000 + number * 10 + place, 12)}</p></div>"
        for place in range(8)
    )
    return _around(f'<section class="list"><h1>Archive {number}</h1>{entries}</section>', number, "archive")


def url_of(kind: str, number: int) -> str:
    return f"https://{DOMAIN}/{kind}/{number}"


def pages(articles: int, listings: int = 0) -> list[tuple[str, str]]:
    found = [(url_of("a", number), article(number)) for number in range(1, articles + 1)]
    return found + [(url_of("list", number), listing(number)) for number in range(1, listings + 1)]


def own_text(number: int) -> list[str]:
    return [words(number * 100 + place, 30) for place in range(5)]


def page_of(html: str) -> Page:
    return parsed(html)
