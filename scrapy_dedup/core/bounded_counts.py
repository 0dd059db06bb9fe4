"""Counting the blocks of a domain of any size in bounded memory."""

from collections.abc import Iterable
from dataclasses import replace

from scrapy_dedup.core.repeats import Boilerplate, PageCounts, RepeatPolicy

# 5,000 pages of a hundred blocks that no other page has; some 70 MB.
MOST_BLOCKS = 500_000


class BoundedCounts(PageCounts[int]):
    """Page counts that forget rare blocks instead of growing without end.

    Exact up to *most_blocks* different blocks. Beyond, no count is ever too high, and none is too low by more than
    *floor* pages: nothing counts as boilerplate that is not on enough pages. The floor grows by about one page for
    each most_blocks / 2 blocks that are met. A block that comes back after it was forgotten counts as another one in
    `blocks_total`.

    Source: Manku and Motwani 2002, Approximate frequency counts over data streams (lossy counting).
    """

    def __init__(self, most_blocks: int = MOST_BLOCKS) -> None:
        super().__init__()
        self.most_blocks = most_blocks
        self.floor = 0
        """A block that is not in `counts` was on at most so many pages."""
        self._missed: dict[int, int] = {}
        self._forgotten = 0

    def add(self, fingerprints: Iterable[int]) -> None:
        """Count one page; a block that it has twice counts once."""
        self.pages += 1
        for key in set(fingerprints):
            if self.floor and key not in self.counts:
                self._missed[key] = self.floor
            self.counts[key] += 1
        while len(self.counts) > self.most_blocks:
            self._forget()

    def _forget(self) -> None:
        self.floor += 1
        rare = [key for key, count in self.counts.items() if count + self._missed.get(key, 0) <= self.floor]
        for key in rare:
            del self.counts[key]
            self._missed.pop(key, None)
        self._forgotten += len(rare)

    def boilerplate(self, policy: RepeatPolicy) -> Boilerplate[int]:
        """Return the blocks that are on enough pages; none while there are fewer pages than the policy asks for."""
        found = super().boilerplate(policy)
        return replace(found, blocks_total=found.blocks_total + self._forgotten)
