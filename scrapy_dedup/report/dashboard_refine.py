"""The button that cleans stored pages again, and how far that is."""

from dataclasses import dataclass
from html import escape
from typing import Final

from scrapy_dedup.report.dashboard_frame import NOTHING, button, form, hidden
from scrapy_dedup.report.markup import Html, isolated, joined

OPEN: Final = frozenset({"waiting", "running"})
_WORDS: Final = {
    "waiting": "Refine waits for other work.",
    "running": "Refine cleans the stored pages again.",
    "done": "Refine has ended.",
    "failed": "Refine failed.",
    "cancelled": "Refine was cancelled.",
}


@dataclass(frozen=True, slots=True)
class RefineState:
    """A refine that was started from a page of the dashboard.

    Attributes:
        state: waiting, running, done, failed or cancelled.
        total: None while nobody knows it.
        outcome: what came of it, in a sentence; "" before its end.
    """

    job: str
    state: str
    done: int = 0
    total: int | None = None
    outcome: str = ""


def refine_button(base: str, domain: str, csrf_token: str) -> Html:
    """Return the button that cleans the stored pages of a domain again."""
    label = button("Refine now", kind="primary")
    return form(f"{base}refine", joined([hidden("domain", domain), label]), csrf_token)


def refine_state(found: RefineState | None, base: str) -> Html:
    """Return how far a refine is; the script looks again, and without it a link does."""
    if found is None:
        return NOTHING
    said = f"{_WORDS.get(found.state, 'Refine')}"
    told = Html(f'<p class="announce"><strong>{said}</strong> {isolated(found.outcome, 600)}</p>')
    kind = {"failed": " wrong", "done": " done"}.get(found.state, "")
    # What this page shows may be what it was.
    again = Html('<p><a href="">Load this page again</a></p>')
    if found.state not in OPEN:
        return _notice(kind, f' data-state="{escape(found.state)}"', told, again)
    reached = f' value="{found.done}" max="{found.total}"' if found.total else ""
    bar = Html(f'<progress{reached} aria-label="Progress of refine"></progress>')
    path = f"{base}refine/{found.job}"
    live = f' data-live="{escape(path)}" data-state="{escape(found.state)}"'
    return _notice(kind, live, told, bar, Html(f'<div class="without-script">{again}</div>'))


def _notice(kind: str, more: str, *parts: Html) -> Html:
    return Html(f'<div class="notice refine{kind}"{more}>\n{joined(parts)}\n</div>')
