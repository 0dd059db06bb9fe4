"""Counts of layers as a table, and whether they add up."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple

from scrapy_dedup.report.values import Amounts, Cost, LedgerCheck, LedgerRow, LedgerTable
from scrapy_dedup.settings import Settings
from scrapy_dedup.settings.declared import LAYERS
from scrapy_dedup.store.pages.ledger_reads import DroppedPages

Counts = Mapping[str, float]
"""By the names of a crawl's stats without `dedup/`; a name that is not there is 0."""

PREVENTS: Final = {
    "domain": "requests to blacklisted domains, and by policy to those of low quality",
    "url": "the second URL of one page",
    "title": "pages with the title and the text of another",
    "canonical": "other addresses of a page, by redirect and canonical link",
    "unchanged": "work on pages that did not change",
    "boilerplate": "blocks that repeat on the pages of a domain",
    "patterns": "blocks that selectors and expressions name",
    "duplicate": "pages with the clean text of another",
    "near_duplicate": "pages that are nearly like another",
    "chunk": "passages that the page, or another, has already",
    "language": "passages in languages that are not wanted",
}
"""What each layer prevents, in the order in which they act."""

_METHODS: Final = {
    "domain": "registry of domains",
    "url": "normal form of the URL",
    "title": "title, then text",
    "canonical": "canonical link or redirect, then text",
    "unchanged": "validators, then hash of the main text",
    "boilerplate": "template of the layout",
    "patterns": "CSS, XPath, regular expressions",
    "duplicate": "hash of the clean text",
    "near_duplicate": "MinHash, then exact Jaccard",
    "chunk": "SHA-256 of the passage",
    "language": "language detector",
}
_DROPPING: Final = ("url", "title", "canonical", "duplicate", "near_duplicate")
_CUTTING: Final = ("boilerplate", "patterns")
_CHUNKING: Final = ("chunk", "language")
# Why items do not reach the layers: their callback's output is left out.
_BEFORE_ITEMS: Final = ("soft_404/items", "directives/items")
_CHARS_A_TOKEN: Final = 4
SECONDS: Final = "seconds/"


@dataclass(frozen=True, slots=True)
class Tokens:
    """How characters become tokens.

    Attributes:
        per_char: tokens of one character.
        by: how that is known, in words.
    """

    per_char: float
    by: str
    is_estimate: bool

    def of(self, chars: float) -> int:
        """Return how many tokens characters make."""
        return round(chars * self.per_char)


class LedgerSpan(NamedTuple):
    """Which runs are summed, and how long they took."""

    runs: int
    began_at: datetime | None
    elapsed_seconds: float


def estimated() -> Tokens:
    """Return the tokens of texts that no tokenizer has seen."""
    return Tokens(1 / _CHARS_A_TOKEN, f"an estimate, {_CHARS_A_TOKEN} characters each", is_estimate=True)


def make_table(
    counts: Counts, tokens: Tokens, settings: Settings, dropped: Mapping[str, DroppedPages], span: LedgerSpan
) -> LedgerTable:
    """Return the table of some counts.

    Args:
        counts: of one run, or sums over several.
        tokens: how characters become tokens.
        settings: name the methods.
        dropped: what is known of the pages that stand for those which were left out, by layer.
        span: of the runs.
    """
    items = _whole(counts, "items/in")
    left_before = sum(_whole(counts, name) for name in _BEFORE_ITEMS)
    before = _whole(counts, "pages/chars_in")
    after = _whole(counts, "pages/chars_out")
    gone = _whole(counts, "items/dropped")
    rows = tuple(_row(layer, counts, tokens, settings, dropped.get(layer)) for layer in LAYERS)
    about = [row for row in rows if row.is_about]
    return LedgerTable(
        runs=span.runs,
        began_at=span.began_at,
        rows=rows,
        before=Amounts(items + left_before, _whole(counts, "chunks/in"), before, tokens.of(before)),
        after=Amounts(items - gone, _whole(counts, "chunks/out"), after, tokens.of(after)),
        about=Amounts(
            items=0,
            chunks=sum(row.chunks or 0 for row in about),
            chars=sum(row.chars or 0 for row in about),
            tokens=sum(row.tokens or 0 for row in about),
        ),
        checks=checks_of(counts),
        costs=_costs(counts),
        elapsed_seconds=span.elapsed_seconds,
    )


