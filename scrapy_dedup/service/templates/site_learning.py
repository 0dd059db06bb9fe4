"""The pages that a site is learned from, and what is known of it by them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heappush, heapreplace
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.names import APART
from scrapy_dedup.core.boilerplate.observations import Observation, observe
from scrapy_dedup.core.boilerplate.verdict_model import learn
from scrapy_dedup.core.locators import Evidence, learn_locators
from scrapy_dedup.core.metadata import evidence_of
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.templates.layouts import LayoutIndex, Skeleton, cluster, skeleton_of
from scrapy_dedup.core.templates.mining import Cluster, MinedPage, mine
from scrapy_dedup.core.templates.templates import (
    MORE_CAUTION,
    Template,
    Vision,
    certainty_of,
    is_too_thin,
    part_of,
    surrounded_on,
    template_of,
    thin_pages,
)
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.model_file import model_hash, verdict_model
from scrapy_dedup.service.policies import parse_limits, url_rules
from scrapy_dedup.service.templates.site_knowledge import REST, LayoutTemplate, SiteKnowledge
from scrapy_dedup.settings import Settings

if TYPE_CHECKING:
    from scrapy_dedup.core.teacher import NumberedPage, SeenPage, Snapshot

_TITLE_CHARS: Final = 200
_TURNED: Final = bytes(range(255, -1, -1))
"""Each byte with all bits turned."""

FEWEST_PAGES: Final = 5
"""A site is learned from."""
FEWEST_SHOWN: Final = 3
"""A site of which a browser has shown a page is learned from."""


class LearnedPage(Struct, frozen=True):
    """What is kept of a page while its site is learned; pickled, it goes to other processes."""

    page_key: bytes
    url: str
    observation: Observation
    skeleton: Skeleton
    evidence: Evidence
    """Of its title, date and author."""
    title: str | None = None


def learned_page(page_key: bytes, url: str, page: Page) -> LearnedPage:
    """Return what is to be learned from a page."""
    title = page.title[:_TITLE_CHARS] if page.title else None
    return LearnedPage(page_key, url, observe(page), skeleton_of(page), evidence_of(page, url), title)


class SiteSample:
    """At most *most* pages of one domain: those with the smallest page keys, which is no order that a site knows.

    So the sample does not depend on the order in which pages come. Ask `wants` before a page is looked at.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._pages: dict[bytes, LearnedPage] = {}
        self._largest: list[bytes] = []
        """Page keys with all bits turned, so that the heap's first is the largest key."""

    def __len__(self) -> int:
        return len(self._pages)

    def wants(self, page_key: bytes) -> bool:
        """Whether a page would be among those that are learned from; a page that is there already would not."""
        if page_key in self._pages:
            return False
        return len(self._pages) < self.most or page_key < self._largest[0].translate(_TURNED)

    def add(self, page: LearnedPage) -> bool:
        """Take in a page, where it is wanted; say whether there are more pages by it."""
        key, before = page.page_key, len(self._pages)
        if not self.wants(key):
            return False
        if before < self.most:
            heappush(self._largest, key.translate(_TURNED))
        else:
            gone = heapreplace(self._largest, key.translate(_TURNED))
            del self._pages[gone.translate(_TURNED)]
        self._pages[key] = page
        return len(self._pages) > before

    def copy(self) -> "SiteSample":
        """Return a sample of the same pages, which stays as it is."""
        copied = SiteSample(self.most)
        copied._pages, copied._largest = dict(self._pages), [*self._largest]
        return copied

    def pages(self) -> list[LearnedPage]:
        """Return the pages, by their keys."""
        return [self._pages[key] for key in sorted(self._pages)]


class PageSnapshot(Struct, frozen=True):
    """A page that a browser showed; pickled, it goes to other processes."""

    page_key: bytes
    url: str
    skeleton: Skeleton
    seen: "SeenPage"


def seen_page(page_key: bytes, url: str, page: Page, numbered: "NumberedPage", snapshot: "Snapshot") -> PageSnapshot:
    """Return what is to be learned from how a page looks."""
    from scrapy_dedup.core.teacher import see  # noqa: PLC0415 (few crawls have a teacher)

    return PageSnapshot(page_key, url, skeleton_of(page), see(page, numbered, snapshot))


class SiteSnapshots:
    """The shown pages of one site, each once, by their keys; without those that a browser showed oddly."""

    def __init__(self, snapshots: Sequence[PageSnapshot]) -> None:
        self.all = [one for _, one in sorted({one.page_key: one for one in snapshots}.items()) if not one.seen.is_odd]

    def of(self, index: LayoutIndex, layout: int) -> "SiteSnapshots":
        """Return the snapshots of one layout."""
        found = ((one, index.find(one.skeleton)) for one in self.all)
        return SiteSnapshots([one for one, match in found if match is not None and match.signature == layout])

    def vision(self, agreement: float) -> Vision | None:
        """Return what is kept of them with a template; None where there are none."""
        if not self.all:
            return None
        from scrapy_dedup.core.teacher import vision_of  # noqa: PLC0415

        return vision_of([one.seen for one in self.all], agreement)


