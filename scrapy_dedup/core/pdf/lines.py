"""Lines of text on a page, made safe to work with, the order in which they are read, and which of them are furniture.

Furniture are running headers, footers and page numbers: what comes back on page after page at one height.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import chain, groupby, pairwise
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
    """Return the pieces of a row, given from left to right, as one line; there is at least one."""
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


# A row nearer than this share of the page's height to its top or bottom may be furniture, and so many rows at most.
_ZONE: Final = 0.2
_MOST_ROWS: Final = 6
_LEAST_PAGES: Final = 3
# Left and right pages have headers of their own: a running line comes back on the next page or the one after.
_REACH: Final = 2
# A line of words is numbered only where so many pages agree; entries of a table of contents count by chance.
_LEAST_NUMBERED: Final = 6
# Points that one running line's height may differ from page to page.
_TOLERANCE: Final = 4.0
_SAME_PLACE: Final = 2.0
# A larger row with another number on each page is a chapter's title.
_LARGE: Final = 1.25
# Body text stands closer together than this; a running line stands apart from it. In font sizes.
_APART: Final = 1.5
_PLACE_SHARE: Final = 0.5
_LONGEST: Final = 300

_NUMBER: Final = re.compile(r"\d{1,6}")
_LEADERS: Final = re.compile(r"(?:[.\u2026\u00b7_] ?){4}")
# `12`, `3-12`, `A.12`: the page of a chapter counts too.
_PAGE_NUMBER: Final = re.compile(r"(?:[A-Za-z0-9]{1,3}[-\u2013])?(\d{1,5})")
_ROMAN: Final = re.compile(r"(?=[ivxlc])(?:c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})", re.IGNORECASE)
_ROMAN_VALUE: Final = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_EDGES: Final = "-\u2013\u2014|[](){}.:/\u2022\u00b7* "


class FurnitureReason(StrEnum):
    """Why a line is no part of the text."""

    REPEATED = "repeated"
    """The same words, digits masked, at one height of near-by pages."""
    NUMBERED = "page number"
    """It begins or ends with a number that counts the pages."""
    PLACE = "place of running lines"
    """It stands apart, where the other pages have their running lines."""


class Furniture(Struct, frozen=True):
    """A running line: its text where it comes first, and the pages, counted from 1, that have it."""

    text: str
    pages: tuple[int, ...]
    reason: FurnitureReason


class _EdgeRow(Struct):
    """A row near an edge of a page."""

    page: int
    is_top: bool
    distance: float
    line: PdfLine
    pieces: Sequence[PdfLine]
    gap: float
    """To the next row inside, in font sizes."""
    key: str
    numbers: tuple[int, ...]
    reason: FurnitureReason | None = None


def split_furniture(pages: Sequence[PageLines]) -> tuple[list[Furniture], list[list[PdfLine]]]:
    """Return the running lines, in order of first pages, and the lines of each page without them."""
    if len(pages) < _LEAST_PAGES:
        return [], [list(page.lines) for page in pages]
    edges = [[_edge(number, page, is_top=is_top) for is_top in (True, False)] for number, page in enumerate(pages, 1)]
    rows = [row for page in edges for edge in page for row in edge]
    large = _LARGE * body_size(pages)
    _mark_repeated(rows, large)
    _mark_numbered(rows, large)
    _mark_places(rows, large)
    removed = [row for page in edges for edge in page for row in _outer(edge)]
    return _gathered(removed), _bodies(pages, removed)


def masked(text: str) -> str:
    """Return a line with its digits, and Roman numbers at its ends, masked and in one case."""
    words = text.split()
    for end in (0, -1):
        if words and _ROMAN.fullmatch(words[end].strip(_EDGES)):
            words[end] = "#"
    return re.sub(r"\d+", "#", " ".join(words)).casefold().strip(_EDGES)


def _edge(number: int, page: PageLines, *, is_top: bool) -> list[_EdgeRow]:
    """Return the rows of one edge of a page, from outside to inside."""
    height = max(page.height, 1.0)
    inside = [
        line
        for line in page.lines
        if (line.top < _ZONE * height if is_top else line.bottom > (1 - _ZONE) * height) and not is_turned(line)
    ]
    pieces = rows_of(inside)
    lines = [joined(row) for row in pieces]
    if not is_top:
        pieces, lines = pieces[::-1], lines[::-1]
    found = []
    for at in range(min(len(lines), _MOST_ROWS)):
        line = lines[at]
        gap = _gap(line, lines[at + 1]) if at + 1 < len(lines) else _APART
        distance = line.top if is_top else height - line.bottom
        key = masked(line.text[:_LONGEST])
        found.append(_EdgeRow(number, is_top, distance, line, pieces[at], gap, key, _numbers(line.text)))
    return found


def _gap(line: PdfLine, inner: PdfLine) -> float:
    """Return how far two baselines lie apart, in font sizes."""
    return abs(line.bottom - inner.bottom) / max(line.size, inner.size)


def _mark_repeated(rows: Sequence[_EdgeRow], large: float) -> None:
    for group in _groups(rows, [(row.is_top, row.key) for row in rows]):
        is_title = group[0].line.size >= large and len({row.line.text for row in group}) > 1
        if not is_title and any(_runs(group)):
            for row in group:
                row.reason = FurnitureReason.REPEATED


def _mark_numbered(rows: Sequence[_EdgeRow], large: float) -> None:
    """Mark rows whose first or last word counts the pages."""
    offsets: dict[tuple[bool, int], list[_EdgeRow]] = {}
    for row in rows:
        if row.line.size < large and not _LEADERS.search(row.line.text):
            for value in set(_page_numbers(row.line.text)):
                offsets.setdefault((row.is_top, value - row.page), []).append(row)
    pages = len({row.page for row in rows})
    for group in offsets.values():
        for cluster in _clusters(group):
            _mark_cluster(cluster, min(_LEAST_NUMBERED, max(_LEAST_PAGES, pages // 2)))


def _mark_cluster(cluster: Sequence[_EdgeRow], least: int) -> None:
    """Mark rows with numbers that go with the pages: those that are a number alone, and those with words if many."""
    is_many = len({row.page for row in cluster}) >= least
    if not any(_runs(cluster, in_step=False)):
        return
    for row in cluster:
        if row.key == "#" or (is_many and row.reason is None):
            row.reason = FurnitureReason.NUMBERED


def _mark_places(rows: Sequence[_EdgeRow], large: float) -> None:
    """Mark rows that stand apart where most rows are running lines."""
    for is_top in (True, False):
        apart = [row for row in rows if row.is_top is is_top and (row.reason or row.gap >= _APART)]
        for cluster in _clusters([row for row in apart if row.reason or row.line.size < large], _SAME_PLACE):
            alike = _alike(cluster)
            known = [row for row in cluster if row.reason or row.key.split()[:2] in alike]
            if len(known) < max(_LEAST_PAGES, _PLACE_SHARE * len(cluster)):
                continue
            sizes = {round(row.line.size) for row in known}
            for row in cluster:
                if row.reason is None and round(row.line.size) in sizes:
                    row.reason = FurnitureReason.PLACE


def _alike(cluster: Sequence[_EdgeRow]) -> list[list[str]]:
    """Return the two words with which many rows at a place begin, such as `chapter #`."""
    counts = Counter(" ".join(row.key.split()[:2]) for row in cluster)
    return [key.split() for key, count in counts.items() if count >= _LEAST_NUMBERED and "#" in key and key != "#"]


def _groups(rows: Iterable[_EdgeRow], keys: Sequence[tuple[bool, str]]) -> Iterator[list[_EdgeRow]]:
    """Return rows with one key at one height, by pages."""
    groups: dict[tuple[bool, str], list[_EdgeRow]] = {}
    for row, key in zip(rows, keys, strict=True):
        groups.setdefault(key, []).append(row)
    for group in groups.values():
        yield from _clusters(group)


def _clusters(rows: Iterable[_EdgeRow], tolerance: float = _TOLERANCE) -> Iterator[list[_EdgeRow]]:
    """Return rows by height, each group by pages."""
    cluster: list[_EdgeRow] = []
    for row in sorted(rows, key=lambda row: (row.distance, row.page)):
        if cluster and row.distance - cluster[0].distance > tolerance:
            yield sorted(cluster, key=lambda row: row.page)
            cluster = []
        cluster.append(row)
    if cluster:
        yield sorted(cluster, key=lambda row: row.page)


def _runs(rows: Sequence[_EdgeRow], *, in_step: bool = True) -> Iterator[list[_EdgeRow]]:
    """Return stretches of rows on near-by pages, long enough to be running lines; *rows* are at least one, by pages.

    Where they must be *in_step* their numbers stay, or go on as the pages do.
    """
    run = [rows[0]]
    for before, row in pairwise(rows):
        if row.page - before.page > _REACH or (in_step and not _goes_on(before, row)):
            yield from _long_enough(run)
            run = []
        run.append(row)
    yield from _long_enough(run)


def _long_enough(run: list[_EdgeRow]) -> Iterator[list[_EdgeRow]]:
    if len({row.page for row in run}) >= _LEAST_PAGES:
        yield run


def _goes_on(before: _EdgeRow, row: _EdgeRow) -> bool:
    """Tell whether the numbers of two rows with the same words are those of a running line."""
    steps = {new - old for old, new in zip(before.numbers, row.numbers, strict=False)} - {0}
    pages = row.page - before.page
    # A sheet that shows two pages counts by two.
    return not steps or bool(steps & {pages, 2 * pages})


def _outer(edge: Sequence[_EdgeRow]) -> Iterator[_EdgeRow]:
    """Return the running lines of an edge: body text ends them, so that nothing is taken from within."""
    for row in edge:
        if row.reason is None:
            return
        yield row


def _gathered(rows: Sequence[_EdgeRow]) -> list[Furniture]:
    found: dict[tuple[str, FurnitureReason], list[_EdgeRow]] = {}
    for row in rows:
        found.setdefault((row.key, row.reason or FurnitureReason.PLACE), []).append(row)
    return [
        Furniture(group[0].line.text, tuple(sorted({row.page for row in group})), reason)
        for (_, reason), group in found.items()
    ]


def _bodies(pages: Sequence[PageLines], removed: Iterable[_EdgeRow]) -> list[list[PdfLine]]:
    gone: dict[int, set[int]] = {}
    for row in removed:
        gone.setdefault(row.page, set()).update(id(piece) for piece in row.pieces)
    return [
        [line for line in page.lines if id(line) not in gone.get(number, ())] for number, page in enumerate(pages, 1)
    ]


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a line that may tell its page."""
    found = tuple(int(found[0]) for found in _NUMBER.finditer(text[:_LONGEST]))
    return found or tuple(_page_numbers(text))


def _page_numbers(text: str) -> Iterator[int]:
    """Return what a line's first and last word say as numbers."""
    words = text[:_LONGEST].split()
    for word in chain(words[:1], words[1:][-1:]):
        bare = word.strip(_EDGES)
        found = _PAGE_NUMBER.fullmatch(bare)
        if found:
            yield int(found[1])
        elif _ROMAN.fullmatch(bare):
            yield _roman(bare.lower())


def _roman(text: str) -> int:
    values = [_ROMAN_VALUE[letter] for letter in text]
    return sum(
        -value if value < following else value for value, following in zip(values, [*values[1:], 0], strict=True)
    )
