"""What to keep of a page whose layout nobody knows yet: an extractor's answer, as a verdict for each block.

An extractor of articles is right about articles, and keeps too little of lists, shops, forums and services. So its
answer is taken as it is where a page says that it is an article; elsewhere it is a voice among others: what it keeps
is kept, and what it leaves out is dropped where the page's structure says so, too.

A region is everything under one DOM path. What a name says is believed of small parts of a page only, and not where
half of the region's text is what an extractor kept: two voices that have nothing in common.
"""

import re
import warnings
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Final

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.gather import Block

__all__ = ["DroppedBy", "Fallback", "KeptBy", "PageKind", "RefusedReason", "fall_back"]

EXTRACTOR: Final = "trafilatura"

Extract = Callable[[str, str | None], str | None]
"""From HTML and address to the text of the main content."""


# Punctuation and marks differ between extractors (list signs, table bars, quotes), words do not.
_WORD: Final = re.compile(r"[^\W_]+")
# Three words in a row name a place in a text nearly always; blocks with fewer words than this are looked for between
# their neighbours only.
_GRAM: Final = 3
_LONG: Final = 4
# Paragraphs take their places first: a headline or a caption often stands word for word in one of them.
_PARAGRAPH: Final = 20
# A block is the extractor's when it holds half of the block: links and captions may have been left out of it.
_HELD: Final = 0.5
# Where a gram occurs often, so many occurrences are tried; and so many words around a block whose neighbours moved.
_MOST_TRIED: Final = 3
_NEAR: Final = 30
_MOST_NEAR: Final = 400

_MOST_WORDS: Final = 100_000_000

_Gram = tuple[str, ...]
_Span = tuple[int, int]


class DroppedBy(StrEnum):
    """Why a block is not kept."""

    NAVIGATION = "navigation"
    """In `nav`, `footer` or `aside`."""
    HEADER = "header"
    """In the page's `header`."""
    FORM = "form"
    NAMED = "named"
    """In a part whose class or id is a word for surroundings."""
    LINKS = "links"
    """In a list of short links."""
    OUTSIDE = "outside"
    """Not in the part in which the extractor found the content."""
    EXTRACTOR = "extractor"
    """The extractor left it out of an article."""


@dataclass(slots=True)
class Region:
    """What stands under one path."""

    chars: int = 0
    plain_chars: int = 0
    """Outside links."""
    held_chars: int = 0
    """Outside links, in blocks that the extractor kept."""
    blocks: int = 0


# A part with more of a page's text than this is no surroundings, whatever it is called (measured: 0.25, 0.4, 0.7, 0.9).
_MOST_OF_PAGE: Final = 0.7
_VOUCHED: Final = 0.5
# Menus are many links of few words; teasers and results of a search are links with longer texts.
_LINK_SHARE: Final = 0.75
_FEWEST_LINKS: Final = 4
_MENU_CHARS: Final = 25
_TAGS: Final = {
    "nav": DroppedBy.NAVIGATION,
    "footer": DroppedBy.NAVIGATION,
    "aside": DroppedBy.NAVIGATION,
    "form": DroppedBy.FORM,
}
_CONTENT_TAGS: Final = frozenset(["body", "main", "article"])
# Whole words of classes and ids, in the plain sense of the word; those of HTML, ARIA, and of what is laid over pages.
_NAMED: Final = re.compile(
    r"(?:^|[.#_-])(?:nav\w*|menu|visually-hidden|screen-reader-text|sr-only|sidebar|breadcrumbs?|crumbs?|footer|foot"
    r"|copyright|pagination|pager|related|share|sharing|social|respond|cookies?|consent|newsletter|subscribe"
    r"|widget-area|toc|skip|search|login|signup|modal|popup|dialog|similar|recommend\w*|advert\w*|ads?|promo|banner"
    r"|masthead|prevnext|tags?)(?:$|[._-])",
    re.IGNORECASE,
)


