"""How far independent witnesses agree on what a layout's content is: what was seen, what repeats, an extractor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any, Final, Self

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.observations import MOST_STEPS
from scrapy_dedup.core.path_looks import APART, NO_LOOKS, PathLooks
from scrapy_dedup.core.path_names import Folding
from scrapy_dedup.core.vision import SeenPage

NEEDS_RENDERING: Final = 0.5
"""Share of the seen text that scripts made."""
_NEARLY_EMPTY: Final = 200
_SHOWN: Final = 1_000


@dataclass(frozen=True, slots=True)
class Vision:
    """What a browser showed of a layout."""

    shown: int
    """Pages."""
    js_share: float
    """Share of the seen text that scripts made, mean of these pages."""
    needs_rendering: bool
    """Scripts made most of it, and next to nothing is there without them."""
    unseen: int = 0
    """Texts that no person sees, on all of them."""
    voices: Mapping[str, float] = field(default_factory=dict)
    """How far each two witnesses agree, 0.0 to 1.0, by their names."""

    def to_json(self) -> dict[str, Any]:
        """Return it as it is stored."""
        return {
            "shown": self.shown,
            "js_share": self.js_share,
            "needs_rendering": self.needs_rendering,
            "unseen": self.unseen,
            "voices": dict(self.voices),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> Self | None:
        """Read what `to_json` returned; None, as former versions have it, is None."""
        if stored is None:
            return None
        voices = {str(name): float(share) for name, share in stored["voices"].items()}
        return cls(
            int(stored["shown"]),
            float(stored["js_share"]),
            bool(stored["needs_rendering"]),
            int(stored["unseen"]),
            voices,
        )


def vision_of(pages: Sequence[SeenPage], voices: Mapping[str, float]) -> Vision:
    """Return what is kept of the pages of one layout that a browser showed; at least one."""
    js_share = round(fmean(page.js_share for page in pages), 3)
    is_empty = fmean(page.static_chars for page in pages) < _NEARLY_EMPTY
    return Vision(
        shown=len(pages),
        js_share=js_share,
        needs_rendering=js_share >= NEEDS_RENDERING and is_empty,
        unseen=min(_SHOWN, sum(len(page.unseen) for page in pages)),
        voices={name: round(share, 3) for name, share in voices.items()},
    )


class Sighted:
    """What the looks of some pages alone say of the blocks of another."""

    def __init__(self, pages: Sequence[Mapping[str, PathLooks]], folding: Folding) -> None:
        self._folding = folding
        self._looks: dict[str, PathLooks] = {}
        for page in pages:
            for path, there in page.items():
                for part in _parts(folding.path(path)):
                    known = self._looks.get(part, NO_LOOKS)
                    self._looks[part] = PathLooks(*map(int.__add__, known, there))

    def keeps(self, page: Page) -> list[bool | None]:
        """Return for each block whether it looks like content; None where nothing above it but body was seen."""
        known: dict[str, bool | None] = {}
        return [
            known[block.path] if block.path in known else known.setdefault(block.path, self._keep(block.path))
            for block in page.blocks
        ]

    def _keep(self, path: str) -> bool | None:
        for part in reversed(_parts(self._folding.path(path))[1:]):
            there = self._looks.get(part)
            if there is not None:
                return there.main >= APART * there.seen > 0
        return None


def _parts(path: str) -> list[str]:
    steps = path.split(">", MOST_STEPS)[:MOST_STEPS]
    return [">".join(steps[:depth]) for depth in range(1, len(steps) + 1)]


def agreements(page: Page, kept: Mapping[str, Sequence[bool | None]]) -> dict[str, tuple[int, int]]:
    """Return for each two witnesses the characters that both keep, and those that either does.

    Args:
        page: that they cut.
        kept: by witness, one value a block; None says nothing.
    """
    names = sorted(kept)
    found = {}
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            both = either = 0
            for block, mine, theirs in zip(page.blocks, kept[one], kept[other], strict=True):
                if mine is not None and theirs is not None:
                    both += len(block.text) * (mine and theirs)
                    either += len(block.text) * (mine or theirs)
            found[f"{one}, {other}"] = both, either
    return found


def confidence_of(voices: Mapping[str, float], presence: float, coverage: float) -> float:
    """Return how far a template taught by a browser is to be trusted: a rank, no probability.

    Args:
        voices: agreement of each two witnesses.
        presence: share of the text of pages that the template knows.
        coverage: share of it of which a browser has shown the like.
    """
    return round(median(voices.values()) * presence * coverage, 3) if voices else 0.0
