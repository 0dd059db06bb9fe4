"""What repeats across the pages of one domain.

Two methods share one rule: a block is boilerplate on at least `max(min_pages, int(pages * threshold_pct))` pages.
The *text* method splits plain text or Markdown at blank lines and is exactly that of the domain-level specification;
the *html* method counts (DOM path, text) with no minimum length. An analysis takes a domain's blocks in the
order of its pages' times: what repeats on all, and what repeats between two redesigns.
"""

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import chain
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct, field

from scrapy_dedup.core.pages.fingerprints import fold

# Block fingerprints: numbers by the html method, hexadecimal digits by the text method.
Key = TypeVar("Key", int, str)

_BLANK_LINES = re.compile(r"\n\s*\n")
_BLANK_LINES_KEPT = re.compile(r"(\n\s*\n)")
_MANY_NEWLINES = re.compile(r"\n{3,}")


class RepeatPolicy(Struct, frozen=True):
    """When a block counts as boilerplate."""

    threshold_pct: float = 0.7
    """Share of a domain's pages, 0.1 to 1.0."""
    min_pages: int = 5
    """Nothing is learned from fewer pages, nothing that is on fewer pages is dropped; 2 to 100."""
    min_block_chars: int = 50
    """Text method only: shorter blocks are neither counted nor dropped; 10 to 500."""

    def needed(self, pages: int) -> int:
        """Return on how many of *pages* a block must be."""
        return max(self.min_pages, int(pages * self.threshold_pct))


class DomainFingerprintResult(Struct):
    """What the pages of one domain have in common."""

    boilerplate_hashes: list[str]
    pages_analyzed: int
    blocks_total: int
    blocks_boilerplate: int


class DomainAnalysisResult(Struct):
    """What the analysis of one domain found and removed."""

    domain: str
    pages_analyzed: int
    pages_cleaned: int
    blocks_boilerplate: int
    bytes_removed_total: int


class ProjectAnalysisResult(Struct):
    """The analyses of all domains of a project, and their sums."""

    domains_analyzed: int
    domains_with_boilerplate: int
    total_pages_cleaned: int
    total_bytes_removed: int
    domain_results: list[DomainAnalysisResult] = field(default_factory=list)


def split_into_blocks(content: str, min_block_chars: int = 50) -> list[str]:
    """Return the parts between blank lines that have at least *min_block_chars* characters, ends cut."""
    return [block for part in _BLANK_LINES.split(content) if len(block := part.strip()) >= min_block_chars]