def regions(blocks: Sequence[Block], held: Sequence[bool]) -> dict[str, Region]:
    """Return the region of each path that blocks stand under, the outermost first within each path."""
    by_path: dict[str, list[int]] = {}
    for index, block in enumerate(blocks):
        by_path.setdefault(block.path, []).append(index)
    found: dict[str, Region] = {}
    for path, indexes in by_path.items():
        chars = sum(len(blocks[i].text) for i in indexes)
        plain = chars - sum(blocks[i].link_chars for i in indexes)
        kept = sum(len(blocks[i].text) - blocks[i].link_chars for i in indexes if held[i])
        for outer in _with_ancestors(path):
            region = found.setdefault(outer, Region())
            region.chars += chars
            region.plain_chars += plain
            region.held_chars += kept
            region.blocks += len(indexes)
    return found


def surroundings(blocks: Sequence[Block], found: dict[str, Region]) -> dict[str, DroppedBy | None]:
    """Say of each path with blocks, and of each around it, why it is dropped; None where it is not."""
    total = found["body"].plain_chars if "body" in found else 0
    verdicts: dict[str, DroppedBy | None] = {}
    for block in blocks:
        if block.path in verdicts:
            continue
        outer: DroppedBy | None = None
        in_content = False
        for path in _with_ancestors(block.path):
            step = path[path.rfind(">") + 1 :]
            if path not in verdicts:
                verdicts[path] = outer or _verdict(step, found[path], total, in_content=in_content)
            outer = verdicts[path]
            in_content = in_content or _tag(step) in _CONTENT_TAGS - {"body"}
    return verdicts


def container(found: dict[str, Region]) -> str:
    """Return the innermost path under which nine tenths of what the extractor kept stand."""
    needed = 0.9 * found["body"].held_chars if "body" in found else 0
    # Of two that hold as much the longer path is the inner one.
    holding = [path for path, region in found.items() if region.held_chars >= needed] if needed else []
    return max(holding, key=lambda path: (path.count(">"), path), default="body")


def is_under(path: str, outer: str) -> bool:
    """Tell whether a path is another or leads through it."""
    return path == outer or path.startswith(f"{outer}>")


def _verdict(step: str, region: Region, total: int, *, in_content: bool) -> DroppedBy | None:
    if region.plain_chars > _MOST_OF_PAGE * total or region.held_chars > _VOUCHED * region.plain_chars:
        return None
    reason = _told_by(step)
    if reason is DroppedBy.HEADER and in_content:
        # An article's own header: its title and who wrote it.
        reason = None
    return reason or (DroppedBy.LINKS if _is_menu(region) else None)


@lru_cache(maxsize=8_192)
def _told_by(step: str) -> DroppedBy | None:
    tag = _tag(step)
    if tag == "header":
        return DroppedBy.HEADER
    if tag in _TAGS:
        return _TAGS[tag]
    if tag not in _CONTENT_TAGS and _NAMED.search(step[len(tag) :]):
        return DroppedBy.NAMED
    return None


def _is_menu(region: Region) -> bool:
    return (
        region.blocks >= _FEWEST_LINKS
        and region.chars - region.plain_chars >= _LINK_SHARE * region.chars
        and region.chars < _MENU_CHARS * region.blocks
    )


def _tag(step: str) -> str:
    return step.partition("#")[0].partition(".")[0]


def _with_ancestors(path: str) -> list[str]:
    """Return the paths that lead to a path, the outermost first, and itself."""
    found = []
    at = path.find(">")
    while at >= 0:
        found.append(path[:at])
        at = path.find(">", at + 1)
    return [*found, path]


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
    held = held_blocks(text, [block.text for block in blocks])
    if refused is None and not any(held):
        refused = RefusedReason.EMPTY
    reasons: list[KeptBy | DroppedBy]
    kind, reasons = _judge(page, held)
    keep = tuple(isinstance(reason, KeptBy) for reason in reasons)
    if not any(keep):
        keep, reasons = (True,) * len(blocks), [KeptBy.WHOLE] * len(blocks)
    return Fallback(keep, tuple(reasons), kind, refused, EXTRACTOR, _extractor_version())


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


