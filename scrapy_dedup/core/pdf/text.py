"""What a PDF says: its pages' lines as blocks of text in reading order, and as Markdown."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from itertools import pairwise
from statistics import median
from typing import Any, Final, Literal

from msgspec import Struct, field

from scrapy_dedup.core.pdf.lines import (
    SOFT_HYPHEN,
    Furniture,
    PageLines,
    PdfLine,
    Region,
    body_size,
    clean_page,
    clean_text,
    in_order,
    rounded,
    split_furniture,
)

_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LAST: Final = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)-$")
_FIRST: Final = re.compile(r"[^\W\d_]+")
# Written without spaces: no space where two lines meet.
_UNSPACED: Final = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60\u0e00-\u0eff]")

# In font sizes, or shares of the usual distance between two lines.
_WIDE: Final = 1.3
_WIDEST: Final = 2.2
_INDENT: Final = 0.8
_SHORT: Final = 2.0
_OTHER_SIZE: Final = 0.1
# A heading is so much larger than the body, or all bold; and so long at most.
_LARGER: Final = 1.12
_HEADING_CHARS: Final = 200
_BOLD_CHARS: Final = 100
_MOST_LEVELS: Final = 5
# Of a fixed font, in font sizes: how wide a character is.
_FIXED_WIDTH: Final = 0.6
_MOST_INDENT: Final = 40

_ITEM: Final = re.compile(
    r"(?:[\u2022\u25aa\u25cf\u25cb\u25e6\u2023\u2043\u00b7\u2219\u27a2\uf0b7\u2713*\u2013-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+\S"
)
_SENTENCE_END: Final = re.compile(r"[.!?:;\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*$")


class Hyphens:
    """What a document's own words say about hyphens at the ends of its lines."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        for line in lines:
            # The last word may be half a word.
            self._words.update(found.casefold() for found in _WORD.findall(line.rstrip("-")))

    def join(self, lines: Sequence[str]) -> str:
        """Return lines as one, words that were cut put together."""
        parts: list[str] = []
        for line in lines:
            if parts:
                parts[-1] = self._end(parts[-1], line)
            parts.append(line)
        return "".join(parts).rstrip(SOFT_HYPHEN)

    def _end(self, line: str, following: str) -> str:
        """Return a line with what stands between it and the next."""
        if line.endswith(SOFT_HYPHEN):
            return line.rstrip(SOFT_HYPHEN)
        last = _LAST.search(line[-200:])
        if last is None:
            is_dense = _UNSPACED.match(line[-1:]) and _UNSPACED.match(following[:1])
            is_number = re.search(r"\w-$", line[-2:]) and following[:1].isdigit()
            return line if is_dense or is_number else line + " "
        first = _FIRST.match(following)
        if first is None:
            return line + ("" if following[:1].isalnum() else " ")
        return line if self._keeps(last[1], first[0]) else line[:-1]

    def _keeps(self, last: str, first: str) -> bool:
        """Tell whether a hyphen is the word's own: it is written so elsewhere, or its second half is a name."""
        if not first[0].islower():
            return True
        whole, apart = (last + first).casefold(), f"{last}-{first}".casefold()
        if self._words[whole] != self._words[apart]:
            return self._words[whole] < self._words[apart]
        # Neither is known: long compounds have their hyphens, `e-` and `x-` keep theirs.
        return "-" in last or len(last) == 1


class BlockKind(StrEnum):
    """What a block is."""

    TEXT = "text"
    HEADING = "heading"
    ITEM = "item"
    TABLE = "table"
    """A row a line, its cells with a space between."""
    CODE = "code"
    """Lines as they stand."""


class PdfBlock(Struct, frozen=True):
    """A piece of text in reading order.

    Attributes:
        page: on which it begins, counted from 1.
        level: 1 to 6 for headings, else 0.
    """

    text: str
    page: int
    kind: BlockKind = BlockKind.TEXT
    level: int = 0


