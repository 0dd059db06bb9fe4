"""From a sample of a site's pages to what is known of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.layouts import LayoutIndex, cluster
from scrapy_dedup.core.locators import learn_locators
from scrapy_dedup.core.mining import Cluster, MinedBlock, MinedPage, mine
from scrapy_dedup.core.path_verdicts import DropReason, learn
from scrapy_dedup.core.template_paths import Why
from scrapy_dedup.core.templates import Template, cut, part_of, template_of
from scrapy_dedup.core.trial import Trial, try_out
from scrapy_dedup.core.urls import page_key
from scrapy_dedup.service.policies import parse_limits, url_rules
from scrapy_dedup.service.site_cleaning import quietly
from scrapy_dedup.service.site_knowledge import REST, LayoutTemplate, SiteKnowledge, State
from scrapy_dedup.service.site_sample import HELD_BACK, LearnedPage, SiteSample, learned_page
from scrapy_dedup.settings import Settings

# One page in five is held back: what is learned from four of five pages is nearly what all five teach.
_HELD_BACK_ONE_IN: Final = 5


def learn_site(domain: str, pages: Iterable[tuple[str, str]], settings: Settings) -> SiteKnowledge:
    """Return what a site's pages teach, given by URL and HTML; pages that cannot be parsed teach nothing."""
    sample = SiteSample(settings.learn_pages)
    limits, rules = parse_limits(settings), url_rules(settings)
    for url, html in pages:
        key = page_key(url, rules)
        page = parse_page(html, limits) if sample.wants(key) else None
        if isinstance(page, Page):
            sample.add(learned_page(key, url, page), html)
    return learn_sample(domain, sample, settings)


def learn_sample(domain: str, sample: SiteSample, settings: Settings) -> SiteKnowledge:
    """Return what a sample of a site's pages teaches.

    A layout has a template of its own from DEDUP_LEARN_AFTER pages on; pages of other layouts are cut by that of the
    rest, which is learned from all pages. From fewer than DEDUP_MIN_PAGES pages nothing is learned.
    """
    pages = sample.pages()
    if len(pages) < settings.min_pages:
        return SiteKnowledge(domain, len(pages))
    trials = _Trials(sample, pages, settings)
    template = template_of(learn([page.observation for page in pages]))
    leaders = cluster([page.skeleton for page in pages])
    index = LayoutIndex()
    for leader in _leaders(pages, leaders):
        index.add(leader.skeleton)
    named = {found.signature: found for found in mine([_mined(page) for page in pages])}
    templates = {REST: _judged(LayoutTemplate(REST, template, pages=len(pages)), trials.total(), pages)}
    for layout, count in sorted(Counter(leaders).items()):
        own = [page for page, leader in zip(pages, leaders, strict=True) if leader == layout]
        if count >= settings.learn_after:
            templates[layout] = _judged(_of_layout(layout, template, own, named.get(layout)), trials.of(own), own)
    return SiteKnowledge(domain, len(pages), index, templates)


def _leaders(pages: Sequence[LearnedPage], leaders: Sequence[int]) -> list[LearnedPage]:
    """Return the pages that lead layouts, those of most pages first, and after them the others."""
    counts = Counter(leaders)
    leading = {page.skeleton.l1: page for page in reversed(pages) if page.skeleton.l1 in counts}
    first = sorted(leading.values(), key=lambda page: (-counts[page.skeleton.l1], page.skeleton.l1))
    return first + [page for page in pages if leading.get(page.skeleton.l1) is not page]


def _of_layout(layout: int, template: Template, pages: Sequence[LearnedPage], found: Cluster | None) -> LayoutTemplate:
    skeleton = next(page.skeleton for page in pages if page.skeleton.l1 == layout)
    paths = {path for page in pages for path in page.observation.paths}
    return LayoutTemplate(
        layout=layout,
        template=part_of(template, paths),
        locators=learn_locators([page.evidence for page in pages]),
        structure=skeleton.l2,
        paths=tuple(sorted(skeleton.paths)),
        kind=found.named.name if found else "page",
        url_pattern=found.url_pattern if found else None,
        pages=len(pages),
    )


def _judged(one: LayoutTemplate, trial: Trial, pages: Sequence[LearnedPage]) -> LayoutTemplate:
    """Return the template live if it was at least as good as the fallback on pages that it did not learn from."""
    state: State = "live" if trial.passed else "probation"
    # The more pages, the less can an odd one have led astray.
    confidence = round(trial.agreement * len(pages) / (len(pages) + 1), 3)
    return replace(one, state=state, reason=trial.evidence, confidence=confidence)


class _Trials:
    """A template learned without some pages, tried on these."""

    def __init__(self, sample: SiteSample, pages: Sequence[LearnedPage], settings: Settings) -> None:
        held = list(sample.held_back(min(HELD_BACK, max(1, len(pages) // _HELD_BACK_ONE_IN))))
        keys = {page.page_key for page, _ in held}
        verdicts = learn([page.observation for page in pages if page.page_key not in keys])
        self._template = template_of(verdicts)
        self._limits = parse_limits(settings)
        self._pages = len(pages) - len(held)
        self._trials = {page.page_key: self._try(page, html) for page, html in held}

    def total(self) -> Trial:
        """Return how it did on all pages."""
        return sum(self._trials.values(), Trial())

    def of(self, pages: Sequence[LearnedPage]) -> Trial:
        """Return how it did on those among these pages; where there is none, on all."""
        own = [self._trials[page.page_key] for page in pages if page.page_key in self._trials]
        return sum(own, Trial()) if own else self.total()

    def _try(self, page: LearnedPage, html: str) -> Trial:
        parsed = parse_page(html, self._limits)
        assert isinstance(parsed, Page)
        found = zip(
            parsed.blocks, cut(parsed, self._template).removed, quietly(html, parsed, page.url).keep, strict=True
        )
        # Extractors keep some comments and leave others: what readers wrote below a page is not what is tried here.
        judged = [(block, why is None, kept) for block, why, kept in found if not _is_comment(why)]
        blocks, our, their = zip(*judged, strict=True) if judged else ((), (), ())
        return try_out(blocks, our, their, self._template.repeated, self._pages)


def _is_comment(why: Why | None) -> bool:
    return why is not None and why.reason is DropReason.COMMENTS


def _mined(page: LearnedPage) -> MinedPage:
    seen = page.observation
    rows = zip(seen.at, seen.fingerprints, seen.chars, seen.link_chars, strict=True)
    blocks = [MinedBlock(seen.paths[place], key, chars, linked) for place, key, chars, linked in rows]
    return MinedPage(page.url, page.skeleton, blocks, page.title)
