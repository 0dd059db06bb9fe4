"""What repeats across the pages of one domain.

Two methods share one rule: a block is boilerplate on at least `max(min_pages, int(pages * threshold_pct))` pages.
The *text* method splits plain text or Markdown at blank lines and is exactly that of the domain-level specification;
the *html* method counts (DOM path, text) with no minimum length.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final, Generic, TypeVar

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


class PageCounts(Generic[Key]):
    """On how many pages each block was; grows while a domain is learned."""

    def __init__(self) -> None:
        self.pages = 0
        self.counts: Counter[Key] = Counter()

    def add(self, fingerprints: Iterable[Key]) -> None:
        """Count one page; a block that it has twice counts once."""
        self.pages += 1
        self.counts.update(set(fingerprints))

    def boilerplate(self, policy: RepeatPolicy) -> Boilerplate[Key]:
        """Return the blocks that are on enough pages; none while there are fewer pages than the policy asks for."""
        if self.pages < policy.min_pages:
            return Boilerplate(self.pages, {}, len(self.counts))
        needed = policy.needed(self.pages)
        frequent = {key: count for key, count in sorted(self.counts.items()) if count >= needed}
        return Boilerplate(self.pages, frequent, len(self.counts))


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
