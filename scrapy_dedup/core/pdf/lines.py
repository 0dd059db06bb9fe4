"""Lines of text on a page, with their boxes, made safe to work with, and the order in which they are read."""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median
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


# Beyond this a page is a table of data or an attack: rows from top to bottom are order enough.
_MOST_LINES: Final = 20_000
_DEEPEST: Final = 6
_BINS: Final = 256
_CANDIDATES: Final = 6
# Of a page's width at either side, where no gutter is looked for.
_EDGE: Final = 0.1
# Shares of lines that may run over a gutter, fewest first: headings and figures over all columns.
_CROSSING: Final = (0.0, 0.03, 0.1, 0.2, 0.4)
_NARROWEST: Final = 0.5
# A column of prose, not of a table: lines, how wide they are in font sizes, and how much of the column they fill.
_LEAST_LINES: Final = 4
_LEAST_WIDTH: Final = 5.6
_FULL: Final = 0.5
# Sides of a page whose lines stand at heights of their own are columns too, whatever they hold: lines, width in font
# sizes, and the share of lines at common heights.
_LEAST_APART: Final = 12
_WIDE_SIDE: Final = 18
_MOST_SHARED: Final = 0.5

Region = list[PdfLine]
"""Lines in one column, from top to bottom; the pieces of a row are joined."""


def in_order(lines: Sequence[PdfLine]) -> list[Region]:
    """Return the lines of a page as they are read; those that run up or down the page come last."""
    level = [line for line in lines if not is_turned(line)]
    turned = sorted((line for line in lines if is_turned(line)), key=lambda line: (line.left, line.top, line.text))
    regions = list(_ordered(level, 0)) if len(level) <= _MOST_LINES else [[joined(row) for row in rows_of(level)]]
    return [region for region in regions if region] + [[line] for line in turned]


def _ordered(lines: Sequence[PdfLine], depth: int) -> Iterator[Region]:
    rows = rows_of(lines)
    for gutter in _gutters(lines) if depth < _DEEPEST else ():
        bands = _bands(rows, gutter)
        halves = [band for band in bands if band[1]]
        sides = [[line for band in halves for line in band[side]] for side in (0, 1)]
        if all(map(_is_column, sides)) or (len(bands) == 1 and _are_apart(*sides)):
            for left, right in bands:
                yield from _ordered(left, depth + 1)
                yield from _ordered(right, depth + 1)
            return
    yield [joined(row) for row in rows]


def _bands(rows: Sequence[list[PdfLine]], gutter: float) -> list[tuple[list[PdfLine], list[PdfLine]]]:
    """Return the rows as bands: left and right of a gutter; a band without columns has no right half."""
    bands: list[tuple[list[PdfLine], list[PdfLine]]] = []
    for crosses, group in groupby(rows, key=lambda row: any(line.left < gutter < line.right for line in row)):
        lines = [line for row in group for line in row]
        left = [line for line in lines if line.left < gutter]
        right = [line for line in lines if line.left >= gutter]
        bands.append((lines, []) if crosses or not _are_beside(left, right) else (left, right))
    return bands


def _are_beside(left: Sequence[PdfLine], right: Sequence[PdfLine]) -> bool:
    """Tell whether two halves share some height; one above the other is read as it stands."""
    if not left or not right:
        return False
    top = max(min(line.top for line in left), min(line.top for line in right))
    return top < min(max(line.bottom for line in left), max(line.bottom for line in right))


def _is_column(lines: Sequence[PdfLine]) -> bool:
    """Tell whether lines are prose, in one column or in several beside each other."""
    if len(lines) < _LEAST_LINES:
        return False
    width = max(line.right for line in lines) - min(line.left for line in lines)
    filled = median(sum(line.right - line.left for line in row) for row in rows_of(lines))
    usual = median(line.right - line.left for line in lines)
    return width > 0 and filled >= _FULL * width and usual >= _LEAST_WIDTH * median(line.size for line in lines)


def _are_apart(left: Sequence[PdfLine], right: Sequence[PdfLine]) -> bool:
    """Tell whether two sides with nothing between them share few lines of height, as the halves of a table do."""
    if min(len(left), len(right)) < _LEAST_APART:
        return False
    for side in (left, right):
        width = max(line.right for line in side) - min(line.left for line in side)
        if width < _WIDE_SIDE * median(line.size for line in side):
            return False
    heights = {round(line.bottom) + near for line in left for near in (-1, 0, 1)}
    shared = sum(round(line.bottom) in heights for line in right)
    return shared <= _MOST_SHARED * len(right)


def _gutters(lines: Sequence[PdfLine]) -> list[float]:
    """Return where few lines cross, best first."""
    if len(lines) < 2 * _LEAST_LINES:
        return []
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    step = (right - left) / _BINS
    if step <= 0:
        return []
    crossing, size = _crossing(lines, left, step), median(line.size for line in lines)
    least = min(crossing[int(_EDGE * _BINS) : int((1 - _EDGE) * _BINS)])
    found = []
    for rank, share in enumerate(_CROSSING):
        if share * len(lines) < least:
            continue
        at = 0
        most = share * len(lines)
        for is_free, group in groupby(count <= most for count in crossing):
            bins = len(list(group))
            middle, at = at + bins / 2, at + bins
            inside = _EDGE * _BINS < middle < (1 - _EDGE) * _BINS
            if is_free and inside and bins * step >= _NARROWEST * size:
                found.append((rank, -bins, left + middle * step))
    return [place for _, _, place in sorted(found)[:_CANDIDATES]]


def _crossing(lines: Sequence[PdfLine], left: float, step: float) -> list[int]:
    """Return how many lines cover each bin."""
    changes = [0] * (_BINS + 2)
    for line in lines:
        changes[int((line.left - left) / step)] += 1
        changes[int((line.right - left) / step) + 1] -= 1
    counts, count = [], 0
    for change in changes[:_BINS]:
        count += change
        counts.append(count)
    return counts
