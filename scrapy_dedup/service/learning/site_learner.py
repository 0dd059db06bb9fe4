"""One domain's layouts in one crawl: learned while it goes on, watched, and counted."""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.templates.drift import WINDOW, Drift, DriftWatch, Look
from scrapy_dedup.core.templates.layouts import VERSION, skeleton_of
from scrapy_dedup.service.cut.site_cleaning import NO_LAYOUT, SiteCut, cut_page
from scrapy_dedup.service.cut.site_patterns import SitePatterns
from scrapy_dedup.service.steps import Steps
from scrapy_dedup.service.templates.site_knowledge import REST, SiteKnowledge
from scrapy_dedup.service.templates.site_learning import PageSight, learn_sample
from scrapy_dedup.service.templates.site_records import changes
from scrapy_dedup.service.templates.site_sample import FEWEST_PAGES, FEWEST_SHOWN, LearnedPage, SiteSample, learned_page
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import (
    AlarmRecord,
    LayoutKnowledge,
    LayoutRunRecord,
    LayoutSignatureRecord,
)

# Pages of a new design, or that no template fits, are learned from when there are so many of them.
_FRESH_AT: Final = (5, 8, 16, 32)


class SiteLearner:
    """Learns from the first pages of a domain, and later from pages that no template fits.

    Where these are few they are of layouts that the first pages did not have. Where they are most pages of late, the
    site was redesigned: an alarm is raised, and from then on it is learned anew, from those pages and all that follow.
    """

    def __init__(self, domain: str, settings: Settings) -> None:
        self.domain = domain
        self.knowledge: SiteKnowledge | None = None
        self.alarms: list[Drift] = []
        """Of this run, in order."""
        self._settings = settings
        self._sample = SiteSample(settings.learn_pages)
        self._strays = SiteSample(settings.learn_pages)
        """Pages that no template fits, met at any time."""
        self._fresh = SiteSample(settings.learn_pages)
        """After a redesign those that raised the alarm, and all that follow."""
        self._former: SiteKnowledge | None = None
        """What was known before a redesign, while the new design is learned."""
        self._late: deque[tuple[LearnedPage, str] | None] = deque(maxlen=WINDOW)
        """The last pages, None where nothing about them is in doubt."""
        self._watch = DriftWatch()
        self._records: list[LayoutKnowledge] = []
        self._pages: Counter[int] = Counter()
        self._signatures: Counter[tuple[int, int, int]] = Counter()
        self._examples: dict[int, str] = {}
        self._seen: Counter[int] = Counter()
        self._sights: dict[bytes, PageSight] = {}
        """What a browser showed of pages of this site."""
        self.is_taught = settings.teacher != "off"
        """A browser may still look at pages: those that were learned from are kept for it."""

    def recall(self, knowledge: SiteKnowledge) -> None:
        """Start from what was learned before."""
        self.knowledge = knowledge

    @property
    def is_settled(self) -> bool:
        """The first pages are over: nothing more is learned from pages that fit, and they cost no memory."""
        known = self.knowledge
        return known is not None and (known.pages >= self._settings.learn_pages or bool(self.alarms))

    def see(self, page_key: bytes, url: str, html: str, page: Page) -> None:
        """Take in a page before it is cut."""
        is_learning = self.is_taught or not self.is_settled
        if is_learning and len(self._sample) < self._sample.most and self._sample.wants(page_key):
            self._sample.add(learned_page(page_key, url, page), html)

    def learn(self, at: datetime) -> Steps[bool]:
        """Make templates of what was seen, unless more is known already; return whether there are new ones."""
        known = self.knowledge
        if len(self._sample) < FEWEST_PAGES or (known and known.pages > len(self._sample)):
            return False
        yield from self._learn_all(at)
        if self.is_settled and not self.is_taught:
            self._sample = SiteSample(self._settings.learn_pages)
        return True

    def _learn_all(self, at: datetime) -> Steps[None]:
        newer = yield self._learned_from(self._sample, with_sights=True)
        self._keep(newer.with_sights_of(self.knowledge), at)

    def _learned_from(
        self, sample: SiteSample, *, with_sights: bool, former: SiteKnowledge | None = None
    ) -> Callable[[], SiteKnowledge]:
        """Return what learns from a sample as it is now; it takes a third of a second."""
        sights = tuple(self._sights.values()) if with_sights else ()
        return partial(learn_sample, self.domain, sample.copy(), self._settings, sights, former)

    def seen(self, layout: int) -> int:
        """Return how many pages of a layout this run has met."""
        return self._seen[layout]

    @property
    def is_judging(self) -> bool:
        """Whether the last pages may be of a new design: pages wait until that is known."""
        return self._watch.is_judging

    def is_drifting(self, layout: int) -> bool:
        """Whether the last alarm was of a layout, and the new design is still learned."""
        return self._former is not None and self.alarms[-1].layout == layout

    def teach(self, sight: PageSight, at: datetime) -> Steps[bool]:
        """Take in what a browser showed of a page; return whether there are new templates by it.

        What was learned from more pages than are here waits until there are as many.
        """
        self._sights[sight.page_key] = sight
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
        return list(self._sample.sources())

    def end_teaching(self) -> None:
        """No browser looks at pages any more: what was kept for it can go."""
        self.is_taught = False
        if self.is_settled:
            self._sample = SiteSample(self._settings.learn_pages)

    def cut(self, url: str, html: str, page: Page, settings: Settings, patterns: SitePatterns | None = None) -> SiteCut:
        """Cut a page by what is known now, and by what people decided; None: that is in the settings alone."""
        return cut_page(html, page, url, self.knowledge, settings, patterns)

    def note(self, page_key: bytes, url: str, html: str, page: Page, found: SiteCut, at: datetime) -> Steps[bool]:
        """Count a page that was cut, and watch whether the templates still fit; return whether it raised an alarm."""
        skeleton = skeleton_of(page)
        self._pages[found.layout] += 1
        self._seen[found.layout] += 1
        self._signatures[skeleton.l1, skeleton.l2, found.layout] += 1
        self._examples.setdefault(found.layout, url)
        if self.knowledge is None or not self.knowledge.templates:
            return False
        # Where no template is live yet, none of them ceased to fit.
        what = found.doubt if found.misfit == NO_LAYOUT else found.misfit or found.doubt
        look = Look(page_key, found.layout, what, at)
        is_wanted = bool(look.what) or self._former is not None
        learned = (learned_page(page_key, url, page), html) if is_wanted else None
        self._late.append(learned)
        drift = self._watch.note(look)
        if drift is not None:
            watch, self._watch = self._watch, DriftWatch()
            if (yield from self._learn_more(at)):
                drift = None
            else:
                self._watch = watch
        if drift is not None:
            yield from self._begin_anew(drift, at)
        elif learned is not None and self._former is not None:
            if _added(self._fresh, *learned) and self._is_time(self._fresh):
                yield from self._learn_anew(self._former, at)
        elif learned is not None and found.misfit and _added(self._strays, *learned) and self._is_time(self._strays):
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
        self._records.append(_raised(self.domain, drift, at))
        known = self._former or self.knowledge
        assert known is not None
        kept = {layout: one for layout, one in known.templates.items() if layout == REST or layout not in drift.retired}
        self._former = replace(known, templates=kept)
        self._fresh = SiteSample(self._settings.learn_pages)
        for late in self._late:
            if late is not None and late[0].page_key in drift.pages:
                _added(self._fresh, *late)
        # How the old design looked is of no use.
        self._sights.clear()
        self._sample = SiteSample(self._settings.learn_pages)
        yield from self._learn_anew(self._former, at)

    def _is_time(self, sample: SiteSample) -> bool:
        return len(sample) in (*_FRESH_AT, sample.most)

    def _learn_anew(self, former: SiteKnowledge, at: datetime) -> Steps[None]:
        newer = yield self._learned_from(self._fresh, with_sights=True, former=former)
        if newer.templates:
            self._keep(former.merged(newer, replaces_rest=True), at)
        if len(self._fresh) >= self._fresh.most:
            self._former = None
            self._fresh = SiteSample(self._settings.learn_pages)

    def _learn_strays(self, at: datetime) -> Steps[None]:
        newer = yield self._learned_from(self._strays, with_sights=False)
        if self.knowledge is not None and newer.templates:
            self._keep(self.knowledge.merged(newer, replaces_rest=False), at)
        if len(self._strays) >= self._strays.most:
            self._strays = SiteSample(self._settings.learn_pages)

    def _keep(self, newer: SiteKnowledge, at: datetime) -> None:
        older = self.knowledge
        self.knowledge = newer.with_decisions_of(older)
        self._records += changes(older, self.knowledge, at)

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


def _added(sample: SiteSample, page: LearnedPage, html: str) -> bool:
    """Take a page into a sample; return whether that has grown by it."""
    before = len(sample)
    if sample.wants(page.page_key):
        sample.add(page, html)
    return len(sample) > before


def _raised(domain: str, drift: Drift, at: datetime) -> AlarmRecord:
    return AlarmRecord(domain, drift.layout, drift.cause, drift.failed, drift.looked, drift.since, raised_at=at)
