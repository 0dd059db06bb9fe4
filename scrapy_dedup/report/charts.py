"""Lengths and heights of bars and columns: text that was kept and text that was removed, pages and text a run."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from scrapy_dedup.report.numbers import short, whole
from scrapy_dedup.report.values import ReportDomain

_MOST_BARS = 12


def bars(domains: Sequence[ReportDomain]) -> list[ReportDomain]:
    """Return one bar for each of the largest domains, and one for all others together.

    Largest by text that came in, ties by name; a single left-over domain gets
    its own bar, since "1 other domain" takes as much room and says less.
    """
    ordered = sorted(domains, key=lambda figures: (-figures.chars_in, figures.domain))
    shown = len(ordered) if len(ordered) <= _MOST_BARS + 1 else _MOST_BARS
    found = ordered[:shown]
    if rest := ordered[shown:]:
        pages, chars_in, chars_out = (
            sum(getattr(each, figure) for each in rest) for figure in ("pages", "chars_in", "chars_out")
        )
        found.append(ReportDomain(f"{whole(len(rest))} other domains", pages, chars_in, chars_out, {}))
    return found


def width(part: int, longest: int) -> float:
    """Return how long a bar is, in percent of the room for the longest."""
    # Half a percent is about the least that can be seen on a phone.
    return max(100 * part / longest, 0.5) if part > 0 and longest > 0 else 0.0


def heights(numbers: Sequence[int]) -> list[float]:
    """Return how high small columns are, the highest 20 pixels."""
    most = max(*numbers, 1)
    # None and few must not look alike: what is there is at least two pixels high.
    return [max(2.0, 20 * number / most) if number else 0.0 for number in numbers]


HEIGHT: Final = 150
MOST_COLUMNS: Final = 60
_WIDEST: Final = 7.0  # percent: two runs are two columns, not two walls


class Series(Struct, frozen=True):
    """One part of each column, with a filling of the style sheet: `fill-` and new, changed, kept, removed."""

    name: str
    filling: str
    numbers: Sequence[int]


class ColumnPart(Struct, frozen=True):
    """A part of a column, in pixels from the top of the drawing."""

    filling: str
    y: float
    height: float


class Column(Struct, frozen=True):
    """A column with its figures in words; x and width are percent."""

    said: str
    x: float
    width: float
    parts: Sequence[ColumnPart]


class Columns(Struct, frozen=True):
    """Stacked columns with what is said of them all, the (name, filling) of their parts, and (y, number) of lines."""

    label: str
    names: Sequence[tuple[str, str]]
    lines: Sequence[tuple[float, str]]
    columns: Sequence[Column]
    height: int = HEIGHT


def columns(labels: Sequence[str], series: Sequence[Series], *, unit: str) -> Columns:
    """Return stacked columns, one a label, the first series at the bottom.

    *labels* are plain text, in order; each of the *series* has one number a label, in a *unit* such as "pages".
    """
    places = range(max(len(labels) - MOST_COLUMNS, 0), len(labels))
    totals = [sum(each.numbers[place] for each in series) for place in places]
    top, slot = _round_up(max(totals, default=0)), 100 / max(len(totals), 1)
    wide = min(slot * 0.7, _WIDEST)
    drawn = []
    for number, place in enumerate(places):
        told = ", ".join(f"{whole(each.numbers[place])} {each.name}" for each in series)
        drawn.append(
            Column(f"{labels[place]}: {told}", slot * number + (slot - wide) / 2, wide, _parts(series, place, top))
        )
    lines = [
        (HEIGHT + 12 - HEIGHT * share, short(round(top * share)).replace(".0", "") if share else "")
        for share in (0, 0.5, 1)
    ]
    label = f"{unit} a run, {len(totals)} runs: " + ", ".join(map(whole, totals))
    return Columns(label, [(each.name, each.filling) for each in series], lines, drawn)


def _parts(series: Sequence[Series], place: int, top: int) -> list[ColumnPart]:
    base, parts = float(HEIGHT + 12), []
    for each in series:
        number = each.numbers[place]
        if number > 0:
            # What is there is seen: two pixels at least.
            height = max(2.0, HEIGHT * number / top)
            base -= height
            parts.append(ColumnPart(each.filling, base, height))
    return parts


def _round_up(number: int) -> int:
    """Return the next number with one figure that is even, or 10, 20, 50 and so on: a scale that can be halved."""
    if number <= 2:
        return 2
    unit = int("1".ljust(len(str(number)), "0"))
    return next(unit * step for step in (1, 2, 4, 6, 8, 10) if unit * step >= number)