def checks_of(counts: Counts) -> tuple[LedgerCheck, ...]:
    """Return the counts that must agree; what does not is a defect, or a crawl that was killed."""
    out = _whole(counts, "items/out")
    passed = _whole(counts, "items/tombstones") + _sum(counts, "left/") + _sum(counts, "errors/")
    gone = _whole(counts, "items/dropped")
    by_others = sum(_whole(counts, f"{layer}/dropped") for layer in (*_DROPPING, "unchanged") if layer != "url")
    # What `url` drops are items and links: of items it may have dropped what no other layer did.
    by_url = min(max(gone - by_others, 0), _whole(counts, "url/dropped"))
    left_out = sum(_whole(counts, f"{layer}/chunks") for layer in _CHUNKING)
    return (
        LedgerCheck("items that came in = given + dropped", out + passed + gone, _whole(counts, "items/in")),
        LedgerCheck("items dropped = sum of the layers", by_others + by_url, gone),
        LedgerCheck("chunks = given + left out", _whole(counts, "chunks/out") + left_out, _whole(counts, "chunks/in")),
    )


def _row(layer: str, counts: Counts, tokens: Tokens, settings: Settings, dropped: DroppedPages | None) -> LedgerRow:
    row = LedgerRow(layer, PREVENTS[layer], _method(layer, settings))
    if layer in _CHUNKING:
        chars = _whole(counts, f"{layer}/chars")
        return replace(row, chunks=_whole(counts, f"{layer}/chunks"), chars=chars, tokens=tokens.of(chars))
    if layer in _CUTTING:
        pages, blocks, chars = (_whole(counts, f"{layer}/{what}") for what in ("pages", "blocks", "chars"))
        return replace(row, pages=pages, blocks=blocks, chars=chars, tokens=tokens.of(chars))
    if layer == "unchanged":
        return replace(row, pages=_whole(counts, "unchanged/unchanged"), note=_unchanged_note(counts))
    pages = _whole(counts, f"{layer}/dropped")
    note = _dropping_note(layer, counts)
    if not pages or dropped is None or not dropped.pages:
        return replace(row, pages=pages, note=note)
    share = pages / dropped.pages
    chars = round(dropped.chars * share)
    chunks = round(dropped.chunks * share)
    return replace(row, pages=pages, chunks=chunks, chars=chars, tokens=tokens.of(chars), is_about=True, note=note)


def _method(layer: str, settings: Settings) -> str:
    if layer == "near_duplicate":
        return f"{_METHODS[layer]} {settings.near_duplicate_jaccard:g}"
    if layer == "boilerplate" and settings.boilerplate_method in ("html", "text"):
        return "blocks on enough pages"
    if layer == "language" and settings.languages:
        return f"{settings.language_detector} detector, wanted: {', '.join(sorted(settings.languages))}"
    return _METHODS[layer]


def _unchanged_note(counts: Counts) -> str:
    told = (
        (_whole(counts, "reuse/callbacks_saved"), "callbacks not run"),
        (_whole(counts, "unchanged/dropped"), "items left out"),
    )
    return ", ".join(f"{number:,} {what}" for number, what in told if number)


def _dropping_note(layer: str, counts: Counts) -> str:
    if layer == "near_duplicate" and (marked := _whole(counts, "near_duplicate/marked")):
        return f"{marked:,} more were only marked"
    if layer == "title" and (skipped := _whole(counts, "title/skipped")):
        return f"{skipped:,} more were not even fetched"
    if layer == "canonical" and (redirects := _whole(counts, "canonical/redirects")):
        return f"{redirects:,} redirects noted"
    return ""


def _costs(counts: Counts) -> tuple[Cost, ...]:
    found = [Cost(name.removeprefix(SECONDS), number) for name, number in counts.items() if name.startswith(SECONDS)]
    return tuple(sorted(found, key=lambda one: (-one.seconds, one.name)))


def _whole(counts: Counts, name: str) -> int:
    return int(counts.get(name, 0))


def _sum(counts: Counts, prefix: str) -> int:
    return sum(int(number) for name, number in counts.items() if name.startswith(prefix))
