"""What one domain's pages have in common: known from earlier runs, and learned while this one goes on, in steps."""

import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from scrapy_dedup.core.boilerplate.repeats import Boilerplate, PageCounts, RepeatPolicy, hash_block, split_into_blocks
from scrapy_dedup.core.duplicates import SiteSeen
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.fingerprints import from_hex, to_hex
from scrapy_dedup.core.templates.layouts import VERSION
from scrapy_dedup.core.templates.templates import WINDOW, Drift, DriftWatch, Look
from scrapy_dedup.service.cut.site_cleaning import NO_LAYOUT, SiteCut
from scrapy_dedup.service.templates.site_knowledge import (
    FEWEST_PAGES,
    FEWEST_SHOWN,
    REST,
    LearnedPage,
    PageSnapshot,
    SiteKnowledge,
    SiteSample,
    learn_sample,
    learned_page,
)
from scrapy_dedup.service.templates.site_records import changes
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import (
    AlarmRecord,
    BlockEvidence,
    BoilerplateRecord,
    LayoutKnowledge,
    LayoutRunRecord,
    LayoutSignatureRecord,
    Method,
)
from scrapy_dedup.store.records.stored import StoredBoilerplate

T = TypeVar("T")

Steps = Generator[Callable[[], Any], Any, T]
"""Yields its long parts, and goes on with what each returns.

A part changes nothing that others see, and reads nothing that they may change meanwhile; all else is done between.
"""


def done(steps: Steps[T], part: Callable[[], Any]) -> Callable[[], Callable[[], Any]]:
    """Do a part; return what goes on with its steps, to the next part or, by StopIteration, to the end."""
    try:
        return partial(steps.send, part())
    except Exception as error:  # noqa: BLE001 (where it is raised is decided by the steps)
        return partial(steps.throw, error)


def at_once(steps: Steps[T]) -> T:
    """Do all of it here, and return what comes of it."""
    try:
        part = next(steps)
        while True:
            part = done(steps, part)()
    except StopIteration as ended:
        result: T = ended.value
        return result


# Pages of a new design, or that no template fits, are learned from when there are so many of them.
_FRESH_AT: Final = (5, 8, 16, 32)
# What a site's templates take in memory, in pages that are learned from.
_PAGES_OF_TEMPLATES: Final = 8


