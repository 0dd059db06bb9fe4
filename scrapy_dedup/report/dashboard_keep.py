"""What keeping something would change, shown before it is kept, or before that is taken back."""

from dataclasses import dataclass
from html import escape
from typing import Final

from scrapy_dedup.report.dashboard_frame import NOTHING, button, crumbs, form, hidden, page_head
from scrapy_dedup.report.dashboard_parts import actions, domain_path, link_button
from scrapy_dedup.report.markup import Html, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, whole

_WHAT: Final = {"block": "this block", "page": "all of this page", "rule": "what this rule takes"}


@dataclass(frozen=True, slots=True)
class KeepView:
    """Something that is to be kept on a domain, or not any more.

    Attributes:
        kind: block, page or rule.
        text: as people name it: a fingerprint, a URL, or a rule.
        sample: the block's text; "" where nobody knows it.
        lost: stored pages that lost it.
        tried, changed: stored pages that were cut both ways, and that differ.
        was_there: nothing would change in the configuration.
        back: path of where one came from.
        page: key of the page that one came from; "" for none.
    """

    base: str
    domain: str
    kind: str
    text: str
    sample: str
    lost: int
    tried: int
    changed: int
    chars_less: int
    example: str
    was_there: bool
    take_back: bool
    back: str
    page: str = ""


def keep_content(view: KeepView, csrf_token: str) -> Html:
    """Return what stands in the frame before something is kept."""
    what = _WHAT.get(view.kind, "this")
    title = Html(escape(f"Do not keep {what} any more?" if view.take_back else f"Keep {what}?"))
    above = crumbs(("Domains", f"{view.base}domains"), (view.domain, domain_path(view.base, view.domain)))
    sample = NOTHING
    if view.sample:
        sample = Html(f'<blockquote class="card sample-text">{isolated(view.sample, 2_000)}</blockquote>')
    named = page_link(view.text) if view.kind == "page" else Html(f"<code>{isolated(view.text, 600)}</code>")
    return joined(
        part
        for part in (
            page_head(title, Html(f"{escape(view.kind.capitalize())} {named}"), above=above),
            sample,
            Html(f'<p class="foreseen">{_foreseen(view)}</p>'),
            _buttons(view, csrf_token),
        )
        if part
    )


def _foreseen(view: KeepView) -> Html:
    if view.was_there:
        return Html("It is not kept." if view.take_back else "It is kept already.")
    lost = count(view.lost, "stored page") + (" is" if view.lost == 1 else " are")
    told = (
        f"{lost} concerned. Of {count(view.tried, 'page')} that were tried, <em>{whole(view.changed)}</em> would change"
    )
    if not view.changed:
        return Html(told + ".")
    more = f"{whole(abs(view.chars_less))} characters {'less' if view.chars_less >= 0 else 'more'} in all"
    example = f", such as {page_link(view.example, limit=120)}" if view.example else ""
    return Html(f"{told}: {more}{example}. They do with the next crawl, or when the domain is refined.")


def _buttons(view: KeepView, csrf_token: str) -> Html:
    back = link_button(view.back, Html("Back" if view.was_there else "Cancel"))
    if view.was_there:
        return actions(back)
    fields = joined(
        [
            hidden("what", view.text),
            hidden("domain", view.domain),
            hidden("page", view.page),
            hidden("take_back", "1" if view.take_back else ""),
            button("Take back" if view.take_back else "Keep it", kind="primary"),
        ]
    )
    return actions(form(f"{view.base}keep", fields, csrf_token, kind="inline"), back)
