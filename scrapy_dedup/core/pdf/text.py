"""What a PDF says: its pages' lines as blocks in reading order, and what runs along its pages beside them."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct, field

from scrapy_dedup.core.pdf.blocks import BlockKind, PdfBlock, blocks_of, page_starts
from scrapy_dedup.core.pdf.furniture import Furniture, FurnitureReason, split_furniture
from scrapy_dedup.core.pdf.lines import PageLines, PdfLine, body_size, clean_page, clean_text, in_order

__all__ = [
    "BlockKind",
    "Furniture",
    "FurnitureReason",
    "PageLines",
    "PdfBlock",
    "PdfFlag",
    "PdfLine",
    "PdfReading",
    "PdfText",
    "arrange",
    "cover",
    "draw",
    "draw_pages",
]

VERSION: Final = 1
"""Of the text that is made of a file; it changes whenever the same file may give another text."""

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
        author_of(reading.facts),
        date_of(reading.facts),
        tuple(flag for flag in PdfFlag if flag in flags),
    )


def draw(pdf: PdfText, output: Output) -> str:
    """Return the text with an empty line between blocks; Markdown marks headings, entries and code."""
    drawing = _DRAWINGS[output]
    return "\n\n".join(drawing(block) for block in pdf.blocks)


def draw_pages(pdf: PdfText, output: Output) -> list[str]:
    """Return the text of each page that was read; a block counts to the page on which it begins."""
    drawing = _DRAWINGS[output]
    pages = page_starts(pdf.blocks)
    return ["\n\n".join(drawing(block) for block in pages.get(page, ())) for page in range(1, pdf.read + 1)]


def cover(pdf: PdfText, output: Output) -> str:
    """Return the text of page 1."""
    return draw_pages(pdf, output)[0] if pdf.read else ""


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


def author_of(facts: Mapping[str, str]) -> str | None:
    """Return the declared author."""
    return clean_text(facts.get("Author", ""))[:_LONGEST] or None


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