class _Draft(Struct):
    """Lines that become one block."""

    page: int
    kind: BlockKind
    lines: list[PdfLine]
    right: float
    """Of its column."""

    @property
    def size(self) -> float:
        return self.lines[-1].size


def blocks_of(pages: Sequence[Sequence[Region]], body: float) -> list[PdfBlock]:
    """Return the blocks of a document, given the regions of each page and the font size of most of the text."""
    drafts: list[_Draft] = []
    for number, regions in enumerate(pages, 1):
        for region in regions:
            _add(drafts, list(_drafts(region, number, body)))
    hyphens = Hyphens(line.text for draft in drafts for line in draft.lines)
    sizes = sorted(
        {rounded(draft.size) for draft in drafts if draft.kind is BlockKind.HEADING and draft.size >= _LARGER * body},
        reverse=True,
    )
    levels = {size: min(rank, _MOST_LEVELS) for rank, size in enumerate(sizes, 1)}
    below = min(len(levels) + 1, _MOST_LEVELS + 1)
    return [_block(draft, hyphens, levels.get(rounded(draft.size), below)) for draft in drafts]


def _block(draft: _Draft, hyphens: Hyphens, level: int) -> PdfBlock:
    if draft.kind is BlockKind.CODE:
        text = "\n".join(_indented(draft.lines))
    elif draft.kind is BlockKind.TABLE:
        text = "\n".join(line.text.rstrip(SOFT_HYPHEN) for line in draft.lines)
    else:
        text = hyphens.join([line.text for line in draft.lines])
    return PdfBlock(text, draft.page, draft.kind, level if draft.kind is BlockKind.HEADING else 0)


def _indented(lines: Sequence[PdfLine]) -> Iterator[str]:
    left = min(line.left for line in lines)
    for line in lines:
        indent = round((line.left - left) / (_FIXED_WIDTH * line.size))
        yield " " * min(indent, _MOST_INDENT) + line.text.rstrip(SOFT_HYPHEN)


def _drafts(region: Region, page: int, body: float) -> Iterator[_Draft]:
    """Return the drafts of one column."""
    right = max(line.right for line in region)
    leading = _leading(region)
    draft = _Draft(page, _kind(region[0], body), [region[0]], right)
    for line in region[1:]:
        kind = _kind(line, body)
        if _continues(draft, line, kind, leading):
            draft.lines.append(line)
        else:
            yield draft
            draft = _Draft(page, kind, [line], right)
    yield draft


def _kind(line: PdfLine, body: float) -> BlockKind:
    if line.fixed:
        return BlockKind.CODE
    if line.cells > 1:
        return BlockKind.TABLE
    chars = len(line.text)
    if line.size >= _LARGER * body and chars <= _HEADING_CHARS:
        return BlockKind.HEADING
    if line.bold and chars <= _BOLD_CHARS and not line.text.endswith((".", ",", ";")):
        return BlockKind.HEADING
    return BlockKind.ITEM if _ITEM.match(line.text) else BlockKind.TEXT


def _leading(region: Region) -> dict[float, float]:
    """Return the usual distance of two lines, by font size."""
    steps: dict[float, list[float]] = {}
    for before, line in pairwise(region):
        if line.bottom > before.bottom and rounded(line.size) == rounded(before.size):
            steps.setdefault(rounded(line.size), []).append(line.bottom - before.bottom)
    return {size: min(median(found), _WIDEST * max(size, 1.0)) for size, found in steps.items()}


def _continues(draft: _Draft, line: PdfLine, kind: BlockKind, leading: dict[float, float]) -> bool:
    """Tell whether a line belongs to the block before it."""
    last = draft.lines[-1]
    usual = leading.get(rounded(last.size), 1.2 * last.size)
    step = line.bottom - last.bottom
    is_far = step > _WIDE * usual or step < -usual
    if abs(line.size - last.size) > _OTHER_SIZE * last.size or is_far:
        return False
    if draft.kind in (BlockKind.CODE, BlockKind.TABLE, BlockKind.HEADING) or kind is not BlockKind.TEXT:
        return draft.kind is kind and kind is not BlockKind.ITEM
    if draft.kind is BlockKind.ITEM:
        return line.left > draft.lines[0].left + 0.2 * line.size or last.right > draft.right - _SHORT * last.size
    return not _is_indented(draft, line)


