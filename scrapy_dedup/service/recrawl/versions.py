"""Two versions of a page, compared under what is known of their domain today."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from msgspec import Struct, field

from scrapy_dedup.core.boilerplate.repeats import PageCounts, RepeatPolicy
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.recrawl.passages import Repeats, main_text, page_keys, repeats_of, same_blocks
from scrapy_dedup.core.recrawl.verdicts import (
    Change,
    ChangePolicy,
    NumberChurn,
    Verdict,
    VerdictKind,
    compare,
    moves,
    unified_diff,
    verdict_of,
)

# Of the version that the last crawl saw, and of today's, which may have another design.
PAGES_COUNTED = 60
# Before the first, all that is known is of the earlier crawl.
_RELEARN_AT = (5, 8, 16, 32, PAGES_COUNTED)
# Pages that are the same have numbers that stood still; so many of them are looked at.
_STILL_PAGES = 200


class VersionComparison(Struct, frozen=True):
    """What became of a page between two versions."""

    verdict: Verdict
    moved: frozenset[int] = frozenset()
    """Number keys of what changed in its numbers alone."""
    diff: str = ""


class SiteVersions(Struct):
    """One domain, as it was and as it is."""

    policy: RepeatPolicy
    earlier: PageCounts[int] = field(default_factory=PageCounts)
    today: PageCounts[int] = field(default_factory=PageCounts)
    repeats: Repeats = field(default_factory=Repeats)
    churn: NumberChurn = field(default_factory=NumberChurn)
    not_modified: int = 0
    """Pages that the server said had not changed: whatever their numbers are, they stood still."""
    _still: int = 0

    def recall(self, versions: Iterable[Iterable[int]]) -> None:
        """Take in the blocks of pages as an earlier crawl saw them."""
        for keys in versions:
            self.earlier.add(keys)
        self._relearn()

    def meet(self, keys: list[int]) -> None:
        """Take in a page of today, given by its `page_keys`."""
        if self.today.pages >= PAGES_COUNTED:
            return
        self.today.add(keys)
        if self.today.pages in _RELEARN_AT:
            self._relearn()

    def verdict_by_blocks(self, old: list[int], page: Page, policy: ChangePolicy) -> Verdict | None:
        """Return the verdict on a page that has the blocks that it had; None where `compare` has to look closer."""
        new = page_keys(page)
        if not same_blocks(old, new, self.repeats.boilerplate):
            return None
        if self._still < _STILL_PAGES:
            self._still += 1
            text = main_text(page, self.repeats)
            self.churn.add(moves(text, text))
        return verdict_of({Change.NONE if old == new else Change.BOILERPLATE_ONLY}, policy)

    def compare(
        self, old: Page, new: Page, moved: AbstractSet[int], policy: ChangePolicy, *, with_diff: bool
    ) -> VersionComparison:
        """Compare two versions.

        Args:
            old: as it was stored.
            new: today's.
            moved: number keys of what changed in its numbers alone the time before.
            policy: which classes of change count.
            with_diff: whether the difference is written out.
        """
        before, after = main_text(old, self.repeats), main_text(new, self.repeats)
        found = moves(before, after)
        self.churn.add(found)
        volatile = self.churn.volatile(elsewhere=self.not_modified) | (found.changed & moved)
        verdict = compare(before, after, policy, volatile)
        changed = verdict.kind is VerdictKind.CHANGED
        return VersionComparison(verdict, found.changed, unified_diff(before, after) if with_diff and changed else "")

    def _relearn(self) -> None:
        self.repeats = repeats_of([self.earlier, self.today], self.policy)
