"""Counting the blocks of a domain of any size in bounded memory, and what is certain all the same."""

from collections.abc import Iterable, Mapping

from scrapy_dedup.core.repeats import Boilerplate, RepeatPolicy

# So many go at least when there are too many: looking for them costs a look at all, which then is paid by as many more.
_FREED_SHARE = 0.25


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

        Args:
            policy: how many are enough.
            settled: exact counts of blocks that were in doubt; without its own a block is none: in doubt text stays.
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
