"""Draw what a page costs as the work grows, in time and in memory, as one SVG with logarithmic axes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10
from typing import Final

from benchmarks.peers_picture import opened

WIDTH: Final = 760
HEIGHT: Final = 330
_LEFT, _GAP, _TOP, _BOTTOM, _RIGHT = 64, 76, 84, 262, 28
_PANEL: Final = (WIDTH - _LEFT - _GAP - _RIGHT) / 2
LINE: Final = """
.line { fill: none; stroke: #17716a; stroke-width: 2.5; } .dot { fill: #17716a; }
@media (prefers-color-scheme: dark) { .line { stroke: #2f8f85; } .dot { fill: #2f8f85; } }
"""


@dataclass(frozen=True, slots=True)
class Point:
    """One crawl: how many pages, and what it cost."""

    pages: int
    cpu_ms_a_page: float
    peak_mb: float

    @property
    def memory_kb_a_page(self) -> float:
        """Peak memory of the process, divided by its pages."""
        return 1000 * self.peak_mb / self.pages


def draw(points: Sequence[Point]) -> str:
    """Return the picture: CPU time and memory a page over the number of pages."""
    ordered = sorted(points, key=lambda point: point.pages)
    title = "Cost of a page as the work grows"
    told = "; ".join(
        f"{point.pages:,} pages: {point.cpu_ms_a_page:.1f} ms CPU and {point.memory_kb_a_page:.2g} kB of memory a page,"
        f" {point.peak_mb:.0f} MB in all"
        for point in ordered
    )
    parts = [
        opened(title, told, (WIDTH, HEIGHT), LINE),
        '<text class="soft" x="24" y="51">One crawl, whole process; both axes are logarithmic.</text>',
        *_panel(ordered, _LEFT, "CPU, ms a page", lambda point: point.cpu_ms_a_page),
        *_panel(ordered, _LEFT + _PANEL + _GAP, "Peak memory, kB a page", lambda point: point.memory_kb_a_page),
    ]
    return "\n".join([*parts, "</svg>\n"])


def _panel(points: Sequence[Point], left: float, label: str, value: Callable[[Point], float]) -> Iterator[str]:
    across = _decades([float(point.pages) for point in points])
    upward = _decades([value(point) for point in points])
    yield f'<text class="strong" x="{left:.0f}" y="{_TOP - 10}">{escape(label)}</text>'
    for power in range(upward[0], upward[1] + 1):
        y = _place(10.0**power, upward, _BOTTOM, _TOP)
        yield f'<line class="grid" x1="{left:.1f}" x2="{left + _PANEL:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="soft" x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
    for power in range(across[0], across[1] + 1):
        x = _place(10.0**power, across, left, left + _PANEL)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_BOTTOM}"/>'
        yield f'<text class="soft" x="{x:.1f}" y="{_BOTTOM + 20}" text-anchor="middle">{_short(10**power)}</text>'
    middle = left + _PANEL / 2
    yield f'<text class="soft" x="{middle:.1f}" y="{_BOTTOM + 42}" text-anchor="middle">pages of the crawl</text>'
    places = [
        (
            _place(float(point.pages), across, left, left + _PANEL),
            _place(value(point), upward, _BOTTOM, _TOP),
            value(point),
        )
        for point in points
    ]
    yield f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)}"/>'
    for at, (x, y, number) in enumerate(places):
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        # Left of the first one are the axis's own numbers.
        anchor, shift = ("middle", 0) if at else ("start", 4)
        # Above the highest ones stands what the panel shows.
        of_number = y + 18 if y < _TOP + 20 else y - 9
        yield f'<text class="soft" x="{x + shift:.1f}" y="{of_number:.1f}" text-anchor="{anchor}">{number:.3g}</text>'


def _decades(numbers: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten around some numbers; never the same one twice."""
    low, high = floor(log10(min(numbers))), -floor(-log10(max(numbers)))
    return low, max(high, low + 1)


def _place(number: float, decades: tuple[int, int], begin: float, end: float) -> float:
    return begin + (end - begin) * (log10(number) - decades[0]) / (decades[1] - decades[0])


def _short(number: int) -> str:
    return f"{number // 1_000_000}M" if number >= 1_000_000 else f"{number:,}"
