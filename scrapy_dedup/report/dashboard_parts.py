"""What the pages about a domain, a page and a template share: paths, badges, and small pieces."""

from collections.abc import Iterable
from datetime import datetime
from html import escape
from typing import Final
from urllib.parse import quote, urlencode

from scrapy_dedup.report.dashboard_frame import LONGEST_STEP, NOTHING, as_of
from scrapy_dedup.report.document import NONE
from scrapy_dedup.report.markup import Html, isolated, joined
from scrapy_dedup.report.numbers import whole

STATUSES: Final = {
    "DISCOVERED": ("discovered", ""),
    "PROCESSED_HIGH_QUALITY": ("high quality", " good"),
    "PROCESSED_LOW_QUALITY": ("low quality", ""),
    "BLACKLISTED": ("blacklisted", " bad"),
}
STATES: Final = {"live": "live", "probation": "on probation", "retired": "retired"}


def domain_path(base: str, domain: str, *steps: str) -> str:
    """Return the path of the page about a domain, or of one below it; `base` is that of the project's pages."""
    return f"{base}domains/{_quoted(domain, *steps)}"


def template_path(base: str, domain: str, layout: str, *steps: str) -> str:
    """Return the path of the page about a layout's template, or of one below it."""
    return f"{base}templates/{_quoted(domain, layout, *steps)}"


def picture_path(base: str, domain: str, layout: str) -> str:
    """Return the path of the picture of a layout."""
    return f"{base}layouts/{_quoted(domain, layout)}/picture.svg"


def keep_path(base: str, what: str, *, domain: str = "", page: str = "", take_back: bool = False) -> str:
    """Return the path where something is kept, or not any more, after a look at what that changes."""
    asked = {"what": what, "domain": domain, "page": page, "take_back": "1" if take_back else ""}
    return f"{base}keep?{urlencode({name: text for name, text in asked.items() if text}, errors='replace')}"


def _quoted(*steps: str) -> str:
    return "/".join(quote(step[:LONGEST_STEP], safe="", errors="replace") for step in steps)


def when(at: datetime | None) -> Html:
    """Return an instant in UTC, to the minute; a dash where there is none."""
    return as_of(at) if at is not None else Html(NONE)


def status_badge(status: str) -> Html:
    """Return a domain's status as a word."""
    word, kind = STATUSES.get(status, ("", ""))
    return Html(f'<span class="badge{kind}">{escape(word) or isolated(status or "not registered", 40)}</span>')


def state_badge(state: str) -> Html:
    """Return the state of a template as a word."""
    word = escape(STATES[state]) if state in STATES else isolated(state or "nothing learned", 40)
    return Html(f'<span class="badge{" good" if state == "live" else ""}">{word}</span>')


def link_button(path: str, label: Html) -> Html:
    """Return a link that looks like a button."""
    return Html(f'<a class="button" href="{escape(path)}">{label}</a>')


def actions(*parts: Html) -> Html:
    """Return buttons side by side."""
    return Html(f'<div class="actions">\n{joined(parts)}\n</div>')


def and_more(number: int, thing: str) -> Html:
    """Return how much is not shown; nothing where all is."""
    return Html(f'<p class="more">… and {whole(number)} {thing}</p>') if number > 0 else NOTHING


def table_heads(*names: str, numbers_from: int) -> Html:
    """Return the head of a table; columns from a place on, counted from 0, hold numbers."""
    cells = "".join(
        f'<th scope="col"{" class=number" if place >= numbers_from else ""}>{name}</th>'
        for place, name in enumerate(names)
    )
    return Html(f"<thead><tr>{cells}</tr></thead>")


def number_cells(*cells: tuple[str, str]) -> Html:
    """Return cells of numbers: (the column's name, for where there is no room for a head; HTML)."""
    return Html("".join(f'<td class="number" data-label="{label}">{shown}</td>' for label, shown in cells))


def fact_list(facts: Iterable[tuple[str, Html]], kind: str = "") -> Html:
    """Return facts with their names, which are ours."""
    rows = joined(Html(f"<div><dt>{escape(name)}</dt><dd>{fact}</dd></div>") for name, fact in facts)
    return Html(f'<dl class="facts{f" {kind}" if kind else ""}">\n{rows}\n</dl>')


def pane(name: str, content: Html) -> Html:
    """Return one of two columns, which scrolls by itself; its name is ours."""
    return Html(
        f'<section class="pane"><h3>{name}</h3>\n'
        f'<div class="scroll tall" tabindex="0" role="region" aria-label="{name}">\n{content}\n</div></section>'
    )
