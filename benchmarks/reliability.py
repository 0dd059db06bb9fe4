"""Draw how far the model's probabilities are true of sites that it was not trained on, as one SVG and a table.

Each site is judged by a model trained without its fold, calibrated as the shipped one is. Of the text to which a tenth
of the scale of probability was given, how much is content? On the diagonal they say what is so.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.marked_sites import Floats, read_folders
from benchmarks.marked_texts import marked_texts
from benchmarks.peers_picture import opened
from benchmarks.train import LeftOut, calibrated, domains_of, left_out

_SHOWN: Final = {60: "60 pages known", 5: "5 pages", 1: "the page by itself"}
_BINS: Final = 10
_SIZE: Final = 420
_LEFT, _TOP = 74, 74
_COLOURS: Final = {60: "#17716a", 5: "#b07d2b", 1: "#8a4f7d"}


@dataclass(frozen=True, slots=True)
class Bin:
    """Text of a tenth of the scale."""

    said: float
    """Mean probability of being content."""
    true: float
    """Share of it that is content."""
    share: float
    """Of all text."""


def bins_of(likely: Floats, true: Floats, weights: Floats) -> list[Bin]:
    """Return the tenths of the scale in which there is text."""
    place = np.minimum((likely * _BINS).astype(int), _BINS - 1)
    found = []
    for number in range(_BINS):
        here = place == number
        weight = weights[here]
        if weight.sum() > 0:
            said, so = (float(np.average(values[here], weights=weight)) for values in (likely, true))
            found.append(Bin(said, so, float(weight.sum() / weights.sum())))
    return found


def distance(bins: list[Bin]) -> float:
    """Return the expected calibration error: how far what is said is from what is so, mean of the text."""
    return sum(one.share * abs(one.said - one.true) for one in bins)


def reliability(found: LeftOut) -> dict[int, list[Bin]]:
    """Return the bins by how many pages were known."""
    scale, shift = calibrated(found)
    likely = 1 / (1 + np.exp(-(scale * found.odds + shift)))
    return {
        pages: bins_of(likely[of], found.true[of], found.weights[of])
        for pages in _SHOWN
        if (of := found.drawn == pages).any()
    }


def draw(series: dict[int, list[Bin]]) -> str:
    """Return the picture: a line for each number of known pages; the larger a dot, the more text."""
    width, height = _LEFT + _SIZE + 220, _TOP + _SIZE + 60
    title = "What the model says, and what is so, on sites left out of its training"
    told = "; ".join(f"{_SHOWN[pages]}: {distance(bins):.3f} off on average" for pages, bins in series.items())
    parts = [
        opened(title, told, (width, height)),
        '<text class="soft" x="24" y="52">By the probability that text is content. Larger dots: more text.</text>',
    ]
    for tenth in range(0, 11, 2):
        x, y = _at(tenth / 10, tenth / 10)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_TOP + _SIZE}"/>')
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _SIZE}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="soft" x="{x:.1f}" y="{_TOP + _SIZE + 18}" text-anchor="middle">{tenth / 10:.1f}</text>'
        )
        parts.append(f'<text class="soft" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>')
    (x1, y1), (x2, y2) = _at(0, 0), _at(1, 1)
    parts.append(f'<line stroke="#8a9094" stroke-dasharray="5 5" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>')
    parts.append(
        f'<text class="soft" x="{_LEFT + _SIZE / 2}" y="{height - 14}" text-anchor="middle">what it says</text>'
    )
    middle = f'x="24" y="{_TOP + _SIZE / 2}"'
    turned = f'transform="rotate(-90 24 {_TOP + _SIZE / 2})"'
    parts.append(f'<text class="soft" {middle} {turned} text-anchor="middle">what is so</text>')
    for place, (pages, bins) in enumerate(series.items()):
        points = [(*_at(one.said, one.true), one.share) for one in bins]
        colour = _COLOURS[pages]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{line}"/>')
        parts += [
            f'<circle fill="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{2.5 + 14 * share**0.5:.1f}" fill-opacity=".75"/>'
            for x, y, share in points
        ]
        y, x = _TOP + 18 + 44 * place, _LEFT + _SIZE + 28
        parts.append(f'<circle fill="{colour}" cx="{x}" cy="{y - 5}" r="6"/>')
        parts.append(f'<text x="{x + 14}" y="{y}">{_SHOWN[pages]}</text>')
        parts.append(f'<text class="soft" x="{x + 14}" y="{y + 18}">{distance(bins):.3f} off on average</text>')
    return "\n".join([*parts, "</svg>\n"])


def _at(said: float, true: float) -> tuple[float, float]:
    return _LEFT + _SIZE * said, _TOP + _SIZE * (1 - true)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="+", help="folders of sites, each with manifest.json")
    parser.add_argument("--single-pages", type=Path, help="folder of sets of single pages, as for the training")
    parser.add_argument("--to", type=Path, default=Path("docs/reliability.svg"))
    args = parser.parse_args()
    texts = list(marked_texts(args.single_pages)) if args.single_pages else []
    series = reliability(left_out(domains_of(read_folders(args.folders), texts)))
    for pages, bins in series.items():
        print(f"{_SHOWN[pages]}: {distance(bins):.3f} off on average")
        for one in bins:
            print(f"  said {one.said:.2f}  so {one.true:.2f}  of {one.share:5.1%} of the text")
    args.to.write_text(draw(series), encoding="utf-8")


if __name__ == "__main__":
    main()