__all__ = ["PageSnapshot", "learn_sample", "learn_site", "seen_page"]


def learn_site(domain: str, pages: Iterable[tuple[str, str]], settings: Settings) -> SiteKnowledge:
    """Return what a site's pages teach, given by URL and HTML; pages that cannot be parsed teach nothing."""
    sample = SiteSample(settings.learn_pages)
    for url, html in pages:
        sample_page(sample, url, html, settings)
    return learn_sample(domain, sample, settings)


def sample_page(sample: SiteSample, url: str, html: str, settings: Settings) -> None:
    """Let a site be learned from a page, too, where the sample wants it and it can be parsed."""
    key = page_key(url, url_rules(settings))
    page = parse_page(html, parse_limits(settings)) if sample.wants(key) else None
    if isinstance(page, Page):
        sample.add(learned_page(key, url, page))


def learn_sample(
    domain: str,
    sample: SiteSample,
    settings: Settings,
    snapshots: Sequence[PageSnapshot] = (),
    former: SiteKnowledge | None = None,
) -> SiteKnowledge:
    """Return what a sample of a site's pages teaches.

    A layout has a template of its own from DEDUP_BATCH["learn_after"] pages on; pages of other layouts are cut by that
    of the rest, which is learned from all pages. From fewer than five pages nothing is learned; where a browser has
    shown one of them, from fewer than three.

    *snapshots* are of pages that a browser has shown, in any order; *former* is what was known of the site, where these
    are pages of another design.
    """
    pages = sample.pages()
    shown = SiteSnapshots(snapshots)
    if len(pages) < (FEWEST_SHOWN if shown.all else FEWEST_PAGES):
        return SiteKnowledge(domain, len(pages))
    looks = [one.seen.paths for one in shown.all]
    observations = [page.observation for page in pages]
    rest = former.templates.get(REST) if former is not None else None
    before = rest.template if rest is not None else None
    model, more = verdict_model(), max(settings.cut_caution, MORE_CAUTION)
    template = template_of(learn(observations, model, settings.cut_caution, looks, before))
    thin = thin_pages(template, observations)
    if is_too_thin(thin, len(pages)):
        template = template_of(learn(observations, model, more, looks, before), least_caution=more)
        thin = thin_pages(template, observations)
    leaders = cluster([page.skeleton for page in pages])
    index = LayoutIndex()
    for leader in _leaders(pages, leaders):
        index.add(leader.skeleton)
    named = {found.signature: found for found in mine([_mined(page) for page in pages])}
    templates = {REST: _judged(LayoutTemplate(REST, template, pages=len(pages)), pages, shown, thin)}
    for layout, count in sorted(Counter(leaders).items()):
        own = [page for page, leader in zip(pages, leaders, strict=True) if leader == layout]
        if count >= settings.learn_after:
            one = _of_layout(layout, template, own, named.get(layout))
            thin = thin_pages(one.template, [page.observation for page in own])
            templates[layout] = _judged(one, own, shown.of(index, layout), thin)
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


def _judged(one: LayoutTemplate, pages: Sequence[LearnedPage], shown: SiteSnapshots, thin: int) -> LayoutTemplate:
    """Return a template with how sure its verdicts are on the pages of its layout.

    Where it leaves hardly anything of the main column on most of them (*thin*), also with more caution, it is not used:
    they are judged one by one.
    """
    observations = [page.observation for page in pages]
    certainty = certainty_of(one.template, observations)
    reason = f"by its own estimate right on {certainty:.0%} of the text"
    if shown.all:
        reason += f"; a browser showed {len(shown.all)} pages"
    if thin:
        reason += f"; leaves hardly anything of the main column on {thin} pages"
    return replace(
        one,
        template=replace(one.template, surrounded=surrounded_on(one.template, observations)),
        state="probation" if is_too_thin(thin, len(pages)) else "live",
        reason=reason,
        confidence=certainty,
        vision=shown.vision(_agreement(one.template, shown)),
        source="visual" if shown.all else "static",
        model=model_hash(),
    )


def _agreement(template: Template, shown: SiteSnapshots) -> float:
    """Return how far what is kept is what looks like content: characters that both keep, of those that either does."""
    both = either = 0
    for one in shown.all:
        for path, there in one.seen.paths.items():
            keeps = template.lookup.standing(path).why is None
            looks = there.main >= APART * there.seen > 0
            both += there.seen * (keeps and looks)
            either += there.seen * (keeps or looks)
    return both / either if either else 1.0


def _mined(page: LearnedPage) -> MinedPage:
    seen = page.observation
    paths = map(seen.paths.__getitem__, seen.at)
    blocks = [*zip(paths, seen.fingerprints, seen.chars, seen.link_chars, strict=True)]
    return MinedPage(page.url, page.skeleton, blocks, page.title)
