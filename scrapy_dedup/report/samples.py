"""A page before and after, side by side, each removed block with its reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from scrapy_dedup.report.markup import Html, attribute, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, percent
from scrapy_dedup.report.values import SampleBlock, SamplePage

MOST_BLOCKS = 1000
LONGEST_BLOCK = 4000
LONGEST_TEXT = 60_000  # characters of a cleaned text that are shown
# Menus remove forty blocks for one reason: some are shown, the rest waits behind a click.
BLOCKS_BEFORE_FOLD = 4


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive blocks with one fate and one reason."""

    blocks: tuple[SampleBlock, ...]

    @property
    def kept(self) -> bool:
        """Whether the blocks are in the cleaned text."""
        return self.blocks[0].kept

    @property
    def reason(self) -> str:
        """Layer, rule and evidence in one line; parts that are missing are left out."""
        first = self.blocks[0]
        return " · ".join(part for part in (first.layer, first.rule, first.evidence) if part)


def runs(blocks: Sequence[SampleBlock]) -> list[Run]:
    """Return the blocks in their order, neighbours with the same reason together."""
    grouped = groupby(blocks, key=lambda block: (block.kept, block.layer, block.rule, block.evidence))
    return [Run(tuple(members)) for _, members in grouped]


def sample_section(sample: SamplePage, number: int) -> Html:
    """Return one page as an article with two panes; `number` makes its ids unique."""
    heading = f"sample-{number}"
    return Html(
        f'<article class="sample" aria-labelledby="{heading}">\n'
        f'<h3 id="{heading}">{isolated(sample.title or sample.url, 160)}</h3>\n'
        f'<p class="meta">{page_link(sample.url)}</p>\n<p class="meta">{_summary(sample.blocks)}</p>\n'
        f'<div class="panes">\n{_pane("Before", _before(sample.blocks))}\n{_pane("After", _after(sample.cleaned))}\n'
        "</div>\n</article>"
    )


def would_go_section(sample: SamplePage, heading: str) -> Html:
    """Return a page as it was handed on, with what a layer in the shadow would remove marked; `heading` is its id."""
    return Html(
        f'<article class="sample" aria-labelledby="{heading}">\n'
        f'<h4 id="{heading}">{isolated(sample.title or sample.url, 160)}</h4>\n'
        f'<p class="meta">{page_link(sample.url)}</p>\n'
        f'<p class="meta">{_summary(sample.blocks, "would be removed")}</p>\n'
        '<div class="scroll" tabindex="0" role="region" aria-label="The page, with what would go">\n'
        f"{_before(sample.blocks, would_go=True)}\n</div>\n</article>"
    )


def _summary(blocks: Sequence[SampleBlock], done: str = "removed") -> Html:
    removed = [block for block in blocks if not block.kept]
    chars = sum(len(block.text) for block in blocks)
    chars_removed = sum(len(block.text) for block in removed)
    return Html(
        f"{len(removed)} of {count(len(blocks), 'block')} {done}, {escape(percent(chars_removed, chars))} of the text"
    )


def _pane(name: str, content: Html) -> Html:
    # A pane scrolls, so it must be reachable by keyboard: hence tabindex and a name.
    return Html(
        f'<section class="pane"><h4>{name}</h4>\n'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">\n{content}\n</div></section>'
    )


def _before(blocks: Sequence[SampleBlock], *, would_go: bool = False) -> Html:
    parts = [_kept(run) if run.kept else _removed(run, would_go=would_go) for run in runs(blocks[:MOST_BLOCKS])]
    if len(blocks) > MOST_BLOCKS:
        parts.append(Html(f'<p class="more">… and {count(len(blocks) - MOST_BLOCKS, "more block")}</p>'))
    return joined(parts) if parts else Html('<p class="more">This page has no text.</p>')


def _kept(run: Run) -> Html:
    return joined(Html(f"<p>{isolated(block.text, LONGEST_BLOCK)}</p>") for block in run.blocks)


def _removed(run: Run, *, would_go: bool) -> Html:
    """Return the run's blocks under a label that stays visible without a mouse; struck out if they are gone."""
    done = "Would go" if would_go else "Removed"
    element = "span" if would_go else "del"
    title = attribute(f"{done}: {run.reason}")
    lines = [
        Html(f'<p title="{title}"><{element}>{isolated(block.text, LONGEST_BLOCK)}</{element}></p>')
        for block in run.blocks
    ]
    shown, folded = lines[:BLOCKS_BEFORE_FOLD], lines[BLOCKS_BEFORE_FOLD:]
    if folded:
        more = count(len(folded), "more block")
        shown.append(Html(f"<details><summary>{more}</summary>\n{joined(folded)}\n</details>"))
    number = f" ({len(run.blocks)} blocks)" if len(run.blocks) > 1 else ""
    sign = "" if would_go else '<span class="minus" aria-hidden="true">&minus;</span> '
    return Html(
        f'<div class="{"would" if would_go else "cut"}" title="{title}">\n<p class="reason">{sign}{done}{number}: '
        f"{isolated(run.reason or 'no reason given')}</p>\n{joined(shown)}\n</div>"
    )


def _after(cleaned: str) -> Html:
    if not cleaned.strip():
        return Html('<p class="more">Nothing was kept.</p>')
    return Html(f"<pre>{isolated(cleaned, LONGEST_TEXT)}</pre>")