def hash_block(block: str) -> str:
    """Return 16 hexadecimal digits (64 bits of SHA-256) of the text; white space and case do not count."""
    return sha256(fold(block).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def compute_domain_fingerprint(
    pages: Iterable[str], threshold_pct: float = 0.7, min_pages: int = 5, min_block_chars: int = 50
) -> DomainFingerprintResult:
    """Return the hashes of the text blocks that repeat across pages, sorted, with what they were found in.

    A block counts once a page. With fewer pages than *min_pages* there are no hashes; the other figures are filled.
    """
    counts = PageCounts[str]()
    for content in pages:
        counts.add(text_fingerprints(content, min_block_chars))
    found = counts.boilerplate(RepeatPolicy(threshold_pct, min_pages, min_block_chars))
    return DomainFingerprintResult(sorted(found.counts), found.pages, found.blocks_total, len(found.counts))


def text_fingerprints(content: str, min_block_chars: int) -> list[str]:
    """Return the hash of each block of a text, in order."""
    return [hash_block(block) for block in split_into_blocks(content, min_block_chars)]


def strip_boilerplate(content: str, boilerplate_hashes: Collection[str], min_block_chars: int = 50) -> tuple[str, int]:
    """Return the text without its boilerplate blocks, and how many UTF-8 bytes shorter it is.

    Separators stay; three or more newlines become two, also where no block was removed.
    """
    kept = [
        part
        for part in _BLANK_LINES_KEPT.split(content)
        if not (len(part.strip()) >= min_block_chars and hash_block(part) in boilerplate_hashes)
    ]
    cleaned = _MANY_NEWLINES.sub("\n\n", "".join(kept))
    return cleaned, _utf8_length(content) - _utf8_length(cleaned)


def _utf8_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


class Boilerplate(Struct, Generic[Key], frozen=True):
    """Blocks that repeat, with the evidence."""

    pages: int = 0
    """How many pages were counted."""
    counts: Mapping[Key, int] = field(default_factory=dict)
    """Fingerprint to the number of pages that have it."""
    blocks_total: int = 0
    """Different blocks that were seen, boilerplate or not."""
    of_design: Mapping[Key, int] = field(default_factory=dict)
    """Of blocks that repeat on the pages of one design alone: how many pages that has."""

    def of_pages(self, key: Key) -> int:
        """Return how many pages a block was counted on or not: all, or those of its design."""
        return self.of_design.get(key, self.pages)


# Pages of a domain that are held as they are: 8 bytes a block, where counts take a hundred.
_FEW_PAGES: Final = 4


class PageCounts(Generic[Key]):
    """On how many pages each block was; grows while a domain is learned."""

    def __init__(self) -> None:
        self.pages = 0
        self._few: list[Collection[Key]] = []
        self._counts: Counter[Key] = Counter()

    @property
    def counts(self) -> Counter[Key]:
        """The number of pages by block; made anew at each call while there are few pages."""
        return Counter(chain.from_iterable(self._few)) if self._few else self._counts

    def add(self, fingerprints: Iterable[Key]) -> set[Key]:
        """Count one page, a block that it has twice once; return the blocks that two pages have now."""
        self.pages += 1
        found, before = set(fingerprints), self.counts
        second = {key for key in found if before.get(key) == 1}
        if self.pages <= _FEW_PAGES:
            self._few.append(_packed(found))
        else:
            self._counts, self._few = before, []
            before.update(found)
        return second

    def boilerplate(self, policy: RepeatPolicy) -> Boilerplate[Key]:
        """Return the blocks that are on enough pages; none while there are fewer pages than the policy asks for."""
        if self.pages < policy.min_pages:
            return Boilerplate(self.pages, {}, len(self.counts))
        needed = policy.needed(self.pages)
        frequent = {key: count for key, count in sorted(self.counts.items()) if count >= needed}
        return Boilerplate(self.pages, frequent, len(self.counts))


def _packed(keys: set[Key]) -> Collection[Key]:
    numbers = [key for key in keys if isinstance(key, int)]
    packed: Any = array("Q", numbers) if len(numbers) == len(keys) else tuple(keys)
    found: Collection[Key] = packed
    return found


class RemovalRule(Struct, frozen=True):
    """Why blocks are left out; those with one reason share it."""

    name: str
    evidence: str
    """The reason in words, with its figures."""
    on_pages: int = 0
    of_pages: int = 0
    path: str = ""
    """The part of the page that goes as a whole; empty where each block is judged by itself."""
    layer: str = "boilerplate"
    """Of the layer that says so; it is stored with the decision, not with the rule."""


class Removal(Struct, frozen=True):
    """One block that is left out."""

    fingerprint: int
    rule: RemovalRule


REPEATED_HTML: Final = "repeated block: the same place and text"
REPEATED_TEXT: Final = "repeated block: the same text"


@lru_cache(maxsize=4_096)
def repeated(name: str, on_pages: int, of_pages: int) -> RemovalRule:
    """Return the rule by which blocks go that are on so many pages."""
    return RemovalRule(name, f"on {on_pages} of {of_pages} pages", on_pages, of_pages)


def judge_blocks(fingerprints: Sequence[int], boilerplate: Boilerplate[int]) -> list[Removal | None]:
    """Return for each block why it is removed, or None where it stays.

    A page that would be left empty is kept whole: copies of one page repeat in all their blocks.
    """
    counts, of_pages = boilerplate.counts, boilerplate.of_pages
    verdicts = [
        Removal(key, repeated(REPEATED_HTML, counts[key], of_pages(key))) if key in counts else None
        for key in fingerprints
    ]
    if all(verdicts):
        return [None] * len(verdicts)
    return verdicts


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
