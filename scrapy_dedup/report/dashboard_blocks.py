"""What repeats on one domain, and what is kept in spite of all rules."""

from collections.abc import Sequence
from html import escape
from typing import Final

from scrapy_dedup.report.dashboard_domain_values import BlockLine, DomainView, KeptLine
from scrapy_dedup.report.dashboard_frame import NOTHING, panel, scrolling
from scrapy_dedup.report.dashboard_parts import and_more, keep_path
from scrapy_dedup.report.markup import Html, isolated, joined
from scrapy_dedup.report.numbers import count, percent, whole

MOST_KEPT: Final = 100
SHOWN: Final = 10
"""Blocks; those behind them are folded."""
_BLOCK_CHARS: Final = 300


def block_table(view: DomainView) -> Html:
    """Return the blocks that repeat, each with what keeps it; nothing where none does."""
    if not view.blocks:
        return NOTHING
    parts = [_table(view, view.blocks[:SHOWN], "Blocks that repeat, those on most pages first")]
    if folded := view.blocks[SHOWN:]:
        title = count(len(folded), "more block")
        parts.append(
            Html(
                f'<details class="folded"><summary>{title}</summary>\n{_table(view, folded, "More blocks")}\n</details>'
            )
        )
    parts.append(and_more(view.all_blocks - len(view.blocks), "more"))
    lead = Html("Keep what belongs to the text: it then stays on the pages of this domain, whatever repeats.")
    return panel("Boilerplate", joined(part for part in parts if part), lead=lead, name="blocks")


def _table(view: DomainView, blocks: Sequence[BlockLine], name: str) -> Html:
    rows = joined(_block(view, each) for each in blocks)
    heads = (
        '<tr><th scope="col">Text</th><th scope="col">Rule</th><th scope="col" class="number">On pages</th>'
        '<th scope="col"><span class="unseen">What can be done</span></th></tr>'
    )
    table = Html(
        f'<table class="listing wide blocks">\n<caption class="unseen">{name}</caption>\n<thead>{heads}</thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table>"
    )
    return scrolling(name, table)


def _block(view: DomainView, each: BlockLine) -> Html:
    where = f'<span class="note"><code>{isolated(each.path, 200)}</code></span>' if each.path else ""
    path = keep_path(view.base, each.fingerprint, domain=view.domain, take_back=each.is_kept)
    word = "Take back" if each.is_kept else "Keep"
    state = '<span class="badge good">kept</span> ' if each.is_kept else ""
    more = f'<span class="unseen">: {isolated(each.text, 60)}</span>'
    share = f'<span class="note">{escape(percent(each.pages, each.of_pages))}</span>'
    return Html(
        f'<tr><th scope="row" class="quote">{isolated(each.text, _BLOCK_CHARS)}</th>'
        f'<td class="status"><span class="badge">{isolated(each.layer, 40)}</span> '
        f"{isolated(each.rule, 100)}{where}</td>"
        f'<td class="number" data-label="On pages">{whole(each.pages)} of {whole(each.of_pages)}{share}</td>'
        f'<td class="does">{state}<a class="keep" href="{escape(path)}">{word}{more}</a></td></tr>'
    )


def kept_list(view: DomainView) -> Html:
    """Return what people keep on the domain, each with what takes that back; nothing where nothing is."""
    if not view.kept:
        return NOTHING
    rows = joined(_kept(view, each) for each in view.kept[:MOST_KEPT])
    content = Html(f'<ul class="steps">\n{rows}\n</ul>\n{and_more(len(view.kept) - MOST_KEPT, "more")}')
    return panel("Kept in spite of all rules", content, name="kept")


def _kept(view: DomainView, each: KeptLine) -> Html:
    path = keep_path(view.base, each.text, domain=view.domain, take_back=True)
    return Html(
        f'<li><span><span class="badge">{isolated(each.kind, 20)}</span> <code>{isolated(each.text, 300)}</code></span>'
        f'<a href="{escape(path)}">Take back<span class="unseen"> {isolated(each.text, 60)}</span></a></li>'
    )