class SiteLearner:
    """Learns from the first pages of a domain, and later from pages that no template fits.

    Where these are few, or of no layout in a run that learned the site itself, they are of layouts that the first pages
    did not have. Else, where they are most pages of late, the site was redesigned: an alarm is raised, and from then on
    it is learned anew, from those pages and all that follow.
    """

    def __init__(self, domain: str, settings: Settings) -> None:
        self.domain = domain
        self.knowledge: SiteKnowledge | None = None
        self.alarms: list[Drift] = []
        """Of this run, in order."""
        self._settings = settings
        self._sample = SiteSample(settings.learn_pages)
        self._whole: SiteKnowledge | None = None
        """What those pages taught, until a browser shows one of them."""
        self._young: dict[bytes, bytes] = {}
        """HTML of the first few pages, packed, for a browser to show them."""
        self._strays = SiteSample(settings.learn_pages)
        """Pages that no template fits, met at any time."""
        self._fresh = SiteSample(settings.learn_pages)
        """After a redesign those that raised the alarm, and all that follow."""
        self._former: SiteKnowledge | None = None
        """What was known before a redesign, while the new design is learned."""
        self._late: list[LearnedPage | None] = []
        """The last pages, None where nothing about them is in doubt."""
        self._watch = DriftWatch()
        self._is_recalled = False
        """What is known is of an earlier run."""
        self._records: list[LayoutKnowledge] = []
        self._pages: Counter[int] = Counter()
        self._signatures: Counter[tuple[int, int, int]] = Counter()
        self._examples: dict[int, str] = {}
        self._seen: Counter[int] = Counter()
        self._snapshots: dict[bytes, PageSnapshot] = {}
        """What a browser showed of pages of this site."""
        self.is_taught = settings.teacher != "off"
        """A browser may still look at pages: those that were learned from are kept for it."""

    def recall(self, knowledge: SiteKnowledge) -> None:
        """Start from what was learned before."""
        self.knowledge, self._is_recalled = knowledge, True

    @property
    def is_settled(self) -> bool:
        """The first pages are over: nothing more is learned from pages that fit, and they cost no memory."""
        known = self.knowledge
        return known is not None and (known.pages >= self._settings.learn_pages or bool(self.alarms))

    @property
    def held_pages(self) -> int:
        """How many pages are held to learn from; templates count as some."""
        pages = sum(map(len, (self._sample, self._strays, self._fresh)))
        return pages + (_PAGES_OF_TEMPLATES if self.knowledge is not None else 0)

    @property
    def may_rest(self) -> bool:
        """Whether the store gives back all that counts: neither a browser nor a new design is waited for."""
        return not (self.is_taught or self.is_judging or self._former is not None)

    def see(self, page_key: bytes, url: str, html: str, page: Page) -> None:
        """Take in a page before it is cut."""
        is_learning = self.is_taught or not self.is_settled
        if is_learning and len(self._sample) < self._sample.most and self._sample.wants(page_key):
            self._sample.add(learned_page(page_key, url, page))
            if self.is_taught and len(self._sample) < FEWEST_PAGES:
                self._young[page_key] = zlib.compress(html.encode("utf-8", "surrogatepass"), 1)
            else:
                self._young.clear()

    def learn(self, at: datetime) -> Steps[bool]:
        """Make templates of what was seen, unless more is known already; return whether there are new ones."""
        known = self.knowledge
        if len(self._sample) < FEWEST_PAGES or (known and known.pages > len(self._sample)):
            return False
        if known is None or known is not self._whole or known.pages < len(self._sample):
            yield from self._learn_all(at)
        if self.is_settled and not self.is_taught:
            self._sample = SiteSample(self._settings.learn_pages)
        return True

    def _learn_all(self, at: datetime) -> Steps[None]:
        newer = yield self._learned_from(self._sample, with_snapshots=True)
        yield from self._keep(newer.with_snapshots_of(self.knowledge), at)
        self._is_recalled = False
        self._whole = self.knowledge

    def _learned_from(
        self, sample: SiteSample, *, with_snapshots: bool, former: SiteKnowledge | None = None
    ) -> Callable[[], SiteKnowledge]:
        """Return what learns from a sample as it is now; it takes a third of a second."""
        snapshots = tuple(self._snapshots.values()) if with_snapshots else ()
        return partial(learn_sample, self.domain, sample.copy(), self._settings, snapshots, former)

    def seen(self, layout: int) -> int:
        """Return how many pages of a layout this run has met."""
        return self._seen[layout]

    @property
    def is_judging(self) -> bool:
        """Whether the last pages may be of a new design: pages wait until that is known."""
        return self._watch.asked > 0

    def is_drifting(self, layout: int) -> bool:
        """Whether the last alarm was of a layout, and the new design is still learned."""
        return self._former is not None and self.alarms[-1].layout == layout

    def teach(self, snapshot: PageSnapshot, at: datetime) -> Steps[bool]:
        """Take in what a browser showed of a page; return whether there are new templates by it.

        What was learned from more pages than are here waits until there are as many.
        """
        self._snapshots[snapshot.page_key] = snapshot
        self._whole = None
        known = self.knowledge
        if self._former is not None:
            yield from self._learn_anew(self._former, at)
            return True
        needed = min(known.pages, self._sample.most) if known is not None else 0
        if len(self._sample) < max(FEWEST_SHOWN, needed):
            return False
        yield from self._learn_all(at)
        return True

    def young_pages(self) -> list[tuple[LearnedPage, str]]:
        """Return pages to show of a site that has too few to learn from without a browser; empty for other sites."""
        is_young = FEWEST_SHOWN <= len(self._sample) < FEWEST_PAGES
        if not is_young or (self.knowledge is not None and self.knowledge.templates):
            return []
        young = ((page, self._young.get(page.page_key)) for page in self._sample.pages())
        return [(page, zlib.decompress(html).decode("utf-8", "surrogatepass")) for page, html in young if html]

    def end_teaching(self) -> None:
        """No browser looks at pages any more: what was kept for it can go."""
        self.is_taught = False
        self._young.clear()
        if self.is_settled:
            self._sample = SiteSample(self._settings.learn_pages)

    def note(self, page_key: bytes, url: str, page: Page, found: SiteCut, at: datetime) -> Steps[bool]:
        """Count a page that was cut, and watch whether the templates still fit; return whether it raised an alarm."""
        skeleton = found.skeleton
        self._pages[found.layout] += 1
        self._seen[found.layout] += 1
        self._signatures[skeleton.l1, skeleton.l2, found.layout] += 1
        self._examples.setdefault(found.layout, url)
        if self.knowledge is None or not self.knowledge.templates:
            return False
        # Where no template is live yet, none of them ceased to fit.
        what = found.doubt if found.misfit == NO_LAYOUT else found.misfit or found.doubt
        # Of a layout that had too few pages for a template nothing is known.
        layout = found.layout if found.layout in self.knowledge.templates else REST
        look = Look(page_key, layout, what, at, hash(tuple(page.fingerprints)) if what else 0)
        is_wanted = bool(look.what) or self._former is not None
        learned = learned_page(page_key, url, page) if is_wanted else None
        self._late = [*self._late, learned][-WINDOW:]
        drift = self._watch.note(look)
        if drift is not None:
            watch, self._watch = self._watch, DriftWatch()
            # Of a run that learned the site itself pages of no layout are of a kind that its first pages were not.
            if (yield from self._learn_more(at)) or (drift.layout == REST and not self._is_recalled):
                drift = None
            else:
                self._watch = watch
        if drift is not None:
            yield from self._begin_anew(drift, at)
        elif learned is not None and self._former is not None:
            if self._fresh.add(learned) and self._is_time(self._fresh):
                yield from self._learn_anew(self._former, at)
        elif learned is not None and found.misfit and self._strays.add(learned) and self._is_time(self._strays):
            yield from self._learn_strays(at)
        if self._watch.cleared():
            self._watch.relearned()
            self._records.append(AlarmRecord(self.domain, self.alarms[-1].layout, cleared_at=at))
        return drift is not None

    def _learn_more(self, at: datetime) -> Steps[bool]:
        """Learn earlier than planned, where it goes on: that pages do not fit what few pages taught is no wonder."""
        if self._former is not None:
            yield from self._learn_anew(self._former, at)
            return True
        if self.knowledge is None or len(self._sample) <= self.knowledge.pages:
            return False
        return (yield from self.learn(at))

    def _begin_anew(self, drift: Drift, at: datetime) -> Steps[None]:
        self.alarms.append(drift)
        figures = (drift.failed, drift.looked, drift.since)
        self._records.append(AlarmRecord(self.domain, drift.layout, drift.cause, *figures, raised_at=at))
        known = self._former or self.knowledge
        assert known is not None
        kept = {layout: one for layout, one in known.templates.items() if layout == REST or layout not in drift.retired}
        self._former = replace(known, templates=kept)
        self._fresh = SiteSample(self._settings.learn_pages)
        for late in self._late:
            if late is not None and late.page_key in drift.pages:
                self._fresh.add(late)
        # How the old design looked is of no use.
        self._snapshots.clear()
        self._sample = SiteSample(self._settings.learn_pages)
        yield from self._learn_anew(self._former, at)

    def _is_time(self, sample: SiteSample) -> bool:
        return len(sample) in (*_FRESH_AT, sample.most)

    def _learn_anew(self, former: SiteKnowledge, at: datetime) -> Steps[None]:
        newer = yield self._learned_from(self._fresh, with_snapshots=True, former=former)
        if newer.templates:
            yield from self._keep(former.merged(newer, replaces_rest=True), at)
        if len(self._fresh) >= self._fresh.most:
            self._former = None
            self._fresh = SiteSample(self._settings.learn_pages)

    def _learn_strays(self, at: datetime) -> Steps[None]:
        newer = yield self._learned_from(self._strays, with_snapshots=False)
        if self.knowledge is not None and newer.templates:
            yield from self._keep(self.knowledge.merged(newer, replaces_rest=False), at)
        if len(self._strays) >= self._strays.most:
            self._strays = SiteSample(self._settings.learn_pages)

    def _keep(self, newer: SiteKnowledge, at: datetime) -> Steps[None]:
        older = self.knowledge
        self.knowledge = newer.with_decisions_of(older)
        records = yield partial(changes, older, self.knowledge, at)
        self._records += records

    def take_records(self, at: datetime) -> Iterator[LayoutKnowledge]:
        """Take what is to be remembered since the last call."""
        yield from self._records
        for (l1, l2, layout), seen in sorted(self._signatures.items()):
            named = layout if layout != REST else None
            yield LayoutSignatureRecord(self.domain, l1, 1, named, seen, at, VERSION)
            yield LayoutSignatureRecord(self.domain, l2, 2, None, seen, at, VERSION)
        for layout, pages in sorted(self._pages.items()):
            yield LayoutRunRecord(self.domain, layout, pages, self._examples[layout])
        self._records, self._signatures, self._pages = [], Counter(), Counter()


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


