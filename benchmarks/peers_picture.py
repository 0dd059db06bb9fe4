"""Draw F1 by method, mean and every site, as one SVG from the results of `benchmarks.beside_peers`.

It follows the reader's light or dark mode, needs no script and no font but the reader's own.
"""

import argparse
import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

WIDTH = 760
LEFT, RIGHT, TOP, ROW = 150, 74, 64, 46
AXIS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
OURS = "scrapy_dedup"
NAMES = {OURS: "scrapy-dedup", "fallback": "its fallback"}

# The report's colours.
STYLE = """
text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: #1d2125; }
.ground { fill: #fbfaf7; } .soft { fill: #5a6169; font-size: 12.5px; } .title { font-size: 16px; font-weight: 650; }
.grid { stroke: #e2dfd8; } .bar { fill: #a9b1b0; } .bar.ours { fill: #17716a; } .strong { font-weight: 650; }
.site { fill: #1d2125; fill-opacity: .55; }
@media (prefers-color-scheme: dark) {
  text { fill: #e7e5e0; } .ground { fill: #14171a; } .soft { fill: #a3a9b0; } .grid { stroke: #30363c; }
  .bar { fill: #5b6469; } .bar.ours { fill: #2f8f85; } .site { fill: #e7e5e0; fill-opacity: .6; }
}
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A method: its mean, and its sites from worst to best."""

    name: str
    mean: float
    sites: tuple[float, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("results", type=Path, help="JSON of benchmarks.beside_peers")
    parser.add_argument("svg", type=Path)
    args = parser.parse_args()
    args.svg.write_text(draw(rows_in(json.loads(args.results.read_text())["figures"])), encoding="utf-8")


def rows_in(figures: dict[str, Any]) -> list[Row]:
    """Return the methods, the best first; sites whose truth is disputed are left out, as they are of the mean."""
    counted = [found for site, found in figures["sites"].items() if site not in figures["doubtful"]]
    rows = [
        Row(name, float(each["f1"]), tuple(sorted(float(found[name]["f1"]) for found in counted)))
        for name, each in figures["mean"].items()
    ]
    return sorted(rows, key=lambda row: (-row.mean, row.name))


def opened(title: str, told: str, size: tuple[int, int], style: str = "") -> str:
    """Return the beginning of a picture: its names for who sees and who hears it, and its ground."""
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="title told"><title id="title">{escape(title)}</title>'
        f'<desc id="told">{escape(told)}</desc><style>{STYLE}{style}</style>\n'
        f'<rect class="ground" width="{width}" height="{height}" rx="10"/>\n'
        f'<text class="title" x="24" y="32">{escape(title)}</text>'
    )


def draw(rows: list[Row]) -> str:
    """Return the picture: a bar for the mean of each method, a dot for each of its sites."""
    height = TOP + ROW * len(rows) + 40
    sites = len(rows[0].sites)
    told = "; ".join(f"{row.name} {row.mean:.3f}, worst site {row.sites[0]:.3f}" for row in rows)
    title = f"Words of the main content: F1, mean of {sites} real sites"
    parts = [
        opened(title, told, (WIDTH, height)),
        '<text class="soft" x="24" y="51">Bar: the mean. Dots: the sites, each with up to 200 pages.</text>',
    ]
    bottom = TOP + ROW * len(rows) + 8
    for value in AXIS:
        x = _x(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP + 4}" y2="{bottom}"/>')
        parts.append(f'<text class="soft" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{value:.1f}</text>')
    parts += [part for place, row in enumerate(rows) for part in _row(row, TOP + 12 + ROW * place)]
    return "\n".join([*parts, "</svg>\n"])


def _row(row: Row, y: int) -> list[str]:
    ours = row.name == OURS
    name = NAMES.get(row.name, row.name)
    strong = ' class="strong"' if ours else ""
    dots = "".join(f'<circle class="site" cx="{_x(value):.1f}" cy="{y + 27}" r="2.4"/>' for value in row.sites)
    return [
        f'<text{strong} x="{LEFT - 12}" y="{y + 15}" text-anchor="end">{escape(name)}</text>',
        (
            f'<rect class="bar{" ours" if ours else ""}" x="{LEFT}" y="{y + 2}" width="{_x(row.mean) - LEFT:.1f}" '
            f'height="17" rx="3"/>'
        ),
        dots,
        f'<text{strong} x="{WIDTH - RIGHT + 16}" y="{y + 15}">{row.mean:.3f}</text>',
    ]


def _x(value: float) -> float:
    return LEFT + (WIDTH - RIGHT - LEFT) * max(0.0, min(1.0, value))


if __name__ == "__main__":
    main()
