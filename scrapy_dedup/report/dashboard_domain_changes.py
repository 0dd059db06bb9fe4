"""Changes of many domains: the form that names them, and what would happen, before it does."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from scrapy_dedup.report.dashboard_frame import (
    NOTHING,
    Kind,
    Nav,
    button,
    choices,
    crumbs,
    form,
    hidden,
    page_head,
    panel,
)
from scrapy_dedup.report.dashboard_values import Step
from scrapy_dedup.report.markup import Html, isolated, joined
from scrapy_dedup.report.numbers import count

VERBS: Final = {
    "blacklist": "Blacklist {}",
    "unblacklist": "Take {} off the blacklist",
    "register": "Register {}",
}
"""What is done to how many domains."""
LONGEST_REASON: Final = 500
MOST_STEPS: Final = 500


def import_panel(nav: Nav, csrf_token: str, *, is_open: bool = False) -> Html:
    """Return the form into which a list of names is pasted."""
    verbs = choices(
        "verb", (("register", "Register them"), ("blacklist", "Blacklist them")), "register", label="What to do"
    )
    content = joined(
        [
            Html(
                '<label class="field"><span>Names or URLs, one a line; <code>*</code> stands for any characters in '
                'names that are registered</span><textarea name="names" required spellcheck="false" autocomplete="off">'
                "</textarea></label>"
            ),
            Html(f'<div class="fields">{verbs}{button("Look at what would happen", kind="primary")}</div>'),
        ]
    )
    opened = " open" if is_open else ""
    return Html(
        f'<section class="panel"><details class="folded"{opened}><summary>Paste a list of domains</summary>\n'
        f"{form(nav.path('domains/change'), content, csrf_token, kind='stacked')}\n</details></section>"
    )


def change_content(
    verb: str, steps: Sequence[Step], sent: Mapping[str, str], nav: Nav, *, csrf_token: str, wrong: str = ""
) -> Html:
    """Return what a change would do to each domain, and the button that does it.

    Args:
        verb: one of VERBS.
        steps: in the order in which they were named.
        sent: the fields that come back with the button: names, reason, until.
        nav: of the project.
        csrf_token: of the session.
        wrong: what is wrong with a field; foreign text.
    """
    happening = [step for step in steps if not step.is_refused]
    refused = [step for step in steps if step.is_refused]
    title = Html(f"{VERBS[verb].format(count(len(happening), 'domain'))}?")
    above = crumbs(("Domains", nav.path("domains")))
    lead = Html("Nothing has happened yet. This is what will." if happening else "There is nothing to do.")
    shown = (
        _steps("This will happen", happening, isolated(sent.get("reason", ""), LONGEST_REASON))
        if happening
        else NOTHING
    )
    left = _steps("Nothing happens to these", refused, NOTHING) if refused else NOTHING
    sending = _confirm(verb, len(happening), sent, nav, csrf_token, wrong) if happening else NOTHING
    return joined([page_head(title, lead, above=above), sending, shown, left])


def _why_fields(reason: str, until: str) -> Html:
    return Html(
        f'<label class="field grow"><span>Reason</span><input type="text" name="reason" maxlength="{LONGEST_REASON}" '
        f'value="{escape(reason)}" autocomplete="off"></label>'
        '<label class="field"><span>Until (UTC), empty: for good</span><input type="date" name="until" '
        f'value="{escape(until)}"></label>'
    )


def _confirm(verb: str, number: int, sent: Mapping[str, str], nav: Nav, csrf_token: str, wrong: str) -> Html:
    fields = [hidden("verb", verb), hidden("confirmed", "yes"), hidden("names", sent.get("names", ""))]
    why = (
        _why_fields(sent.get("reason", "")[:LONGEST_REASON], sent.get("until", "")) if verb == "blacklist" else NOTHING
    )
    told = Html(f'<p class="wrong-field" role="alert">{isolated(wrong, 300)}</p>') if wrong else NOTHING
    kind: Kind = "danger" if verb == "blacklist" else "primary"
    label = VERBS[verb].format(count(number, "domain"))
    done = Html(
        f'<div class="fields">{why}{button(label, kind=kind)}'
        f'<a class="button quiet" href="{escape(nav.path("domains"))}">Leave everything as it is</a></div>'
    )
    return Html(
        f'<div class="card">{form(nav.path("domains/change"), joined([*fields, told, done]), csrf_token)}</div>'
    )


def _steps(title: str, steps: Sequence[Step], reason: Html) -> Html:
    rows = joined(
        Html(f"<li><strong>{isolated(step.name, 120)}</strong><span>{isolated(step.happens, 300)}</span></li>")
        for step in steps[:MOST_STEPS]
    )
    left = len(steps) - MOST_STEPS
    more = f'<p class="more">… and {count(left, "more domain")}</p>' if left > 0 else ""
    lead = Html(f"Reason: {reason}") if reason and "<bdi></bdi>" not in reason else NOTHING
    return panel(title, Html(f'<ol class="steps">\n{rows}\n</ol>{more}'), lead=lead)
