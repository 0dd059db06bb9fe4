"""When a text counts as repeated on its DOM path."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scrapy_dedup.core.observations import Observation


@dataclass(frozen=True, slots=True)
class RepeatShares:
    """When a text counts as repeated on its path. Each share of pages is met by whichever asks for fewer pages."""

    some: float = 0.3
    """Of all pages, for text that repeats."""
    some_of_layout: float = 0.6
    """The same of the pages that have its path: what one layout of several repeats."""
    most: float = 0.6
    """Of all pages, for text that is constant."""
    most_of_layout: float = 0.9
    fewest: int = 3
    """Constant text is on so many pages at least; what repeats, on two."""
    design: float = 0.05
    """Share of pages on which a class or id of the design stands."""


class Repeats:
    """On how many pages a text stands on one path, and what that means."""

    def __init__(
        self, observations: Sequence[Observation], folded: Sequence[Sequence[str]], shares: RepeatShares
    ) -> None:
        self.shares = shares
        self.pages = len(observations)
        self.texts: Counter[tuple[str, int]] = Counter()
        self.paths: Counter[str] = Counter()
        for seen, paths in zip(observations, folded, strict=True):
            self.paths.update(set(paths))
            self.texts.update({(paths[at], text) for at, text in zip(seen.at, seen.texts, strict=True)})

    def needed(self, path: str) -> tuple[float, float]:
        """Return on how many pages a text of this path repeats, and on how many it is constant."""
        shares, pages, have = self.shares, self.pages, self.paths[path]
        return (
            max(2, min(shares.some * pages, shares.some_of_layout * have)),
            max(shares.fewest, min(shares.most * pages, shares.most_of_layout * have)),
        )
