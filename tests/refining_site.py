"""A site whose pages have something in the text that only many pages together give away."""

from tests.server import Answer, WebServer
from tests.sites import FOOTER, MENU, prose

PROMOTION = "Members of the harbour club sail for free every first Sunday of the month, rain or shine."


def page(name: str, links: list[str]) -> str:
    """Return a page with a promotion between two paragraphs of its own."""
    paragraphs = [f"<p>{prose((name, part), sentences=6)}</p>" for part in range(4)]
    offer = f"<div class='offer'><p>{PROMOTION}</p></div>"
    anchors = "".join(f'<li><a href="{link}">More about {link.rpartition("/")[2]}</a></li>' for link in links)
    return (
        f"<!doctype html><html lang='en'><head><title>On {name}</title></head><body>{MENU}<main><h1>On {name}</h1>"
        f"{paragraphs[0]}{paragraphs[1]}{offer}{paragraphs[2]}{paragraphs[3]}</main>"
        f"<ul class='more'>{anchors}</ul>{FOOTER}</body></html>"
    )


def publish(server: WebServer, pages: int) -> list[str]:
    """Put so many pages on the server, each of which leads to all; return their URLs."""
    origin = server.origins[0]
    urls = [f"{origin}/p{number}" for number in range(pages)]
    server.site = {url: Answer(page(f"p{number}", urls)) for number, url in enumerate(urls)}
    return urls
