"""A site with style sheets for tests that show pages in a browser: articles beside a bar, and a banner over all."""

from pathlib import Path

from tests.server import Answer, WebServer

FIBRES = "hemp sisal cotton jute linen manila flax coir".split()
SHIPS = "Swallow,Heron,Northern Light,Petrel,Two Sisters,Good Hope,Albatross".split(",")
PLACES = "Chatham Limehouse Bridport Flensburg Rochefort".split()
BANNER = "We use cookies to make this site work, and to count its readers."
UNSEEN = "cheap ropes best ropes buy ropes online"
MENU = ("Home", "Ropes", "Knots", "Workshop", "About us")

CSS = (Path(__file__).parent / "data" / "pages" / "shown.css").read_text(encoding="utf-8")


def title(number: int) -> str:
    """Return what no other of 56 pages is called."""
    return f"{FIBRES[number % 8].capitalize()} rope for the {SHIPS[number % 7]}"


def sentence(number: int, place: int) -> str:
    """Return what no other page says."""
    return (
        f"In {1790 + (number * 7 + place * 3) % 110} the walk at {PLACES[(number + place) % 5]} laid "
        f"{number * 31 + place + 40} fathoms of {FIBRES[(number + place * 3) % 8]} for the "
        f"{SHIPS[(number + place) % 7]}, and strand {number}-{place} was tarred by hand before it left the yard."
    )


def article(number: int, articles: int) -> str:
    """Return a page of prose with all that stands around it."""
    menu = "".join(f'<li><a href="/{name.lower().replace(" ", "-")}">{name}</a></li>' for name in MENU)
    others = [(number + step) % articles for step in range(1, 7)]
    related = "".join(f'<li><a href="/ropes/{other}">{title(other)}</a></li>' for other in others)
    sentences = [sentence(number, place) for place in range(15)]
    prose = "".join(f"<p>{' '.join(sentences[place : place + 3])}</p>" for place in range(0, 15, 3))
    return (
        f'<!doctype html><html lang="en"><head><title>{title(number)} | Rope Walk</title>'
        '<link rel="stylesheet" href="/style.css"></head><body>'
        f'<header class="top"><nav><ul>{menu}</ul></nav></header><div class="page"><main class="post">'
        f'<h1>{title(number)}</h1><p class="date"><time datetime="2024-03-{number % 28 + 1:02}">'
        f'{number % 28 + 1} March 2024</time></p><p class="byline">By Ann Lee</p>{prose}'
        f'<p class="trick">{UNSEEN}</p></main>'
        f'<aside class="bar"><h3>More about ropes</h3><ul>{related}</ul></aside></div>'
        '<footer class="end"><p>Example Limited, 3 Rope Walk, open from Tuesday to Saturday.</p></footer>'
        f'<div class="consent"><p>{BANNER}</p></div></body></html>'
    )


def publish(server: WebServer, articles: int = 14) -> list[str]:
    """Put the site on a server; return the URLs of its articles."""
    origin = server.origins[0]
    urls = [f"{origin}/ropes/{number}" for number in range(articles)]
    server.site = {url: Answer(article(number, articles)) for number, url in enumerate(urls)}
    server.site[f"{origin}/style.css"] = Answer(CSS, content_type="text/css")
    server.site[f"{origin}/robots.txt"] = Answer("User-agent: *\nDisallow: /private/\n", content_type="text/plain")
    return urls
