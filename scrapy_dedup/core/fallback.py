"""What to keep of a page whose layout nobody knows yet: an extractor's answer, as a verdict for each block.

An extractor of articles is right about articles, and keeps too little of lists, shops, forums and services. So its
answer is taken as it is where a page says that it is an article; elsewhere it is a voice among others: what it keeps
is kept, and what it leaves out is dropped where the page's structure says so, too.
"""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.metadata import version
from typing import Final

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.fallback_align import align
from scrapy_dedup.core.fallback_regions import DroppedBy, Region, container, is_under, regions, surroundings

__all__ = ["DroppedBy", "Fallback", "KeptBy", "PageKind", "RefusedReason", "fall_back"]

EXTRACTOR: Final = "trafilatura"

Extract = Callable[[str, str | None], str | None]
"""From HTML and address to the text of the main content."""


class KeptBy(StrEnum):
    """Why a block is kept."""

    EXTRACTOR = "extractor"
    """It stands in the extractor's text."""
    STRUCTURE = "structure"
    """Nothing says that it belongs to the page's surroundings."""
    WHOLE = "whole"
    """All other blocks would have been dropped, too."""


class PageKind(StrEnum):
    """What a page was taken for, which decides who is believed."""

    ARTICLE = "article"
    """The extractor alone."""
    PROSE = "prose"
    """The extractor found most of the text: what else stands in the same part of the page is kept, too."""
    MIXED = "mixed"
    """Everything but surroundings."""


class RefusedReason(StrEnum):
    """Why the extractor has no say about a page."""

    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    FAILED = "failed"
    EMPTY = "empty"
    """It gave no text that stands in the page's blocks."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """One verdict a block of a page."""

    keep: tuple[bool, ...]
    reasons: tuple[KeptBy | DroppedBy, ...]
    kind: PageKind
    refused: RefusedReason | None
    extractor: str
    version: str
    agreed: float
    """Share of the extractor's words that stand in blocks, 0 to 1; 1 where it was not asked."""


# Trafilatura takes 15 to 120 µs a tag, and longer the deeper tags are nested (80 tables in each other: 6 s for 14,000
# tags). Below these limits no markup tried took over 1.6 s; of 965 real pages one is beyond. lxml loses what is nested
# deeper than 256.
_MOST_TAGS: Final = 20_000
_MOST_DEPTH: Final = 100
_MOST_TAGS_BY_DEPTH: Final = 600_000
_MOST_CHARACTERS: Final = 4_000_000
_MOST_TEXT: Final = 1_000_000

# A page that says it is an article is believed when the extractor found so many characters, or such a share of the text
# that is not surroundings: a declared article of two lines is a page that a script fills.
_FEW_CHARS: Final = 250
_FEW_OF_ARTICLE: Final = 0.3
# Where the extractor found half of that text and few of the rest are links, the page is prose.
_MOST_OF_PROSE: Final = 0.5
_LINKS_OF_PROSE: Final = 0.3
_ARTICLE: Final = re.compile(r'"@type"\s*:\s*(?:\[\s*)?"(?:\w*Article|BlogPosting)"')
_PRODUCT: Final = re.compile(r'"@type"\s*:\s*(?:\[\s*)?"Product')


def fall_back(html: str, page: Page, url: str | None = None, *, extract: Extract | None = None) -> Fallback:
    """Return what to keep of a page of an unknown layout. Never raises, and takes no page for longer than 2 s.

    Args:
        html: what *page* was parsed from.
        page: what `parse_page` returned.
        url: the page's address, which helps the extractor with relative links only.
        extract: from HTML and address to text; the default is trafilatura.
    """
    refused = _refuse(html, page)
    text = ""
    if refused is None:
        try:
            text = (extract or _trafilatura)(html, url) or ""
        except Exception:  # noqa: BLE001 - whatever it is: the page is judged by its structure, and says so
            refused = RefusedReason.FAILED
    return cut(page, text, refused)