def _is_indented(draft: _Draft, line: PdfLine) -> bool:
    """Tell whether a line is the first of a paragraph, by its indent or by the end of the line before."""
    first, last = draft.lines[0], draft.lines[-1]
    is_full = last.right > draft.right - _SHORT * last.size
    ends = _SENTENCE_END.search(last.text[-8:]) is not None
    indent = _INDENT * line.size
    if line.left > last.left + indent:
        # The second line of an entry with a hanging indent stands further in too.
        return len(draft.lines) > 1 or not is_full or ends
    if line.left < last.left - indent and len(draft.lines) > 1:
        return first.left <= line.left + indent
    return ends and not is_full


def _add(drafts: list[_Draft], new: list[_Draft]) -> None:
    """Append the drafts of the next column; its first paragraph may be the rest of one before."""
    if new and new[0].kind is BlockKind.TEXT:
        before = _interrupted(drafts, new[0])
        if before is not None:
            before.lines.extend(new.pop(0).lines)
    drafts.extend(new)


def _interrupted(drafts: Sequence[_Draft], draft: _Draft) -> _Draft | None:
    """Return the paragraph that goes on in a new column or page; smaller notes may stand between."""
    first = draft.lines[0]
    for before in drafts[:-7:-1]:
        if before.page < draft.page - 1:
            return None
        last = before.lines[-1]
        if last.size < first.size * (1 - _OTHER_SIZE):
            continue
        if (
            before.kind not in (BlockKind.TEXT, BlockKind.ITEM)
            or abs(last.size - first.size) > _OTHER_SIZE * first.size
        ):
            return None
        goes_on = first.text[0].islower() or last.text.endswith(("-", SOFT_HYPHEN))
        return before if goes_on and not _SENTENCE_END.search(last.text[-8:]) else None
    return None


# Characters without a meaning, of all characters that are no space.
_GARBLED_SHARE: Final = 0.3
_BAD: Final = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08]")

Output = Literal["markdown", "text"]

_LONGEST: Final = 300
_DATE: Final = re.compile(
    r"\s*(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-])(\d\d)'?(\d\d)?'?)?", re.ASCII
)
# Names of files and of nothing, which programs write where nobody chose a title.
_NO_TITLE: Final = re.compile(
    r"untitled.*|unbenannt.*|unknown|document\d*|title|.*\.(?:docx?|dvi|tex|odt|indd|qxp|qxd|pdf|rtf|xlsx?|pptx?|fm|ps|html?)",
    re.IGNORECASE,
)
_MAKER: Final = re.compile(r"microsoft (?:word|powerpoint|excel) - ", re.IGNORECASE)
_LEAST_CHARS: Final = 3


class PdfFlag(StrEnum):
    """What a reader of the text should know."""

    TRUNCATED = "truncated"
    """It has more pages, or more characters, than were read."""
    GARBLED = "garbled"
    """Its fonts do not say which characters their shapes are."""
    PAGES_LOST = "pages lost"
    """Some pages are damaged."""


class PdfText(Struct, frozen=True):
    """The text of a PDF.

    Attributes:
        furniture: running headers, footers and page numbers; no block has them.
        pages: of the file.
        read: pages that were read; the first ones.
        date: of creation, ISO 8601.
        flags: in the order of `PdfFlag`.
    """

    blocks: tuple[PdfBlock, ...]
    furniture: tuple[Furniture, ...] = ()
    pages: int = 0
    read: int = 0
    title: str | None = None
    author: str | None = None
    date: str | None = None
    flags: tuple[PdfFlag, ...] = ()

    @property
    def report(self) -> dict[str, Any]:
        """What an item says of its file: how many pages it has, and what runs along them."""
        return {
            "pages": self.pages,
            "read": self.read,
            "flags": [str(flag) for flag in self.flags],
            "furniture": [{"text": one.text, "pages": one.pages, "reason": str(one.reason)} for one in self.furniture],
        }


