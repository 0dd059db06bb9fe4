"""Lines of text on a page, with their boxes, made safe to work with."""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

SOFT_HYPHEN: Final = "\u00ad"

# Readers mark a hyphen at the end of a line with one of these; a real hyphen or not, they do not say.
_HYPHEN_MARKS: Final = "\ufffe\x02"
# Controls, halves of surrogate pairs, non-characters, marks of direction and of no width: nothing that anybody reads.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff\ufffe\uffff\ud800-\udfff]"
)
_LIGATURE: Final = re.compile("[\ufb00-\ufb06]")
# Text printed twice to look bold is moved by less than this, in points.
_OVERPRINT: Final = 1.5
_FARTHEST: Final = 20_000.0
_LARGEST: Final = 1_000.0
_USUAL_SIZE: Final = 10.0
_WIDE_GAP: Final = 1.5
_WORD_GAP: Final = 0.12


class PdfLine(Struct, frozen=True):
    """A piece of text that stands in one line; all lengths in points, from the page's left and top.

    Attributes:
        size: of its font.
        cells: so many pieces with wide gaps between them; more than one in tables.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    bold: bool = False
    fixed: bool = False
    cells: int = 1


class PageLines(Struct, frozen=True):
    """What stands on one page, in any order."""

    lines: Sequence[PdfLine]
    width: float
    height: float


def clean_text(text: str) -> str:
    """Return a text without what cannot be seen, its spaces squeezed; a hyphen at its end stays."""
    if text[-1:] in _HYPHEN_MARKS and text:
        text = text[:-1] + "-"
    text = _LIGATURE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    soft = text.rstrip().endswith(SOFT_HYPHEN)
    return " ".join(_UNSEEN.sub("", text).replace(SOFT_HYPHEN, "").split()) + (SOFT_HYPHEN if soft else "")


def clean_page(page: PageLines) -> PageLines:
    """Return a page without empty lines and lines printed twice, its boxes finite and the right way round."""
    seen: dict[str, set[tuple[int, int]]] = {}
    lines = []
    for line in page.lines:
        text = clean_text(line.text)
        if not text.strip(SOFT_HYPHEN):
            continue
        clean = _boxed(line, text)
        places = seen.setdefault(text, set())
        x, y = int(clean.left // _OVERPRINT), int(clean.top // _OVERPRINT)
        if places and any((x + right, y + down) in places for right in (-1, 0, 1) for down in (-1, 0, 1)):
            continue
        places.add((x, y))
        lines.append(clean)
    return PageLines(lines, _bounded(page.width), _bounded(page.height))


def rows_of(lines: Iterable[PdfLine]) -> list[list[PdfLine]]:
    """Return lines by rows from top to bottom, each from left to right; what overlaps by half is one row."""
    rows: list[list[PdfLine]] = []
    for line in sorted(lines, key=lambda line: (line.top, line.left, line.text)):
        if rows and _overlaps(rows[-1][0], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: (line.left, line.top, line.text)) for row in rows]


def joined(row: Sequence[PdfLine]) -> PdfLine:
    """Return the pieces of a row as one line.

    Args:
        row: from left to right; not empty.
    """
    if len(row) == 1:
        return row[0]
    text, cells, right = row[0].text, row[0].cells, row[0].right
    for before, line in pairwise(row):
        gap = line.left - right
        size = max(before.size, line.size)
        text += (" " if gap > _WORD_GAP * size else "") + line.text
        cells += line.cells - 1 + (gap > _WIDE_GAP * size)
        right = max(right, line.right)
    most = max(row, key=lambda line: len(line.text))
    return replace(
        most,
        text=text,
        left=row[0].left,
        right=right,
        top=min(line.top for line in row),
        bottom=max(line.bottom for line in row),
        bold=all(line.bold for line in row),
        fixed=all(line.fixed for line in row),
        cells=cells,
    )


def is_turned(line: PdfLine) -> bool:
    """Tell whether a line runs up or down the page."""
    return len(line.text) > 3 and line.bottom - line.top > 2 * (line.right - line.left)


def body_size(pages: Iterable[PageLines]) -> float:
    """Return the font size that most characters have, to half a point."""
    chars: dict[float, int] = {}
    for page in pages:
        for line in page.lines:
            size = rounded(line.size)
            chars[size] = chars.get(size, 0) + len(line.text)
    return max(chars, key=lambda size: (chars[size], -size), default=_USUAL_SIZE)


def rounded(size: float) -> float:
    """Return a font size to half a point."""
    return round(size * 2) / 2


def _overlaps(first: PdfLine, second: PdfLine) -> bool:
    common = min(first.bottom, second.bottom) - max(first.top, second.top)
    least = min(first.bottom - first.top, second.bottom - second.top)
    return common > 0.5 * least


def _boxed(line: PdfLine, text: str) -> PdfLine:
    left, right = sorted((_bounded(line.left), _bounded(line.right)))
    top, bottom = sorted((_bounded(line.top), _bounded(line.bottom)))
    size = abs(line.size) if math.isfinite(line.size) else 0.0
    size = min(size, _LARGEST) or min(bottom - top, _LARGEST) or _USUAL_SIZE
    if bottom == top:
        bottom = top + size
    return PdfLine(text, left, top, right, bottom, size, line.bold, line.fixed, line.cells)


def _bounded(length: float) -> float:
    return min(max(length, -_FARTHEST), _FARTHEST) if math.isfinite(length) else 0.0
