"""Is a learned template at least as good as a page-at-a-time extractor, on pages that it did not learn from?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scrapy_dedup.core.blocks import Block

# Of the text that is at stake; extractors differ by as much in where they end a page.
_TOLERANCE: Final = 0.02
# A block on so large a share of the site's pages says nothing about one of them.
_OFTEN: Final = 0.5
# Links are text, but rarely what a page is about.
_LINK_WEIGHT: Final = 0.25


@dataclass(frozen=True, slots=True)
class Trial:
    """Two cuts of some pages beside each other, in characters; links count a quarter."""

    pages: int = 0
    lost: float = 0.0
    """Text of one page alone that the extractor keeps and the template drops."""
    won: float = 0.0
    """Text of one page alone that the template keeps and the extractor drops."""
    noise: float = 0.0
    """Text of most pages that the template keeps and the extractor drops."""
    cleared: float = 0.0
    """Text of most pages that the extractor keeps and the template drops."""
    common: float = 0.0
    """Text that both keep."""

    @property
    def passed(self) -> bool:
        """Whether the template is at least as good; without pages nothing is shown."""
        return self.pages > 0 and self.lost + self.noise <= self.won + self.cleared + _TOLERANCE * self.common

    @property
    def agreement(self) -> float:
        """Share of the text kept by either that both keep, 0.0 to 1.0."""
        either = self.common + self.lost + self.won + self.noise + self.cleared
        return self.common / either if either else 1.0

    @property
    def evidence(self) -> str:
        """The outcome in words."""
        if not self.pages:
            return "not tried: no page was held back"
        pages = f"{self.pages} held-back page{'s' if self.pages > 1 else ''}"
        sums = f"{self.lost + self.noise:.0f} characters worse, {self.won + self.cleared:.0f} better than the fallback"
        return f"{'passed' if self.passed else 'failed'} on {pages}: {sums}"

    def __add__(self, other: "Trial") -> "Trial":
        """Return both together."""
        return Trial(
            self.pages + other.pages,
            self.lost + other.lost,
            self.won + other.won,
            self.noise + other.noise,
            self.cleared + other.cleared,
            self.common + other.common,
        )


def try_out(
    blocks: Sequence[Block],
    ours: Iterable[bool],
    theirs: Iterable[bool],
    pages_with: Mapping[int, int],
    pages: int,
) -> Trial:
    """Compare two cuts of one page.

    Args:
        blocks: of the page.
        ours: for each whether the template keeps it.
        theirs: for each whether the extractor does.
        pages_with: block fingerprint to the number of other pages that have it; others have none.
        pages: how many those pages are.
    """
    lost = won = noise = cleared = common = 0.0
    for block, our, their in zip(blocks, ours, theirs, strict=True):
        weight = len(block.text) - (1 - _LINK_WEIGHT) * min(block.link_chars, len(block.text))
        if our and their:
            common += weight
        elif our != their:
            often = pages_with.get(block.fingerprint, 0) >= max(2, _OFTEN * pages)
            if our:
                noise, won = (noise + weight, won) if often else (noise, won + weight)
            else:
                cleared, lost = (cleared + weight, lost) if often else (cleared, lost + weight)
    return Trial(1, lost, won, noise, cleared, common)
