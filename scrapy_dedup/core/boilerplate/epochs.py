"""A domain's blocks in the order of its pages' times: what repeats on all, and what repeats between two redesigns."""

from collections.abc import Iterable, Mapping
from typing import Final

from scrapy_dedup.core.boilerplate.repeats import Boilerplate, RepeatPolicy

# So many go at least when there are too many: looking for them costs a look at all, which then is paid by as many more.
_FREED_SHARE = 0.25

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


class BoundedCounts:
    """On how many pages each block was, as two bounds; blocks that are on few pages are forgotten.

    Exact up to *most_blocks* different blocks. Beyond, those that were on the fewest pages are forgotten, and `floor`
    says on how many pages a forgotten block may have been. One that comes back is counted on with that doubt, so that
    its true count is never outside of its bounds. A block that has enough pages by the lower bound is boilerplate for
    certain; one that has not by the upper is none for certain; the others, mostly none at all, are in doubt: a second
    look at the pages counts these few exactly.

    Pruning is harmless because nothing is decided by what was forgotten as long as the floor is below what a policy
    needs: the floor grows by about one page for each 0.75 * most_blocks blocks that are met and never come again, so
    that a million pages with 45 such blocks each raise it to some 750, where 700,000 are needed.

    Source: Manku and Motwani 2002, Approximate frequency counts over data streams (lossy counting); the bound of the
    memory instead of the error as in Metwally et al. 2005 (space saving).
    """

    def __init__(self, most_blocks: int) -> None:
        """Take how many blocks are held at most; each takes up to 250 bytes."""
        self.most_blocks = most_blocks
        self.pages = 0
        self.floor = 0
        """A block that is not held was on at most so many pages."""
        self._counts: dict[int, int] = {}
        """Of the blocks that are held: pages that were surely counted."""
        self._missed: dict[int, int] = {}
        """Of some of them: how many pages more there may be."""
        self._forgotten = 0

    def __len__(self) -> int:
        """Return how many blocks are held."""
        return len(self._counts)

    def add(self, fingerprints: Iterable[int]) -> None:
        """Count one page; a block that it has twice counts once."""
        self.pages += 1
        counts = self._counts
        for key in set(fingerprints):
            known = counts.get(key)
            if known is None:
                counts[key] = 1
                if self.floor:
                    self._missed[key] = self.floor
            else:
                counts[key] = known + 1
        self._prune()

    def merge(self, other: "BoundedCounts") -> None:
        """Add what was counted of other pages; the bounds hold for all of them."""
        for key in self._counts.keys() | other._counts.keys():  # noqa: SLF001 (one of us)
            low, high = self.bounds(key)
            lower, higher = other.bounds(key)
            self._counts[key] = low + lower
            missed = high - low + higher - lower
            if missed:
                self._missed[key] = missed
        self.pages += other.pages
        self.floor += other.floor
        self._forgotten += other._forgotten  # noqa: SLF001 (one of us)
        self._prune()

    def bounds(self, key: int) -> tuple[int, int]:
        """Return on how many pages a block was, at least and at most."""
        low = self._counts.get(key)
        return (0, self.floor) if low is None else (low, low + self._missed.get(key, 0))

    def doubtful(self, policy: RepeatPolicy) -> frozenset[int]:
        """Return the blocks of which it takes a second look to say whether they are on enough pages."""
        if self.pages < policy.min_pages:
            return frozenset()
        needed = policy.needed(self.pages)
        return frozenset(
            key for key, missed in self._missed.items() if self._counts[key] < needed <= self._counts[key] + missed
        )

    def boilerplate(self, policy: RepeatPolicy, settled: Mapping[int, int] | None = None) -> Boilerplate[int]:
        """Return the blocks that are on enough pages for certain; none while there are fewer pages than are needed.

        *settled* are exact counts of blocks that were in doubt; without its own a block is none: in doubt text stays.
        """
        total = len(self._counts) + self._forgotten
        if self.pages < policy.min_pages:
            return Boilerplate(self.pages, {}, total)
        needed = policy.needed(self.pages)
        exact = settled or {}
        found = {key: max(count, exact.get(key, 0)) for key, count in self._counts.items()}
        return Boilerplate(self.pages, {key: found[key] for key in sorted(found) if found[key] >= needed}, total)

    def _prune(self) -> None:
        """Forget those that were on the fewest pages, a quarter of all at least, once there are too many."""
        if len(self._counts) <= self.most_blocks:
            return
        missed = self._missed
        most = sorted(count + missed.get(key, 0) for key, count in self._counts.items())
        # All that may have been on as many pages go, too: which of them does, no order could say.
        self.floor = max(self.floor, most[int((len(most) - 1) * _FREED_SHARE)], most[len(most) - self.most_blocks - 1])
        rare = [key for key, count in self._counts.items() if count + missed.get(key, 0) <= self.floor]
        for key in rare:
            del self._counts[key]
            missed.pop(key, None)
        self._forgotten += len(rare)


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
