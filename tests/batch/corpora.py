"""Pages of several domains that have much in common, as rows of JSON lines, and what is no page."""

import json
from base64 import b64encode
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tests.hospital.site import FEW, addresses, site
from tests.hospital.site import rows as hospital_rows
from tests.hospital.words import prose
from tests.pdf_files import a_pdf, column

_SHOPS = ("tea.example", "coffee.example", "cocoa.example")

PATIENT = timedelta(minutes=5)
"""For a PDF file, on a machine that does much else."""


def as_lines(rows: Sequence[Any]) -> list[bytes]:
    """Return rows as lines, without their ends; what is bytes already stays."""
    return [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]


def hospital() -> list[dict[str, Any]]:
    """Return the rows of a site with every kind of repetition, in no order."""
    pages = site(FEW)
    return list(hospital_rows(pages, addresses(pages, FEW, 1)))


def a_page(domain: str, path: str, text: str, title: str = "", head: str = "") -> dict[str, Any]:
    """Return a page that says a text within its site's menu and imprint."""
    title = title or f"About {path}"
    html = (
        f"<html><head><title>{title}</title>{head}</head><body><div class=menu><p>Home Shop {domain}</p></div>"
        f"<main><h1>{title}</h1>{text}</main><footer><p>Imprint of {domain}</p></footer></body></html>"
    )
    return {"url": f"https://{domain}/{path}", "html": html}


def _text(seed: str, sentences: int = 6) -> str:
    return f"<p>{prose(seed, sentences)}</p>"


def _mixed() -> list[Any]:
    rows: list[Any] = [a_page(one, f"{n}", _text(f"{one} {n}") * 2) for one in _SHOPS for n in range(7)]
    shared, long = _text("shared"), _text("long", 30)
    rows += [a_page(one, "same-text", shared, f"Shared at {one}") for one in _SHOPS]
    rows += [a_page(one, "part", shared + _text(f"own {one}", 12)) for one in _SHOPS]
    rows += [a_page(one, "edition", f"{long}<p>Edition of {one}</p>", f"Edition {one}") for one in _SHOPS]
    link = '<link rel=canonical href="/0">'
    rows += [a_page(one, "alias", _text(f"{one} 0") * 2, "About 0", link) for one in _SHOPS]
    rows += [a_page("tea.example", f"copy{n}", _text("tea.example 1") * 2, "About 1") for n in range(2)]
    rows += [a_page("tea.example", f"list{n}", _text(f"list {n}"), "List") for n in range(5)]
    absent = '<link rel=canonical href="/absent">'
    rows += [a_page("tea.example", f"absent{n}", _text("absent", 8), f"Absent {n}", absent) for n in range(2)]
    rows += [a_page("small.example", f"{n}", _text(f"small {n}")) for n in range(2)]
    twice = a_page("tea.example", "2", _text("tea.example 2") * 2)
    rows += [twice, twice | {"url": twice["url"] + "?utm_source=x"}]
    pdf = b64encode(a_pdf([column(["A brochure of tea", "that is read by the leaf"] * 6)])).decode()
    files = [{"url": f"https://{one}/brochure.pdf", "body": pdf} for one in _SHOPS[:2]]
    rows += [one | {"content_type": "application/pdf"} for one in files]
    rows += [{"url": "https://tea.example/cup.png", "body": "", "content_type": "image/png"}]
    rows += [b"{no json", b"", {"html": "<p>no address"}, {"url": "https://tea.example/none"}, b"[]"]
    rows += [{"url": "https://tea.example/odd", "html": "<title>\ud800</title><p>lone \udfff surrogate"}]
    rows += [
        {"url": "mailto:nobody", "html": "<p>no page of the web"},
        {"url": "https://tea.example/empty", "html": ""},
    ]
    return rows


MIXED = _mixed()
"""Three shops with texts, parts, editions and brochures in common, other addresses of pages, and what is no page."""