def evidence_of(found: Boilerplate[int], samples: Mapping[int, Sample]) -> dict[str, BlockEvidence]:
    """Return on how many pages each block repeats, and where one of them has it, by the fingerprint's digits."""
    nowhere = Sample("", "")
    return {to_hex(key): BlockEvidence(count, *samples.get(key, nowhere)) for key, count in found.counts.items()}


def record_of(
    domain: str, method: Method, found: Boilerplate[int], samples: Mapping[int, Sample], policy: RepeatPolicy
) -> BoilerplateRecord:
    """Return what is stored of what repeats on a domain."""
    evidence = evidence_of(found, samples)
    hashes = tuple(sorted(evidence))
    record = BoilerplateRecord(domain, method, hashes, found.pages, found.blocks_total, len(hashes), evidence=evidence)
    return replace(record, **asdict(policy))


class DomainKnowledge(Struct, frozen=True):
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
        self.times_met = 0
        """How often pages asked for it."""
        self._counted: set[bytes] = set()
        self._done = False
        self._pages_cut = self._bytes_removed = 0

    def recall(self, knowledge: DomainKnowledge) -> None:
        """Start from what an earlier run found."""
        self.known = True
        self.boilerplate = knowledge.boilerplate
        self.seen = SiteSeen(frozenset(self.boilerplate.counts), self.boilerplate.pages)
        self.samples = dict(knowledge.samples)

    def wants(self, page_key: bytes) -> bool:
        """Say whether a page still counts."""
        return not self._done and page_key not in self._counted

    def count(self, page_key: bytes, blocks: Mapping[int, Sample]) -> bool:
        """Count a page, where it is wanted; return whether it is time to learn."""
        if not self.wants(page_key):
            return False
        self._counted.add(page_key)
        second = self.counts.add(blocks)
        for fingerprint, sample in blocks.items():
            # A block that two pages have may become boilerplate; the others need no sample.
            if fingerprint in second:
                self.samples[fingerprint] = Sample(sample.path, sample.text[:SAMPLE_CHARS])
        pages = self.counts.pages
        return pages >= self.learn_pages or (self.known and pages in CHECKPOINTS)

    @property
    def can_learn(self) -> bool:
        """Whether enough pages were counted for what they have in common to be remembered."""
        needed = max(self.policy.min_pages, min(self.boilerplate.pages, self.learn_pages))
        return not self._done and self.counts.pages >= needed

    def learn(self) -> bool:
        """Make verdicts of what was counted; return whether there is something new to remember."""
        if not self.can_learn:
            return False
        pages = self.counts.pages
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

    @property
    def held_pages(self) -> int:
        """How many pages' worth of memory it takes, itself included."""
        return 1 + (self.site.held_pages if self.site is not None else self.counts.pages)

    @property
    def may_rest(self) -> bool:
        """Whether no page waits for what it finds out."""
        waiting = self.in_doubt or self.shadowed or self.shadowed_in_doubt
        return not waiting and (self.site is None or self.site.may_rest)

    def note_cut(self, bytes_removed: int) -> None:
        """Note that a page goes out without so many bytes of its text."""
        self._pages_cut += 1
        self._bytes_removed += bytes_removed

    def record(self) -> BoilerplateRecord:
        """Return what is to be remembered; an empty list of hashes says that the domain is known."""
        found = self.boilerplate
        return replace(
            record_of(self.domain, self.method, found, self.samples, self.policy),
            pages_analyzed=found.pages or self.counts.pages,
            blocks_total=found.blocks_total or len(self.counts.counts),
            bytes_removed_avg=self._bytes_removed // max(1, self._pages_cut),
        )


def to_rest(learners: Iterable[Learner], most_pages: int) -> list[Learner]:
    """Return whom to let go so that the others hold nine tenths of so many pages; nobody while all hold no more.

    Known domains first: the store gives back what they know. Then those with the fewest pages, the last met before
    others: where more domains are crawled in turn than there is room for, some are learned, and then the next.

    Learners come in the order in which they were met last; *most_pages* is what all together may hold.
    """
    held = {learner: learner.held_pages for learner in learners}
    rest = sum(held.values())
    if rest <= most_pages:
        return []
    known = [learner for learner in held if learner.known]
    young = sorted((learner for learner in reversed(held) if not learner.known), key=held.__getitem__)
    chosen: list[Learner] = []
    for learner in (*known, *young):
        if rest <= most_pages * 9 // 10:
            break
        if learner.may_rest:
            chosen.append(learner)
            rest -= held[learner]
    return chosen
