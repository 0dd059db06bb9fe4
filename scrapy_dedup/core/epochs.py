"""A domain's blocks in the order of its pages' times: what repeats on all, and what repeats between two redesigns."""

from collections.abc import Iterable, Mapping
from typing import Final

from scrapy_dedup.core.bounded_counts import BoundedCounts
from scrapy_dedup.core.repeats import Boilerplate, RepeatPolicy

EPOCH_PAGES: Final = 10_000
# Of a million pages with a hundred blocks each all counts together take 21 MB (benchmarks/large_domain.py).
MOST_BLOCKS: Final = 40_000
# An epoch's counts hold its blocks that no other page has; of merged counts those that are on many pages are enough.
_MERGED_SHARE: Final = 0.5
# Where a third of the blocks becomes others it is half. A section of ten thousand pages that is crawled in one go is a
# design, too: what is on most of its pages repeats.
_STAYS_SHARE: Final = 2 / 3
"""Of the blocks that repeat in one of two epochs or in both: fewer in both are two designs."""
# Fewer pages of an epoch that is not over say too little.
_JUDGED_SHARE: Final = 0.5


class Epochs:
    """Counts of a domain by epochs of some thousand pages each; with fewer pages, plain counts.

    A block of a new design is on all pages of today long before it is on most pages of a history; and one of the old
    design still is on most pages of the history when no page has it any more. So a block repeats that is on enough of
    all pages, or on enough of those of one design, of which there are half an epoch at least.
    """

    def __init__(self, policy: RepeatPolicy, *, epoch_pages: int = EPOCH_PAGES, most_blocks: int = MOST_BLOCKS) -> None:
        """Take how many pages an epoch has, and how many different blocks are held of it at most."""
        self.policy = policy
        self._epoch_pages = epoch_pages
        self._epoch = BoundedCounts(most_blocks)
        self._earlier = self._merging()
        """Of the epochs that are over."""
        self._since = self._merging()
        """Of those among them that came after the last redesign."""
        self._designs: list[Boilerplate[int]] = []
        """What repeated between two redesigns."""
        self._redesigns: list[int] = []
        self._repeating: frozenset[int] | None = None
        """What repeated in the last epoch."""
        self._was_redesign = False

    def add(self, fingerprints: Iterable[int]) -> None:
        """Count one page, which is not older than those before."""
        if self._epoch.pages >= self._epoch_pages:
            self._end_epoch()
        self._epoch.add(fingerprints)

    @property
    def redesigns(self) -> list[int]:
        """Numbers of the first pages of the epochs in which a new design was found."""
        is_new = self._begins_design() and not self._was_redesign
        return [*self._redesigns, self._earlier.pages] if is_new else list(self._redesigns)

    def doubtful(self) -> frozenset[int]:
        """Return the blocks of which it takes a second look to say whether they are on enough of all pages."""
        return self._with_epoch(self._earlier).doubtful(self.policy)

    def boilerplate(self, settled: Mapping[int, int] | None = None) -> Boilerplate[int]:
        """Return the blocks that repeat on all pages or on those of a design; *settled* as `BoundedCounts` takes it."""
        whole = self._with_epoch(self._earlier).boilerplate(self.policy, settled)
        before = [self._since.boilerplate(self.policy)] if self._begins_design() else []
        designs = [*self._designs, *before]
        if not designs:
            return whole
        counts, of_design = dict(whole.counts), {}
        for design in (*designs, self.latest()):
            for key, count in design.counts.items():
                if key not in whole.counts and count > counts.get(key, 0):
                    counts[key], of_design[key] = count, design.pages
        return Boilerplate(whole.pages, {key: counts[key] for key in sorted(counts)}, whole.blocks_total, of_design)

    def latest(self) -> Boilerplate[int]:
        """Return what repeats on the pages since the last redesign, or on all where there was none."""
        counts = self._epoch if self._begins_design() else self._with_epoch(self._since)
        return counts.boilerplate(self.policy)

    def _begins_design(self) -> bool:
        """Say whether the epoch that is not over is of another design than the one before."""
        is_judged = self._repeating is not None and self._epoch.pages >= _JUDGED_SHARE * self._epoch_pages
        return is_judged and self._differs(frozenset(self._epoch.boilerplate(self.policy).counts))

    def _differs(self, repeating: frozenset[int]) -> bool:
        before = self._repeating
        return before is not None and len(before & repeating) < _STAYS_SHARE * len(before | repeating)

    def _end_epoch(self) -> None:
        repeating = frozenset(self._epoch.boilerplate(self.policy).counts)
        is_redesign = self._differs(repeating)
        if is_redesign:
            self._designs.append(self._since.boilerplate(self.policy))
            self._since = self._merging()
            # An epoch in which both designs were seen is like neither: its end is no redesign of its own.
            if not self._was_redesign:
                self._redesigns.append(self._earlier.pages)
        self._was_redesign = is_redesign
        self._repeating = repeating
        self._earlier.merge(self._epoch)
        self._since.merge(self._epoch)
        self._epoch = BoundedCounts(self._epoch.most_blocks)

    def _with_epoch(self, earlier: BoundedCounts) -> BoundedCounts:
        if not earlier.pages:
            return self._epoch
        merged = self._merging()
        merged.merge(earlier)
        merged.merge(self._epoch)
        return merged

    def _merging(self) -> BoundedCounts:
        return BoundedCounts(int(self._epoch.most_blocks * _MERGED_SHARE))
