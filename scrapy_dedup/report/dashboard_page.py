"""One page on the dashboard: what came and what went out side by side, why, what changed, and the page itself."""

from dataclasses import dataclass
from html import escape
from typing import Final

from scrapy_dedup.report.dashboard_frame import NOTHING, Action, action_form, crumbs, empty, page_head, panel
from scrapy_dedup.report.dashboard_parts import actions, domain_path, keep_path, link_button, pane
from scrapy_dedup.report.diffs import CHANGES, diff_table
from scrapy_dedup.report.explained import (
    Tools,
    chunk_section,
    cleaned_text,
    decision_section,
    fact_section,
    legend,
    like_section,
    lost_blocks,
    original,
    told_removed,
)
from scrapy_dedup.report.markup import Html, attribute, isolated, joined, page_link
from scrapy_dedup.report.values import ExplainedBlock, ExplainedPage

_EXPRESSIONS: Final = ("text pattern", "pdf pattern")


@dataclass(frozen=True, slots=True)
class PageView:
    """One page as the dashboard shows it.

    Attributes:
        base: path of the project's pages, such as /p/ID/.
        key: 32 hexadecimal digits.
        diff: what changed the last time, as a unified diff; "" where nobody knows, or nothing did.
        no_diff: why there is none.
        has_original: the stored page can be shown.
        kept: fingerprints, names of rules and "page", of what is kept from now on.
        is_waiting: the page is to be cleaned again.
    """

    explained: ExplainedPage
    base: str
    domain: str
    key: str
    diff: str = ""
    no_diff: str = ""
    change: str = ""
    has_original: bool = False
    kept: frozenset[str] = frozenset()
    is_waiting: bool = False


def page_content(view: PageView, csrf_token: str) -> Html:
    """Return what stands in the frame of a page of the dashboard."""
    page = view.explained
    parts = [
        _head(view),
        _actions(view, csrf_token),
        like_section(page.like) if page.like else NOTHING,
        _before_and_after(view),
        _diff(view),
        chunk_section(page.chunks) if page.chunks else NOTHING,
        decision_section(page) if page.decisions else NOTHING,
        fact_section(page),
        _stored(view),
    ]
    return joined(part for part in parts if part)


def unknown_page(url: str, why: str) -> Html:
    """Return what is said of a page that is not known."""
    head = page_head(Html("No such page"), isolated(url, 400))
    told = "Addresses are compared in their normal form: case, fragment and tracking parameters do not matter."
    return joined([head, empty(why, Html(told))])


def _head(view: PageView) -> Html:
    page = view.explained
    return page_head(
        isolated(page.title or page.url, 160),
        Html(f"{page_link(page.url)}<br>{told_removed(page)}."),
        above=crumbs(("Domains", f"{view.base}domains"), (view.domain, domain_path(view.base, view.domain))),
    )


def _actions(view: PageView, csrf_token: str) -> Html:
    waiting = Html('<p class="note-of-page">What is kept has changed since: refine cleans this page again.</p>')
    refine = Action(
        f"Refine {view.domain[:60]} now", f"{view.base}refine", (("domain", view.domain), ("page", view.key))
    )
    is_kept = "page" in view.kept
    path = keep_path(view.base, view.explained.url, page=view.key, take_back=is_kept)
    word = "Do not keep the whole page any more" if is_kept else "Keep the whole page"
    buttons = actions(action_form(refine, csrf_token), link_button(path, Html(word)))
    return joined([waiting if view.is_waiting else NOTHING, buttons])


def _before_and_after(view: PageView) -> Html:
    page, tools = view.explained, _tools(view)
    before = pane("The page, block by block", original(page.blocks, tools))
    after = pane("What went out", cleaned_text(page.cleaned))
    parts = [legend(page.blocks), Html(f'<div class="panes">\n{before}\n{after}\n</div>')]
    if page.lost:
        parts.append(lost_blocks(page.lost, tools))
    lead = Html("What was left out is struck through, in the colour of its layer, under the rule that did it.")
    return panel("Before and after", joined(part for part in parts if part), lead=lead, name="blocks")


def _tools(view: PageView) -> Tools:
    def of_block(block: ExplainedBlock) -> Html:
        # Expressions look at no blocks: only the rule can be kept.
        if block.is_part or block.rule in _EXPRESSIONS or not block.fingerprint:
            return NOTHING
        return _keep(view, block.fingerprint, "Keep", f" this block: {block.text[:60]}")

    def of_rule(block: ExplainedBlock) -> Html:
        if not block.where:
            return NOTHING
        return _keep(view, block.where, "Keep all of this rule", f": {block.where[:60]}")

    return Tools(of_block, of_rule)


def _keep(view: PageView, what: str, word: str, more: str) -> Html:
    if what in view.kept:
        path = keep_path(view.base, what, domain=view.domain, page=view.key, take_back=True)
        return Html(
            f' <span class="badge good">kept from now on</span> <a class="keep" href="{escape(path)}">Take back'
            f'<span class="unseen">{isolated(more, 80)}</span></a>'
        )
    path = keep_path(view.base, what, domain=view.domain, page=view.key)
    return Html(f' <a class="keep" href="{escape(path)}">{word}<span class="unseen">{isolated(more, 80)}</span></a>')


def _diff(view: PageView) -> Html:
    if not view.diff and not view.no_diff:
        return NOTHING
    lead = Html(escape(CHANGES.get(view.change, "The last time that it changed.")))
    if not view.diff:
        content = Html(f'<p class="more">{isolated(view.no_diff, 400)}</p>')
    else:
        content = Html(
            f'<div class="scroll diff" tabindex="0" role="region" aria-label="What changed">\n'
            f"{diff_table(view.diff)}\n</div>"
        )
    return panel("What changed", content, lead=lead if view.diff else NOTHING, name="diff")


def _stored(view: PageView) -> Html:
    if not view.has_original:
        return NOTHING
    source = f"{view.base}page/raw?key={view.key}"
    frame = (
        f'<iframe class="stored" sandbox src="{escape(source)}" loading="lazy" '
        f'title="The stored page: {attribute(view.explained.title or view.explained.url, 100)}"></iframe>'
    )
    lead = Html(
        "As it was stored, in a sandbox: no script runs, no picture, style sheet or other file is fetched, and its "
        "links lead nowhere."
    )
    folded = Html(f'<details class="folded"><summary>Show the stored page</summary>\n{frame}\n</details>')
    return panel("The stored page", folded, lead=lead, name="stored")
