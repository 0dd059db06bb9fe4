"""A small site of two layouts in a store, learned as `scrapy dedup templates analyze` learns it."""

from html import escape

from scrapy_dedup.service.templates.site_knowledge import learn_site
from scrapy_dedup.service.templates.site_records import template_record
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import LayoutRunRecord, LayoutSignatureRecord
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import DOMAIN, NOON, a_url, put

NAV = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("Home", "Posts", "Tools", "About us"))
FOOTER = "Example Limited, 3 Rope Walk, open from Tuesday to Saturday between ten and four."
ADVERT = "Subscribe to our letter about ropes and never miss a knot again."
WORDS = "hemp sisal cotton jute linen wire silk nylon cable twine cord thread string lace braid wool".split()


def text(name: str, sentence: int) -> str:
    """Return a sentence that no other page has."""
    chosen = [
        WORDS[(sum(map(ord, name)) * (sentence + 3) + place * (sentence + 1)) % len(WORDS)] for place in range(12)
    ]
    return f"Note {name}-{sentence} says that {' '.join(chosen)} are what a rope maker works with."


def post(name: str) -> str:
    """Return a page with prose, a teaser and a bar."""
    body = "".join(f"<p>{escape(text(name, number))}</p>" for number in range(6))
    return _page(
        name,
        f'<main class="post"><article><h1>Post {name}</h1><div class="text">{body}</div>'
        f'<p class="lead">Seen by {len(name)} readers of {name}</p></article></main>'
        f'<aside class="bar"><p>{ADVERT}</p></aside>',
    )


def listing(name: str) -> str:
    items = "".join(
        f'<section class="card"><h2><a href="/{name}-{number}">Entry {name}-{number}</a></h2></section>'
        for number in range(8)
    )
    return _page(name, f'<div class="grid"><form class="filter"><p>Filter by kind</p></form>{items}</div>')


def _page(name: str, main: str) -> str:
    return (
        f"<html><head><title>{name} | Ropes</title></head><body><header class='top'><nav><ul>{NAV}</ul></nav></header>"
        f"{main}<footer class='end'><p>{FOOTER}</p></footer></body></html>"
    )


def pages() -> dict[str, str]:
    posts = {a_url(f"posts/{word}"): post(word) for word in WORDS[:12]}
    return posts | {a_url(f"tools/{word}"): listing(word) for word in WORDS[:8]}


def put_site(project: ProjectStore) -> dict[str, int]:
    """Store the pages and what they teach; return the layouts by what they are."""
    html = pages()
    put(project, html)
    knowledge = learn_site(DOMAIN, html.items(), Settings())
    project.write(template_record(knowledge, layout, NOON) for layout in sorted(knowledge.templates))
    layouts = {one.kind: layout for layout, one in knowledge.templates.items() if layout}
    for layout in layouts.values():
        project.write([LayoutSignatureRecord(DOMAIN, layout, 1, layout, 4, NOON)])
        project.write([LayoutRunRecord(DOMAIN, layout, 4, a_url("posts/hemp"))])
    return layouts
