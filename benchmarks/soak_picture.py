"""Draw what a process and its store are while it crawls a site again and again, as one SVG."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Final

from benchmarks.growth_picture import LINE
from benchmarks.peers_picture import opened

WIDTH: Final = 760
HEIGHT: Final = 200
_TOP, _BOTTOM, _LEFT, _PANEL, _STEP = 84, 158, 40, 140, 180
Crawl = Mapping[str, float]
PANELS: Final[tuple[tuple[str, Callable[[Crawl], float]], ...]] = (
    ("Memory, MB", lambda crawl: crawl["memory_mb"]),
    ("Descriptors", lambda crawl: crawl["descriptors"]),
    ("Store, MB", lambda crawl: crawl["store_mb"]),
    ("Pages a CPU second", lambda crawl: crawl["pages"] / crawl["cpu_seconds"]),
)


def draw(crawls: Sequence[Crawl]) -> str:
    """Return the picture: a panel each, from zero, over the minutes."""
    title = "One process crawls a changing site again and again"
    told = "; ".join(
        f"{name}: {value(crawls[0]):.3g} at first, {value(crawls[-1]):.3g} at last" for name, value in PANELS
    )
    minutes = crawls[-1]["minutes"]
    said = f"{len(crawls)} crawls in {minutes:.0f} minutes; left to right, from zero."
    parts = [opened(title, told, (WIDTH, HEIGHT), LINE), f'<text class="soft" x="24" y="51">{escape(said)}</text>']
    for place, (name, value) in enumerate(PANELS):
        parts += _panel(crawls, _LEFT + place * _STEP, name, value)
    return "\n".join([*parts, "</svg>\n"])


def _panel(crawls: Sequence[Crawl], left: float, label: str, value: Callable[[Crawl], float]) -> Iterator[str]:
    highest, last = max(map(value, crawls)), crawls[-1]["minutes"]
    points = [
        f"{left + _PANEL * crawl['minutes'] / last:.1f},{_BOTTOM - (_BOTTOM - _TOP) * value(crawl) / highest:.1f}"
        for crawl in crawls
    ]
    yield f'<text class="strong" x="{left}" y="{_TOP - 10}">{escape(label)}</text>'
    for y in (_TOP, _BOTTOM):
        yield f'<line class="grid" x1="{left}" x2="{left + _PANEL}" y1="{y}" y2="{y}"/>'
    yield f'<text class="soft" x="{left - 6}" y="{_TOP + 4}" text-anchor="end">{highest:.3g}</text>'
    yield f'<polyline class="line" points="{" ".join(points)}"/>'
    yield f'<text class="soft" x="{left + _PANEL}" y="{_BOTTOM + 20}" text-anchor="end">{value(crawls[-1]):.3g}</text>'
