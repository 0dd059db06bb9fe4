"""Sites to crawl: pages with menus and footers that repeat, and text that does not."""

from collections.abc import Sequence
from random import Random

from tests.server import Answer, Site

SMALL = (3, 5, 17, 40)
"""Pages of the four domains of a site: some are never known, some early, some late."""

_WORDS = """amber basalt cedar delta ember fjord granite harbour island juniper kestrel lagoon meadow nectar orchard
pebble quartz raven saffron tundra umber valley willow yarrow zephyr anchor birch copper drift estuary""".split()

MENU = "<nav><ul><li><a href='/about'>About</a></li><li><a href='/terms'>Terms of use</a></li></ul></nav>"
FOOTER = "<footer><p>Published by the harbour office, all rights reserved, no part may be copied.</p></footer>"


def prose(seed: object, sentences: int = 3) -> str:
    """Return text that no other seed has."""
    random = Random(str(seed))
    return " ".join(" ".join(random.choices(_WORDS, k=9)).capitalize() + "." for _ in range(sentences))


def html_page(name: object, *, head: str = "", links: Sequence[str] = (), body: str | None = None) -> str:
    """Return a page of the common design; *name* makes its text its own."""
    anchors = "".join(f'<p class="link"><a href="{link}">{link}</a></p>' for link in links)
    article = body if body is not None else f"<h1>On {name}</h1><p>{prose(name)}</p><p>{prose((name, 2))}</p>"
    return (
        f"<!doctype html><html lang='en'><head><title>{name}</title>{head}</head><body>{MENU}"
        f"<main>{article}{anchors}</main>{FOOTER}</body></html>"
    )


def interleaved(origins: Sequence[str], sizes: Sequence[int]) -> Site:
    """Return one domain for each size; a hub without item links a third of all pages, the others are found on the way.

    The hub's links change domain from one to the next.
    """
    urls = [f"{origin}/p{n}" for origin, size in zip(origins, sizes, strict=True) for n in range(size)]
    Random(1).shuffle(urls)
    third = len(urls) // 3 + 1
    site: Site = {f"{origins[0]}/hub": Answer(html_page("hub", links=urls[:third]))}
    for index, url in enumerate(urls):
        following = [urls[after] for after in (index + third, index + 2 * third) if after < len(urls)]
        site[url] = Answer(html_page(url, links=following))
    return site


def pages_of(site: Site) -> set[str]:
    """Return the URLs of the pages that give an item."""
    return {url for url in site if not url.endswith("/hub")}
