"""The order in which the lines of a page are read: down each column, columns from left to right."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median
from typing import Final

from scrapy_dedup.core.pdf.lines import PdfLine, is_turned, joined, rows_of

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