def held_blocks(text: str, blocks: Sequence[str]) -> tuple[bool, ...]:
    """Return of each block, in page order, whether the text that an extractor made of the page holds it.

    Texts that moved are found; each word of the text is given to one block only, so that of two equal blocks the one
    is held that stands where the extractor kept it.
    """
    alignment = _Alignment(text)
    return alignment.lay(blocks) if alignment.words else (False,) * len(blocks)


class _Alignment:
    def __init__(self, text: str) -> None:
        self.words = _words(text)
        self.taken = bytearray(len(self.words))
        self.places: defaultdict[_Gram, list[int]] = defaultdict(list)
        for at, gram in enumerate(_grams(self.words)):
            self.places[gram].append(at)

    def lay(self, blocks: Sequence[str]) -> tuple[bool, ...]:
        texts = [_words(block) for block in blocks]
        spans = self._long_ones(texts)
        return tuple(self._short_ones(texts, spans))

    def _long_ones(self, texts: list[list[str]]) -> list[_Span | None]:
        """Return where each long block begins and ends in the text."""
        spans: list[_Span | None] = [None] * len(texts)
        for least, most in ((_PARAGRAPH, _MOST_WORDS), (_LONG, _PARAGRAPH)):
            at = 0
            for index, words in enumerate(texts):
                if least <= len(words) < most:
                    spans[index] = self._place(words, at)
                at = span[1] if (span := spans[index]) else at
        return spans

    def _place(self, words: list[str], at: int) -> _Span | None:
        """Take the place of a block, looked for behind *at* first."""
        places = _together(self._places_of(words, at), len(words))
        if len(places) < _HELD * (len(words) - _GRAM + 1):
            return None
        for place in places:
            self.taken[place : place + _GRAM] = b"\1" * _GRAM
        return places[0], places[-1] + _GRAM

    def _places_of(self, words: list[str], at: int) -> list[int]:
        """Return where the grams of a block stand that are not taken, first behind *at*, then anywhere."""
        found = []
        for gram in _grams(words):
            places = self.places.get(gram)
            if places is None:
                continue
            behind = bisect_left(places, at)
            for place in (*places[behind : behind + _MOST_TRIED], *places[:_MOST_TRIED]):
                if not self.taken[place]:
                    found.append(place)
                    at = place
                    break
        return found

    def _short_ones(self, texts: list[list[str]], spans: list[_Span | None]) -> list[bool]:
        """Tell for each block whether it is held; short ones must stand between the long ones around them."""
        held = [span is not None for span in spans]
        begins = [len(self.words)] * len(spans)
        for index in range(len(spans) - 2, -1, -1):
            following = spans[index + 1]
            begins[index] = following[0] if following else begins[index + 1]
        at = 0
        for index, (words, span) in enumerate(zip(texts, spans, strict=True)):
            if span:
                at = span[1]
            elif words and len(words) < _LONG:
                until = begins[index] if begins[index] >= at else at + _NEAR
                found = self._run(words, at, min(until, at + _MOST_NEAR))
                if found is not None:
                    held[index] = True
                    at = found + len(words)
        return held

    def _run(self, words: list[str], start: int, stop: int) -> int | None:
        """Take the first free run of exactly these words, and return where it begins."""
        size = len(words)
        for at in range(start, min(stop, len(self.words)) - size + 1):
            until = at + size
            if self.words[at] == words[0] and self.words[at:until] == words and not any(self.taken[at:until]):
                self.taken[at:until] = b"\1" * size
                return at
        return None


def _together(places: list[int], words: int) -> list[int]:
    """Leave out what stands far from the most: words of a headline stand here and there in an article."""
    if not places:
        return places
    middle = sorted(places)[len(places) // 2]
    return [place for place in places if abs(place - middle) <= words]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _grams(words: list[str]) -> list[_Gram]:
    return list(zip(words, words[1:], words[2:], strict=False))
