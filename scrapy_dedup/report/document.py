"""What all HTML files of this folder share: head, sections, tables, end. No script, no request, nothing to install."""

import base64
import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Final

from scrapy_dedup.report.charts import HATCHING
from scrapy_dedup.report.markup import Html, attribute, joined

CSS: Final = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
"""Light and dark, phone to wide screen, no font or picture from elsewhere; the dashboard has it, too."""
NONE = "\N{EN DASH}"
"""A figure that there is not."""


def document(title: str, opening: Html, sections: Iterable[Html], generated_at: datetime) -> str:
    """Return a whole file; `title` is foreign text."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n'
        f"{_head(title)}\n</head>\n<body>\n{HATCHING}\n{opening}\n"
        f"<main>\n{joined(one for one in sections if one)}\n</main>\n{_closing(generated_at)}\n</body>\n</html>\n"
    )


def section(title: str, lead: str, content: Html) -> Html:
    """Return a section; title and lead are HTML already."""
    return Html(f'<section>\n<h2>{title}</h2>\n<p class="lead">{lead}</p>\n{content}\n</section>')


def table(first: str, others: Iterable[str], body: Html, kind: str = "") -> Html:
    """Return a table whose first column names, and whose others count."""
    heads = "".join(f'<th scope="col" class="number">{name}</th>' for name in others)
    named = f' class="{kind}"' if kind else ""
    return Html(
        f"<table{named}>\n"
        f'<thead><tr><th scope="col">{first}</th>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>'
    )


def table_row(name: Html, figures: Iterable[str], *, idle: bool = False, labels: Iterable[str] = ()) -> Html:
    """Return a row; labels say the columns where there is no room for them above."""
    extra = " idle" if idle else ""
    shown = list(figures)
    told = [f' data-label="{escape(label)}"' for label in labels] or [""] * len(shown)
    cells = "".join(
        f'<td class="number{extra}{" none" if one == NONE else ""}"{label}>{escape(one)}</td>'
        for one, label in zip(shown, told, strict=True)
    )
    return Html(f'<tr><th scope="row" class="name-cell{extra}">{name}</th>{cells}</tr>')


def numbers(figures: Iterable[tuple[str, str]]) -> Html:
    """Return a few large figures with their names."""
    shown = joined(Html(f"<div><dt>{name}</dt><dd>{escape(figure)}</dd></div>") for name, figure in figures)
    return Html(f'<dl class="numbers">\n{shown}\n</dl>')


def _head(title: str) -> Html:
    # No script may run and nothing may be fetched, whatever a page smuggled in.
    # The empty icon keeps browsers from asking a server for /favicon.ico.
    digest = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return joined(
        Html(line)
        for line in (
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{attribute(title, 200)}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{CSS}</style>",
        )
    )


def _closing(generated_at: datetime) -> Html:
    at = generated_at.astimezone(UTC)
    return Html(
        f'<footer>Made by scrapy-dedup on <time datetime="{at.isoformat()}">{at:%Y-%m-%d %H:%M} UTC</time>. '
        "This file loads nothing from anywhere.</footer>"
    )
