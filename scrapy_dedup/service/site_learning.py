"""From a sample of a site's pages to what is known of it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.layouts import LayoutIndex, cluster
from scrapy_dedup.core.locators import learn_locators
from scrapy_dedup.core.mining import Cluster, MinedBlock, MinedPage, mine
from scrapy_dedup.core.path_verdicts import DropReason
from scrapy_dedup.core.template_paths import Why
from scrapy_dedup.core.templates import Cut, Template, cut, learn_template, part_of
from scrapy_dedup.core.trial import Trial, try_out
from scrapy_dedup.core.urls import page_key
from scrapy_dedup.core.vision import Sighted, agreements, confidence_of
from scrapy_dedup.service.policies import parse_limits, url_rules
from scrapy_dedup.service.site_cleaning import quietly
from scrapy_dedup.service.site_knowledge import REST, LayoutTemplate, SiteKnowledge
from scrapy_dedup.service.site_sample import LearnedPage, SiteSample, learned_page
from scrapy_dedup.service.site_sights import PageSight, SiteSights, seen_page
from scrapy_dedup.settings import Settings

# Of a page's text: where more is not to be seen, it is the browser that is odd.
_MOST_UNSEEN: Final = 0.2


__all__ = ["PageSight", "fewest_pages", "learn_sample", "learn_site", "seen_page"]

# With a browser's help: two pages to learn from, and one to try it on.
_FEWEST_WITH_SIGHTS: Final = 3


@dataclass(slots=True)
class Witnesses:
    """How far those who say what a page's content is agree, summed over pages; in characters."""

    pairs: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    chars: int = 0
    known: float = 0.0
    """On paths that the template knows."""
    seen: int = 0
    """Of which a browser has shown the like."""

    def __iadd__(self, other: Self) -> Self:
        """Take in other pages."""
        for name, sums in other.pairs.items():
            self.pairs[name].update(sums)
        self.chars += other.chars
        self.known += other.known
        self.seen += other.seen
        return self

    @property
    def voices(self) -> dict[str, float]:
        """How far each two agree, 0.0 to 1.0."""
        return {name: sums["both"] / max(1, sums["either"]) for name, sums in sorted(self.pairs.items())}

    @property
    def confidence(self) -> float:
        """How far the template is to be trusted."""
        chars = max(1, self.chars)
        return confidence_of(self.voices, self.known / chars, self.seen / chars)


@dataclass(slots=True)
class Outcome:
    """How templates did on some pages."""

    static: Trial = field(default_factory=Trial)
    visual: Trial = field(default_factory=Trial)
    """Taught by a browser, too; without pages where none was."""
    witnesses: Witnesses = field(default_factory=Witnesses)

    def __iadd__(self, other: Self) -> Self:
        """Take in other pages."""
        self.static += other.static
        self.visual += other.visual
        self.witnesses += other.witnesses
        return self

    @property
    def prefers_visual(self) -> bool:
        """Whether the template that a browser taught is to be used: unless it fails where the other does not."""
        return self.visual.pages > 0 and (self.visual.passed or not self.static.passed)


class Trials:
    """A template of all other pages of a sample, and one taught by a browser, each tried on the pages held back."""

    def __init__(
        self, sample: SiteSample, pages: Sequence[LearnedPage], sights: SiteSights, settings: Settings
    ) -> None:
        held = list(sample.held_back(sample.tried))
        keys = frozenset(page.page_key for page, _ in held)
        others = [page.observation for page in pages if page.page_key not in keys]
        self._static = learn_template(others)
        looks = [one.seen.paths for one in sights.without(keys).all]
        self._visual = learn_template(others, looks) if looks else None
        self._sighted = Sighted(looks, self._visual.lookup.folding) if self._visual else None
        self._limits = parse_limits(settings)
        self._outcomes = {page.page_key: self._try(page, html) for page, html in held}

    def total(self) -> Outcome:
        """Return how they did on all pages."""
        return _sum(self._outcomes.values())

    def of(self, pages: Sequence[LearnedPage]) -> Outcome:
        """Return how they did on those among these pages; where there is none, on all."""
        own = [self._outcomes[page.page_key] for page in pages if page.page_key in self._outcomes]
        return _sum(own) if own else self.total()

    def _try(self, page: LearnedPage, html: str) -> Outcome:
        parsed = parse_page(html, self._limits)
        assert isinstance(parsed, Page)
        theirs = quietly(html, parsed, page.url).keep
        static = cut(parsed, self._static)
        outcome = Outcome(_tried(parsed, static, theirs, self._static))
        if self._visual is not None and self._sighted is not None:
            visual = cut(parsed, self._visual)
            outcome.visual = _tried(parsed, visual, theirs, self._visual)
            sighted = self._sighted.keeps(parsed)
            repetition = [None if _is_comment(why) else why is None for why in static.removed]
            kept: dict[str, Sequence[bool | None]] = {
                "extractor": theirs,
                "repetition": repetition,
                "vision": sighted,
            }
            outcome.witnesses = _witnesses(parsed, kept, visual)
        return outcome