class PdfReading(Struct, frozen=True):
    """What was read of a file.

    Attributes:
        pages: the first ones, one that is damaged without lines.
        count: pages of the file.
        facts: entries of its information dictionary: Title, Author, CreationDate.
        flags: what the reader found; `arrange` adds its own.
    """

    pages: Sequence[PageLines]
    count: int
    facts: Mapping[str, str] = field(default_factory=dict)
    flags: frozenset[PdfFlag] = frozenset()


def arrange(reading: PdfReading) -> PdfText:
    """Return the text of a file: running lines taken off, the rest in reading order."""
    pages = [clean_page(page) for page in reading.pages]
    furniture, bodies = split_furniture(pages)
    blocks = blocks_of([in_order(lines) for lines in bodies], body_size(pages))
    flags = set(reading.flags)
    if reading.count > len(pages):
        flags.add(PdfFlag.TRUNCATED)
    if _is_garbled(reading.pages):
        flags.add(PdfFlag.GARBLED)
    return PdfText(
        tuple(blocks),
        tuple(furniture),
        reading.count,
        len(pages),
        title_of(reading.facts, blocks),
        clean_text(reading.facts.get("Author", ""))[:_LONGEST] or None,
        date_of(reading.facts),
        tuple(flag for flag in PdfFlag if flag in flags),
    )


def draw(pdf: PdfText, output: Output) -> str:
    """Return the text with an empty line between blocks; Markdown marks headings, entries and code."""
    drawing = _DRAWINGS[output]
    return "\n\n".join(drawing(block) for block in pdf.blocks)


def _plain(block: PdfBlock) -> str:
    return block.text


def _marked(block: PdfBlock) -> str:
    if block.kind is BlockKind.HEADING:
        return f"{'#' * block.level} {block.text}"
    if block.kind is BlockKind.CODE:
        fence = "```" if "```" not in block.text else "~~~~~~"
        return f"{fence}\n{block.text}\n{fence}"
    return block.text


_DRAWINGS: Final[dict[Output, Callable[[PdfBlock], str]]] = {"markdown": _marked, "text": _plain}


def _is_garbled(pages: Sequence[PageLines]) -> bool:
    """Tell whether much of a text is replacement characters, private ones or controls."""
    lines = [line.text for page in pages for line in page.lines]
    bad = sum(len(_BAD.findall(text)) for text in lines)
    return bad > _GARBLED_SHARE * sum(len(text) - text.count(" ") for text in lines)


def title_of(facts: Mapping[str, str], blocks: Sequence[PdfBlock]) -> str | None:
    """Return the declared title, else the largest heading of page 1; None where there is neither."""
    declared = _MAKER.sub("", clean_text(facts.get("Title", ""))[:_LONGEST])
    if len(declared) >= _LEAST_CHARS and not _NO_TITLE.fullmatch(declared):
        return declared
    headings = [block for block in blocks if block.page == 1 and block.kind is BlockKind.HEADING]
    first = min(headings, key=lambda block: block.level, default=None)
    return first.text[:_LONGEST] if first else None


def date_of(facts: Mapping[str, str]) -> str | None:
    """Return the instant of creation in ISO 8601, with its zone where it has one; None where it is no date."""
    found = _DATE.match(facts.get("CreationDate", "")[:40])
    if found is None:
        return None
    parts = [int(part or least) for part, least in zip(found.groups()[:6], "011000", strict=True)]
    try:
        return datetime(*parts[:3], *parts[3:], tzinfo=_zone(found)).isoformat()  # type: ignore[misc, arg-type]
    except ValueError:
        return None


def _zone(found: re.Match[str]) -> timezone | None:
    if found[7]:
        return UTC
    if not found[8]:
        return None
    away = timedelta(hours=int(found[9]), minutes=int(found[10] or 0))
    return timezone(-away if found[8] == "-" else away)
