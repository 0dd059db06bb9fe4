"""A domain's blocks in the order of its pages' times: what repeats on all, and what repeats between two redesigns."""

from collections.abc import Iterable, Mapping
from typing import Final

from scrapy_dedup.core.bounded_counts import MOST_BLOCKS, BoundedCounts
from scrapy_dedup.core.repeats import Boilerplate, RepeatPolicy

EPOCH_PAGES: Final = 10_000
# An epoch's counts hold its blocks that no other page has; of merged counts those that are on many pages are enough.
_MERGED_SHARE: Final = 0.5
# Where a third of the blocks becomes others it is half. A new section that is taken for a design costs nothing: its
# blocks repeat on ten thousand pages.
_STAYS_SHARE: Final = 2 / 3
"""Of the blocks that repeat in one of two epochs or in both: fewer in both are two designs."""


class Epochs:
    """Counts of a domain by epochs of some thousand pages each; with fewer pages, plain counts.

    A block of a new design is on all pages of today long before it is on most pages of a history; and one of the old
    design still is on most pages of the history when no page has it any more. So a block repeats that is on enough of
    all pages, or on enough of those of one design.
    """

    def __init__(self, policy: RepeatPolicy, *, epoch_pages: int = EPOCH_PAGES, most_blocks: int = MOST_BLOCKS) -> None:
        """Take how many pages an epoch has, and how many different blocks are held at most of one count."""
        self.policy = policy
        self.redesigns: list[int] = []
        """Numbers of the first pages of the epochs in which a new design was found."""
        self._epoch_pages = epoch_pages
        self._epoch = BoundedCounts(most_blocks // 2)
        self._earlier = self._merging()
        """Of the epochs that are over."""
        self._since = self._merging()
        """Of those among them that came after the last redesign."""
        self._designs: list[Boilerplate[int]] = []
        """What repeated between two redesigns."""
        self._repeating: frozenset[int] | None = None
        """What repeated in the last epoch."""
        self._was_redesign = False

    def add(self, fingerprints: Iterable[int]) -> None:
        """Count one page, which is not older than those before."""
        if self._epoch.pages >= self._epoch_pages:
            self._end_epoch()
        self._epoch.add(fingerprints)

    def doubtful(self) -> frozenset[int]:
        """Return the blocks of which it takes a second look to say whether they are on enough of all pages."""
        return self._whole().doubtful(self.policy)

    def boilerplate(self, settled: Mapping[int, int] | None = None) -> Boilerplate[int]:
        """Return the blocks that repeat on all pages or on those of a design; *settled* as `BoundedCounts` takes it."""
        whole = self._whole().boilerplate(self.policy, settled)
        if not self.redesigns:
            return whole
        counts = dict(whole.counts)
        for design in (*self._designs, self.latest()):
            for key, count in design.counts.items():
                counts[key] = max(count, counts.get(key, 0))
        return Boilerplate(whole.pages, {key: counts[key] for key in sorted(counts)}, whole.blocks_total)

    def latest(self) -> Boilerplate[int]:
        """Return what repeats on the pages since the last redesign, or on all where there was none."""
        return self._with_epoch(self._since).boilerplate(self.policy)

    def _whole(self) -> BoundedCounts:
        return self._with_epoch(self._earlier)

    def _with_epoch(self, earlier: BoundedCounts) -> BoundedCounts:
        if not earlier.pages:
            return self._epoch
        merged = self._merging()
        merged.merge(earlier)
        merged.merge(self._epoch)
        return merged

    def _merging(self) -> BoundedCounts:
        return BoundedCounts(int(self._epoch.most_blocks * _MERGED_SHARE))

    def _end_epoch(self) -> None:
        repeating = frozenset(self._epoch.boilerplate(self.policy).counts)
        is_redesign = self._repeating is not None and _differ(self._repeating, repeating)
        if is_redesign:
            self._designs.append(self._since.boilerplate(self.policy))
            self._since = self._merging()
            # An epoch in which both designs were seen is like neither: its end is no redesign of its own.
            if not self._was_redesign:
                self.redesigns.append(self._earlier.pages)
        self._was_redesign = is_redesign
        self._repeating = repeating
        self._earlier.merge(self._epoch)
        self._since.merge(self._epoch)
        self._epoch = BoundedCounts(self._epoch.most_blocks)


def _differ(one: frozenset[int], other: frozenset[int]) -> bool:
    return len(one & other) < _STAYS_SHARE * len(one | other)
