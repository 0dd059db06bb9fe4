"""One page with what was removed of it and why, beside what is left of it, as one HTML file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from scrapy_dedup.report.document import document, section
from scrapy_dedup.report.markup import ELLIPSIS, Html, attribute, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, percent, whole
from scrapy_dedup.report.values import ExplainedBlock, ExplainedChunk, ExplainedLike, ExplainedPage

MOST_BLOCKS = 2_000
MOST_CHUNKS = 500
MOST_FACTS = 60
LONGEST_BLOCK = 4_000
LONGEST_TEXT = 100_000
LONGEST_PANE = 1_000_000
"""Characters of the blocks of one page that are drawn."""
BLOCKS_BEFORE_FOLD = 6
# Each has a colour of its own; what is not among them has that of the first.
LAYERS = ("boilerplate", "patterns", "chunk", "language")


def _nothing(_: ExplainedBlock) -> Html:
    return Html("")


@dataclass(frozen=True, slots=True)
class Tools:
    """What stands behind each removed block, and behind the reason of neighbours with one: nothing in a file."""

    of_block: Callable[[ExplainedBlock], Html] = _nothing
    of_rule: Callable[[ExplainedBlock], Html] = _nothing


def render_explanation(page: ExplainedPage) -> str:
    """Return the whole document; the same page gives the same bytes."""
    sections = [
        like_section(page.like) if page.like else Html(""),
        _blocks(page),
        chunk_section(page.chunks) if page.chunks else Html(""),
        decision_section(page) if page.decisions else Html(""),
        fact_section(page),
    ]
    return document(f"{page.title[:80] or page.url[:80]}: why", _opening(page), sections, page.generated_at)


def _opening(page: ExplainedPage) -> Html:
    return Html(
        '<header class="page-head">\n'
        f'<p class="eyebrow"><strong>{isolated(page.project, 100)}</strong> · one page</p>\n'
        f'<h1 class="of-page">{isolated(page.title or page.url, 160)}</h1>\n'
        f'<p class="meta">{page_link(page.url)}</p>\n<p class="summary">{told_removed(page)}</p>\n</header>'
    )


def told_removed(page: ExplainedPage) -> Html:
    """Return how much of a page was removed, in a sentence."""
    if not page.blocks:
        return Html("Its original is not kept")
    whole_blocks = [one for one in page.blocks if not one.is_part]
    removed = sum(not one.kept for one in whole_blocks)
    chars = sum(len(one.text) for one in whole_blocks)
    gone = sum(len(one.text) for one in page.blocks if not one.kept)
    return Html(
        f"{removed} of {count(len(whole_blocks), 'block')} removed, <em>{escape(percent(gone, chars))}</em> of the text"
    )


def like_section(like: ExplainedLike) -> Html:
    """Return which page has the text, too."""
    if like.layer:
        title, what = "Another page stands for it", f"The layer <strong>{isolated(like.layer, 40)}</strong> dropped it"
    else:
        title, what = "Nearly like another page", "It went out, and is marked"
    share = "the same text" if like.jaccard >= 1 else f"exact Jaccard similarity {like.jaccard:.3f}"
    return section(title, f"{what}: {share} as {page_link(like.url)}", Html(""))


def _blocks(page: ExplainedPage) -> Html:
    before = _pane("The page", original(page.blocks))
    after = _pane("What is left", cleaned_text(page.cleaned))
    parts = [legend(page.blocks), Html(f'<div class="panes">\n{before}\n{after}\n</div>')]
    if page.lost:
        parts.append(lost_blocks(page.lost))
    lead = (
        "In the order of the page. What was removed is struck out, under the layer and the rule that did it; the "
        "number is what <code>scrapy dedup undo</code> takes."
    )
    return section("Block by block", lead, joined(part for part in parts if part))


def lost_blocks(lost: Sequence[ExplainedBlock], tools: Tools = Tools()) -> Html:
    """Return removed blocks that the stored page does not have, folded."""
    shown = joined(_removed([one], tools) for one in lost[:MOST_BLOCKS])
    title = f"{count(len(lost), 'removed block')} that the stored page does not have"
    return Html(f'<details class="domains"><summary>{title}</summary>\n{shown}\n</details>')


def original(blocks: Sequence[ExplainedBlock], tools: Tools = Tools()) -> Html:
    """Return the blocks of a page in their order, what was removed under its reason."""
    if not blocks:
        return _more("Its original is not kept.")
    shown = _fitting(blocks)
    found = []
    for _, members in groupby(shown, key=lambda one: (one.layer, one.rule, one.where, one.evidence, one.is_part)):
        some = list(members)
        found.append(joined(map(_kept, some)) if some[0].kept else _removed(some, tools))
    if len(blocks) > len(shown):
        found.append(_more(f"… and {count(len(blocks) - len(shown), 'more block')}"))
    return joined(found)


def _fitting(blocks: Sequence[ExplainedBlock]) -> Sequence[ExplainedBlock]:
    chars = 0
    for number, one in enumerate(blocks[:MOST_BLOCKS]):
        chars += min(len(one.text), LONGEST_BLOCK)
        if chars > LONGEST_PANE:
            return blocks[:number]
    return blocks[:MOST_BLOCKS]


def _kept(block: ExplainedBlock) -> Html:
    return Html(f"<p>{isolated(block.text, LONGEST_BLOCK)}</p>")


def _removed(blocks: Sequence[ExplainedBlock], tools: Tools) -> Html:
    """Return neighbours with one reason under a label that tells it without colour."""
    first = blocks[0]
    where = f" <code>{isolated(first.where, 300)}</code>" if first.where else ""
    reason = f"{isolated(first.rule, 200)}{where}"
    if first.evidence:
        reason += f" · {isolated(first.evidence)}"
    done = "A part removed by" if first.is_part else "Removed by"
    number = f" ({len(blocks)} blocks)" if len(blocks) > 1 else ""
    lines = [_line(one, tools) for one in blocks]
    shown, folded = lines[:BLOCKS_BEFORE_FOLD], lines[BLOCKS_BEFORE_FOLD:]
    if folded:
        more = count(len(folded), "more block")
        shown.append(Html(f"<details><summary>{more}</summary>\n{joined(folded)}\n</details>"))
    label = f'{done} <span class="badge">{isolated(first.layer, 40)}</span>{number}: {reason}'
    return Html(
        f'<div class="cut {_kind(first.layer)}">\n'
        f'<p class="reason"><span class="minus" aria-hidden="true">&minus;</span> {label}{tools.of_rule(first)}</p>\n'
        f"{joined(shown)}\n</div>"
    )


def _line(block: ExplainedBlock, tools: Tools) -> Html:
    text = isolated(block.text, LONGEST_BLOCK) if block.text else Html("<i>its text is not known any more</i>")
    key = f'<code class="key">{isolated(block.fingerprint, 16)}</code>'
    return Html(f"<p><del>{text}</del> {key}{tools.of_block(block)}</p>")


def _kind(layer: str) -> str:
    return f"by-{layer}" if layer in LAYERS else "by-boilerplate"


def legend(blocks: Sequence[ExplainedBlock]) -> Html:
    """Return the colours of the layers that removed something, with how many blocks each did."""
    counts: dict[str, int] = {}
    for one in blocks:
        if not one.kept:
            counts[one.layer] = counts.get(one.layer, 0) + 1
    if not counts:
        return Html("")
    parts = [
        Html(
            f'<span class="cut {_kind(layer)}"><span class="badge">{isolated(layer, 40)}</span> {whole(number)}</span>'
        )
        for layer, number in sorted(counts.items())
    ]
    return Html(f'<p class="legend kinds">{joined(parts)}</p>')


def cleaned_text(cleaned: str | None) -> Html:
    """Return what went out of a page, as text."""
    if cleaned is None:
        return _more("No clean text is kept.")
    return Html(f"<pre>{isolated(cleaned, LONGEST_TEXT)}</pre>") if cleaned.strip() else _more("Nothing was kept.")


def _pane(name: str, content: Html) -> Html:
    return Html(
        f'<section class="pane"><h4>{name}</h4>\n'
        f'<div class="scroll tall" tabindex="0" role="region" aria-label="{name}">\n{content}\n</div></section>'
    )


def chunk_section(chunks: Sequence[ExplainedChunk]) -> Html:
    """Return the chunks of the clean text, with why some are left out."""
    out = sum(not one.layer for one in chunks)
    rows = joined(_chunk(one) for one in chunks[:MOST_CHUNKS])
    left = len(chunks) - MOST_CHUNKS
    more = _more(f"… and {count(left, 'more chunk')}") if left > 0 else ""
    lead = f"{whole(out)} of {count(len(chunks), 'chunk')} of the clean text go out, by their beginnings."
    return section("Chunks", lead, Html(f'<ol class="chunks">\n{rows}\n</ol>\n{more}'))


def _chunk(one: ExplainedChunk) -> Html:
    facts = [f"{whole(one.chars)} characters", str(isolated(one.kind, 20))]
    if one.language:
        facts.append(str(isolated(one.language, 20)))
    facts.append(f"<code>{isolated(one.id, 40)}</code>")
    if not one.layer:
        note = f" · {isolated(one.reason)}" if one.reason else ""
        state = (
            f'<p class="meta"><span class="badge live">{isolated(one.state, 20)}</span> {" · ".join(facts)}{note}</p>'
        )
        return Html(f"<li>{state}\n<p>{_sample(one)}</p></li>")
    why = (
        f'Left out by <span class="badge">{isolated(one.layer, 40)}</span>: {isolated(one.reason or "no reason given")}'
    )
    holder = f", {page_link(one.holder)}" if one.holder else ""
    return Html(
        f'<li class="cut {_kind(one.layer)}"><p class="reason">{why}{holder}</p>\n'
        f'<p><del>{_sample(one)}</del></p>\n<p class="meta">{" · ".join(facts)}</p></li>'
    )


def _sample(one: ExplainedChunk) -> Html:
    return isolated(one.sample + (ELLIPSIS if len(one.sample) < one.chars else ""), 200)


def decision_section(page: ExplainedPage) -> Html:
    """Return what the layers decided about a page."""
    rows = joined(
        Html(
            f'<tr><th scope="row">{isolated(one.layer, 40)}</th><td>{isolated(one.action, 40)}</td>'
            f"<td>{isolated(one.reason, 500)}</td></tr>"
        )
        for one in page.decisions
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Layer", "Decision", "Reason"))
    table = Html(f'<table class="decisions">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>')
    return section("Decisions", "What the layers said of this page.", table)


def fact_section(page: ExplainedPage) -> Html:
    """Return what else is known of a page."""
    rows = joined(
        Html(f"<div><dt>{attribute(name, 40)}</dt><dd>{page_link(text, limit=300)}</dd></div>")
        for name, text in page.facts[:MOST_FACTS]
    )
    left = len(page.facts) - MOST_FACTS
    more = _more(f"… and {whole(left)} more") if left > 0 else ""
    return section("What else is known", "", Html(f'<dl class="facts">\n{rows}\n</dl>\n{more}'))


def _more(text: str) -> Html:
    return Html(f'<p class="more">{text}</p>')
