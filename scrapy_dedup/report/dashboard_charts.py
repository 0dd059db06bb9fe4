"""Columns over runs, as SVG that shrinks with its column: places are percentages, heights are pixels."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from scrapy_dedup.report.markup import Html, attribute, joined
from scrapy_dedup.report.numbers import short, whole

HEIGHT: Final = 150
MOST_COLUMNS: Final = 60
_WIDEST: Final = 7.0  # percent: two runs are two columns, not two walls


@dataclass(frozen=True, slots=True)
class Series:
    """One part of each column, with a filling of the style sheet: `fill-` and new, changed, kept, removed."""

    name: str
    filling: str
    numbers: Sequence[int]


def columns_chart(labels: Sequence[str], series: Sequence[Series], *, unit: str) -> Html:
    """Return stacked columns, one a label, the first series at the bottom; a table beside it says the same.

    Args:
        labels: what each column is, in order; plain text.
        series: each with one number a label.
        unit: of the numbers, such as "pages".
    """
    first = max(len(labels) - MOST_COLUMNS, 0)
    totals = [sum(each.numbers[place] for each in series) for place in range(first, len(labels))]
    top = _round_up(max(totals, default=0))
    slot = 100 / max(len(totals), 1)
    columns = [
        _column(series, first + place, slot, place, top, _said(labels[first + place], series, first + place))
        for place in range(len(totals))
    ]
    label = attribute(f"{unit} a run, {len(totals)} runs: " + ", ".join(map(whole, totals)), 600)
    return Html(
        f'<svg class="columns-chart" width="100%" height="{HEIGHT + 14}" role="img" aria-label="{label}">\n'
        f"{_lines(top)}\n{joined(columns)}\n</svg>\n{_legend(series)}"
    )


def _column(series: Sequence[Series], index: int, slot: float, place: int, top: int, said: str) -> Html:
    width = min(slot * 0.7, _WIDEST)
    x = slot * place + (slot - width) / 2
    base, parts = float(HEIGHT + 12), []
    for each in series:
        number = each.numbers[index]
        # What is there is seen: two pixels at least.
        height = max(2.0, HEIGHT * number / top) if number > 0 and top else 0.0
        base -= height
        if height:
            parts.append(
                f'<rect class="fill-{escape(each.filling)}" x="{x:.2f}%" y="{base:.1f}" width="{width:.2f}%" '
                f'height="{height:.1f}" rx="1.5"/>'
            )
    return Html(f"<g><title>{escape(said)}</title>{''.join(parts)}</g>")


def _said(label: str, series: Sequence[Series], index: int) -> str:
    return f"{label}: " + ", ".join(f"{whole(each.numbers[index])} {each.name}" for each in series)


def _lines(top: int) -> Html:
    lines = []
    for share in (0.0, 0.5, 1.0):
        y = HEIGHT + 12 - HEIGHT * share
        lines.append(f'<line class="line" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        if share and top:
            lines.append(f'<text x="0" y="{y - 3:.1f}">{escape(short(round(top * share)).replace(".0", ""))}</text>')
    return Html("".join(lines))


def _round_up(number: int) -> int:
    """Return the next number with one figure that is even, or 10, 20, 50 and so on: a scale that can be halved."""
    if number <= 2:
        return 2
    unit = int("1".ljust(len(str(number)), "0"))
    return next(unit * step for step in (1, 2, 4, 6, 8, 10) if unit * step >= number)


def _legend(series: Sequence[Series]) -> Html:
    shown = " ".join(
        f'<span><svg width="14" height="14" aria-hidden="true"><rect class="fill-{escape(each.filling)}" width="14" '
        f'height="14" rx="3"/></svg> {escape(each.name)}</span>'
        for each in series
    )
    return Html(f'<p class="legend">{shown}</p>')