def _sum(outcomes: Iterable[Outcome]) -> Outcome:
    total = Outcome()
    for outcome in outcomes:
        total += outcome
    return total


def _witnesses(page: Page, kept: Mapping[str, Sequence[bool | None]], found: Cut) -> Witnesses:
    sums = Witnesses(chars=page.chars, known=found.fit * page.chars)
    sums.seen = sum(
        len(block.text) for block, seen in zip(page.blocks, kept["vision"], strict=True) if seen is not None
    )
    # What readers wrote is kept by some and left by others; where one calls a block that, none is asked.
    asked = [None not in said for said in zip(*kept.values(), strict=True)]
    kept = {name: [keep if ask else None for keep, ask in zip(said, asked, strict=True)] for name, said in kept.items()}
    for name, (both, either) in agreements(page, kept).items():
        sums.pairs[name].update(both=both, either=either)
    return sums


def _tried(page: Page, found: Cut, theirs: Sequence[bool], template: Template) -> Trial:
    # Extractors keep some comments and leave others, and read what no person sees: neither is what is tried here.
    passed_over = {DropReason.COMMENTS}
    unseen = sum(len(block.text) for block, why in zip(page.blocks, found.removed, strict=True) if _is_unseen(why))
    if unseen <= _MOST_UNSEEN * page.chars:
        passed_over.add(DropReason.UNSEEN)
    judged = [
        (block, why is None, kept)
        for block, why, kept in zip(page.blocks, found.removed, theirs, strict=True)
        if why is None or why.reason not in passed_over
    ]
    blocks, our, their = zip(*judged, strict=True) if judged else ((), (), ())
    return try_out(blocks, our, their, template.repeated, template.pages)


def _is_comment(why: Why | None) -> bool:
    return why is not None and why.reason is DropReason.COMMENTS


def _is_unseen(why: Why | None) -> bool:
    return why is not None and why.reason is DropReason.UNSEEN


def fewest_pages(settings: Settings, *, shown: bool) -> int:
    """Return from how many pages a site is learned; a site of which a browser has shown a page, from three."""
    return min(settings.min_pages, _FEWEST_WITH_SIGHTS) if shown else settings.min_pages


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


def learn_sample(
    domain: str, sample: SiteSample, settings: Settings, sights: Sequence[PageSight] = ()
) -> SiteKnowledge:
    """Return what a sample of a site's pages teaches.

    A layout has a template of its own from DEDUP_LEARN_AFTER pages on; pages of other layouts are cut by that of the
    rest, which is learned from all pages. From fewer than DEDUP_MIN_PAGES pages nothing is learned; where a browser has
    shown one of them, from fewer than three.

    Args:
        domain: of the site.
        sample: its pages.
        settings: how many pages are needed.
        sights: pages that a browser has shown, in any order.
    """
    pages = sample.pages()
    shown = SiteSights(sights)
    if len(pages) < fewest_pages(settings, shown=bool(shown.all)):
        return SiteKnowledge(domain, len(pages))
    observations = [page.observation for page in pages]
    looks = [one.seen.paths for one in shown.all]
    static = learn_template(observations)
    visual = learn_template(observations, looks) if looks else static
    trials = Trials(sample, pages, shown, settings)
    leaders = cluster([page.skeleton for page in pages])
    index = LayoutIndex()
    for leader in _leaders(pages, leaders):
        index.add(leader.skeleton)
    named = {found.signature: found for found in mine([_mined(page) for page in pages])}
    outcome = trials.total()
    rest = LayoutTemplate(REST, visual if outcome.prefers_visual else static, pages=len(pages))
    templates = {REST: _judged(rest, outcome, pages, shown)}
    for layout, count in sorted(Counter(leaders).items()):
        own = [page for page, leader in zip(pages, leaders, strict=True) if leader == layout]
        if count >= settings.learn_after:
            outcome = trials.of(own)
            template = visual if outcome.prefers_visual else static
            one = _of_layout(layout, template, own, named.get(layout))
            templates[layout] = _judged(one, outcome, own, shown.of(index, layout))
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


def _judged(one: LayoutTemplate, outcome: Outcome, pages: Sequence[LearnedPage], shown: SiteSights) -> LayoutTemplate:
    """Return the template live if it was at least as good as the fallback on pages that it did not learn from."""
    trial = outcome.visual if outcome.prefers_visual else outcome.static
    vision = shown.vision(outcome.witnesses.voices)
    # The more pages, the less can an odd one have led astray.
    confidence = round(trial.agreement * len(pages) / (len(pages) + 1), 3)
    if vision is not None and outcome.prefers_visual:
        one = replace(one, source="visual")
        confidence = outcome.witnesses.confidence
    return replace(
        one,
        state="live" if trial.passed else "probation",
        reason=trial.evidence,
        confidence=confidence,
        vision=vision,
    )


def _mined(page: LearnedPage) -> MinedPage:
    seen = page.observation
    rows = zip(seen.at, seen.fingerprints, seen.chars, seen.link_chars, strict=True)
    blocks = [MinedBlock(seen.paths[place], key, chars, linked) for place, key, chars, linked in rows]
    return MinedPage(page.url, page.skeleton, blocks, page.title)