def cut(page: Page, text: str, refused: RefusedReason | None = None) -> Fallback:
    """Return what to keep of a page, given the text that the extractor made of it."""
    blocks = page.blocks
    found = align(text, [block.text for block in blocks])
    agreed = found.placed / found.words if found.words else 1.0
    if refused is None and not any(found.held):
        refused = RefusedReason.EMPTY
    reasons: list[KeptBy | DroppedBy]
    kind, reasons = _judge(page, found.held)
    keep = tuple(isinstance(reason, KeptBy) for reason in reasons)
    if not any(keep):
        keep, reasons = (True,) * len(blocks), [KeptBy.WHOLE] * len(blocks)
    return Fallback(keep, tuple(reasons), kind, refused, EXTRACTOR, _extractor_version(), agreed)


def _judge(page: Page, held: Sequence[bool]) -> tuple[PageKind, list[KeptBy | DroppedBy]]:
    blocks = page.blocks
    found = regions(blocks, held)
    around = surroundings(blocks, found)
    open_to: list[KeptBy | DroppedBy] = [
        KeptBy.EXTRACTOR if is_held else around[block.path] or KeptBy.STRUCTURE
        for block, is_held in zip(blocks, held, strict=True)
    ]
    kind = _kind(page, found, open_to)
    if kind is PageKind.ARTICLE:
        return kind, [KeptBy.EXTRACTOR if is_held else DroppedBy.EXTRACTOR for is_held in held]
    if kind is PageKind.PROSE:
        inner = container(found)
        return kind, [
            DroppedBy.OUTSIDE if reason is KeptBy.STRUCTURE and not is_under(block.path, inner) else reason
            for block, reason in zip(blocks, open_to, strict=True)
        ]
    return kind, open_to


def _kind(page: Page, found: dict[str, Region], reasons: Sequence[KeptBy | DroppedBy]) -> PageKind:
    kept = [block for block, reason in zip(page.blocks, reasons, strict=True) if isinstance(reason, KeptBy)]
    chars = sum(len(block.text) for block in kept)
    plain = chars - sum(block.link_chars for block in kept)
    held = found["body"].held_chars if "body" in found else 0
    if held and _declares(page, "article", _ARTICLE) and (held > _FEW_CHARS or held > _FEW_OF_ARTICLE * plain):
        return PageKind.ARTICLE
    is_prose = held > _MOST_OF_PROSE * plain and chars - plain < _LINKS_OF_PROSE * chars
    # A product's page is its text, however much of reviews and of other products stands around it.
    return PageKind.PROSE if held and (is_prose or _declares(page, "product", _PRODUCT)) else PageKind.MIXED


def _declares(page: Page, og_type: str, schema: re.Pattern[str]) -> bool:
    declared = page.declared
    return any(name == "og:type" and og_type in value.lower() for name, value in declared.metas) or any(
        schema.search(text) for text in declared.json_ld
    )


def _refuse(html: str, page: Page) -> RefusedReason | None:
    """Say why a page is not for the extractor; None where it is."""
    tags = html.count("<")
    if len(html) > _MOST_CHARACTERS or tags > _MOST_TAGS or page.chars > _MOST_TEXT:
        return RefusedReason.TOO_LARGE
    depth = max((place.path.count(">") for place in page.places), default=0)
    if depth > _MOST_DEPTH or depth * tags > _MOST_TAGS_BY_DEPTH:
        return RefusedReason.TOO_DEEP
    return None


def _trafilatura(html: str, url: str | None) -> str | None:
    # Lone surrogates are no text to lxml.
    text = html.encode("utf-8", "replace").decode()
    return _trafilatura_extract()(text, url=url, include_comments=False, include_tables=True)


@cache
def _trafilatura_extract() -> Callable[..., str | None]:
    with warnings.catch_warnings():
        # On import it looks at its ways into the network, of which none is used here.
        warnings.simplefilter("ignore")
        from trafilatura import extract  # noqa: PLC0415 - takes a quarter of a second, which a known site never needs
    return extract


@cache
def _extractor_version() -> str:
    return version(EXTRACTOR)
