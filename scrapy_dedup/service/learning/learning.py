"""What one domain's pages have in common: known from earlier runs, and learned while this one goes on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from scrapy_dedup.core.boilerplate.repeats import Boilerplate, PageCounts, RepeatPolicy, hash_block, split_into_blocks
from scrapy_dedup.core.duplicates.evidence import SiteSeen
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.fingerprints import from_hex, to_hex
from scrapy_dedup.service.learning.site_learner import SiteLearner
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import BlockEvidence, BoilerplateRecord, Method
from scrapy_dedup.store.records.stored import StoredBoilerplate

# Verdicts are made anew when this many pages have been counted, and at the end of a run.
CHECKPOINTS = (16, 32, 60)
SAMPLE_CHARS = 200


class Sample(NamedTuple):
    """How a block reads and where it stands."""

    path: str
    text: str


def html_samples(page: Page) -> dict[int, Sample]:
    """Return a page's blocks by fingerprint."""
    return {block.fingerprint: Sample(block.path, block.text) for block in page.blocks}


def text_samples(content: str, min_block_chars: int) -> dict[int, Sample]:
    """Return a text's blocks by fingerprint."""
    return {from_hex(hash_block(block)): Sample("", block) for block in split_into_blocks(content, min_block_chars)}


@dataclass(frozen=True, slots=True)
class DomainKnowledge:
    """What an earlier run found out about a domain."""

    boilerplate: Boilerplate[int]
    samples: Mapping[int, Sample]


def knowledge_of(stored: StoredBoilerplate) -> DomainKnowledge:
    """Return what a stored row says."""
    evidence = stored.evidence or {}
    pages = stored.pages_analyzed
    counts = {
        from_hex(digits): evidence[digits].pages if digits in evidence else pages
        for digits in stored.boilerplate_hashes
    }
    samples = {from_hex(digits): Sample(found.path, found.sample) for digits, found in evidence.items()}
    return DomainKnowledge(Boilerplate(pages, counts, stored.blocks_total), samples)


class Learner:
    """One domain by one method.

    Each run counts pages from nothing, each page once, up to *learn_pages*; what it finds takes the place of earlier
    knowledge when it rests on as many pages. So a page that is crawled again is no new evidence, and a redesigned site
    is learned anew.
    """

    def __init__(
        self, domain: str, method: Method, policy: RepeatPolicy, learn_pages: int, site: SiteLearner | None = None
    ) -> None:
        self.domain = domain
        self.method = method
        self.policy = policy
        self.learn_pages = learn_pages
        self.boilerplate: Boilerplate[int] = Boilerplate()
        self.known = False
        """Pages of a known domain are never parked."""
        self.counts = PageCounts[int]()
        self.seen = SiteSeen()
        """By which it is told what a page's own text is."""
        self.samples: dict[int, Sample] = {}
        self.site = site
        """Its layouts, by the method `template`."""
        self.shadowed: list[tuple[Any, Settings]] = []
        """Pages of which it is still to be found out what would have been removed."""
        self.in_doubt: list[tuple[Any, Settings]] = []
        """Pages that were cut, and wait since it is open whether the site was designed anew."""
        self.shadowed_in_doubt: list[tuple[Any, Settings]] = []
        self.is_new = False
        """Whether this run has learned something, which is noted again at its end."""
        self._counted: set[bytes] = set()
        self._done = False
        self._pages_cut = self._bytes_removed = 0

    def recall(self, knowledge: DomainKnowledge) -> None:
        """Start from what an earlier run found."""
        self.known = True
        self.boilerplate = knowledge.boilerplate
        self.seen = SiteSeen(frozenset(self.boilerplate.counts), self.boilerplate.pages)
        self.samples = dict(knowledge.samples)

    def count(self, page_key: bytes, blocks: Mapping[int, Sample]) -> bool:
        """Count a page once; return whether it is time to learn."""
        if self._done or page_key in self._counted:
            return False
        self._counted.add(page_key)
        self.counts.add(blocks)
        counts = self.counts.counts
        for fingerprint, sample in blocks.items():
            # A block that two pages have may become boilerplate; the others need no sample.
            if counts[fingerprint] == 2:
                self.samples[fingerprint] = Sample(sample.path, sample.text[:SAMPLE_CHARS])
        pages = self.counts.pages
        return pages >= self.learn_pages or (self.known and pages in CHECKPOINTS)

    def learn(self) -> bool:
        """Make verdicts of what was counted; return whether there is something new to remember."""
        pages = self.counts.pages
        if self._done or pages < self.policy.min_pages or pages < min(self.boilerplate.pages, self.learn_pages):
            return False
        self.boilerplate = self.counts.boilerplate(self.policy)
        common = frozenset(key for key, count in self.counts.counts.items() if 2 * count >= pages)
        self.seen = SiteSeen(common, pages)
        self.known = self.is_new = True
        self.samples = {key: sample for key, sample in self.samples.items() if key in self.boilerplate.counts}
        if pages >= self.learn_pages:
            self._done = True
            self.counts = PageCounts()
            self._counted.clear()
        return True

    def note_cut(self, bytes_removed: int) -> None:
        """Note that a page goes out without so many bytes of its text."""
        self._pages_cut += 1
        self._bytes_removed += bytes_removed

    def often(self, fingerprints: Iterable[int]) -> set[int]:
        """Return those that tell no page from another: boilerplate, and what three pages of this run have."""
        counts = self.counts.counts
        return {key for key in fingerprints if key in self.boilerplate.counts or counts.get(key, 0) > 2}

    def record(self) -> BoilerplateRecord:
        """Return what is to be remembered; an empty list of hashes says that the domain is known."""
        found = self.boilerplate
        evidence = {
            to_hex(key): BlockEvidence(count, *self.samples.get(key, Sample("", "")))
            for key, count in found.counts.items()
        }
        return BoilerplateRecord(
            domain=self.domain,
            method=self.method,
            boilerplate_hashes=tuple(sorted(evidence)),
            pages_analyzed=found.pages or self.counts.pages,
            blocks_total=found.blocks_total or len(self.counts.counts),
            blocks_boilerplate=len(evidence),
            bytes_removed_avg=self._bytes_removed // max(1, self._pages_cut),
            threshold_pct=self.policy.threshold_pct,
            min_pages=self.policy.min_pages,
            min_block_chars=self.policy.min_block_chars,
            evidence=evidence,
        )
