"""A domain's blocks in the order of its pages' times: what holds in all, and what holds since its last redesign."""

from typing import Final

from scrapy_dedup.core.bounded_counts import BoundedCounts
from scrapy_dedup.core.repeats import RepeatPolicy

EPOCH_PAGES: Final = 10_000
# An epoch's counts hold its blocks that no other page has; of merged counts those that are on many pages are enough.
_MOST_OF_EPOCH: Final = 40_000
_MOST_MERGED: Final = 20_000
_STAYS_SHARE: Final = 0.5
"""Of the blocks that repeat in one of two epochs or in both: fewer in both are two designs."""


class Epochs:
    """Counts of a domain by epochs of some thousand pages each.

    A block of a new design is on all pages of today long before it is on most pages of a history; and one of the old
    design still is on most pages of the history when no page has it any more.
    """

    def __init__(
        self, policy: RepeatPolicy, *, epoch_pages: int = EPOCH_PAGES, most_of_epoch: int = _MOST_OF_EPOCH
    ) -> None:
        self.policy = policy
        self.redesigns: list[int] = []
        """Numbers of the first pages of the epochs in which a new design was found."""
        self._epoch_pages = epoch_pages
        self._most_of_epoch = most_of_epoch
        self._earlier = BoundedCounts(_MOST_MERGED)
        """Of the epochs that are over."""
        self._since = BoundedCounts(_MOST_MERGED)
        """Of those among them that came after the last redesign."""
        self._epoch = BoundedCounts(most_of_epoch)
        self._repeating: frozenset[int] | None = None
        """What repeated in the last epoch."""
        self._was_redesign = False

    def add(self, fingerprints: list[int]) -> None:
        """Count one page."""
        self._epoch.add(fingerprints)
        if self._epoch.pages >= self._epoch_pages:
            self._end_epoch()

    def whole(self) -> BoundedCounts:
        """Return the counts of all pages."""
        return _merged(self._earlier, self._epoch)

    def today(self) -> BoundedCounts:
        """Return the counts of the pages since the last redesign, or of all where there was none."""
        return _merged(self._since, self._epoch)

    def _end_epoch(self) -> None:
        repeating = frozenset(self._epoch.boilerplate(self.policy).counts)
        is_redesign = self._repeating is not None and _differ(self._repeating, repeating)
        if is_redesign:
            self._since = BoundedCounts(_MOST_MERGED)
            # An epoch in which both designs were seen is like neither: its end is no redesign of its own.
            if not self._was_redesign:
                self.redesigns.append(self._earlier.pages)
        self._was_redesign = is_redesign
        self._repeating = repeating
        self._earlier.merge(self._epoch)
        self._since.merge(self._epoch)
        self._epoch = BoundedCounts(self._most_of_epoch)


def _merged(one: BoundedCounts, other: BoundedCounts) -> BoundedCounts:
    merged = BoundedCounts(one.most_blocks)
    merged.merge(one)
    merged.merge(other)
    return merged


def _differ(one: frozenset[int], other: frozenset[int]) -> bool:
    return len(one & other) < _STAYS_SHARE * len(one | other)
