"""Running headers, footers and page numbers: what comes back on page after page at one height."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import chain, pairwise
from typing import Final

from msgspec import Struct

from scrapy_dedup.core.pdf.lines import PageLines, PdfLine, body_size, is_turned, joined, rows_of

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
    """Return stretches of rows on near-by pages, long enough to be running lines.

    Args:
        rows: at least one, by pages.
        in_step: numbers must stay, or go on as the pages do.
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
