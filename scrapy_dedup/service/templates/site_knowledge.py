"""What is known of one site: its layouts, how the pages of each are cut, and how that is learned."""

import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappush, heapreplace
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.names import APART
from scrapy_dedup.core.boilerplate.observations import Observation, observe
from scrapy_dedup.core.boilerplate.verdict_model import learn
from scrapy_dedup.core.duplicates import SiteSeen
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.locators import Evidence, Locators, learn_locators
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
from scrapy_dedup.core.templates.url_patterns import matches_pattern
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.model_file import model_hash, verdict_model
from scrapy_dedup.service.policies import parse_limits, url_rules
from scrapy_dedup.settings import Settings

if TYPE_CHECKING:
    from scrapy_dedup.core.teacher import NumberedPage, SeenPage, Snapshot

State = Literal["probation", "live", "retired"]

REST: Final = 0
"""The layout of the pages that are of no known one; no signature has this value but by chance in 2⁶⁴."""

_PLAIN: Final = "layout structure kind url_pattern pages confidence state reason source model".split()

BY_HAND: Final = "taken back by hand"
"""So begins the reason of a version that a person made live again: learning does not take its place."""


class StoredKnowledgeError(DedupError):
    """What was stored of a site cannot be read by this version."""


class Override(Struct, frozen=True):
    """What a person decided about the elements that a selector matches."""

    action: Literal["keep", "drop"]
    selector: str
    at: str = ""
    """When, in ISO 8601, and by whom: notes for people."""
    by: str = ""


class LayoutTemplate(Struct, frozen=True):
    """How the pages of one layout are cut; for what stands here see `store.records.records.TemplateRecord`."""

    layout: int
    template: Template
    locators: Locators = field(default_factory=Locators)
    structure: int = 0
    paths: tuple[str, ...] = ()
    kind: str = "page"
    url_pattern: str | None = None
    pages: int = 0
    confidence: float = 0.0
    state: State = "probation"
    reason: str = ""
    source: str = "static"
    """`visual` where a browser has shown pages of it, and that taught the template."""
    model: str = ""
    """What stands for the file of the model that made it."""
    vision: Vision | None = None
    """What it showed; None where it showed none."""
    overrides: tuple[Override, ...] = ()
    version: int | None = None
    """As stored; None while it is new."""

    @property
    def plain(self) -> dict[str, Any]:
        """Return what is stored of it as it stands here."""
        return {name: getattr(self, name) for name in _PLAIN}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return it from what `to_json` gave, with all that stands beside it."""
        return cls(
            template=Template.from_json(stored["template"]),
            locators=Locators.from_json(stored["locators"]),
            vision=convert(stored.get("vision"), Vision | None),
            paths=tuple(stored["paths"]),
            overrides=convert(stored["overrides"], tuple[Override, ...]),
            version=stored["version"],
            **{name: stored[name] for name in _PLAIN},
        )

    def to_json(self) -> dict[str, Any]:
        """Return what is needed to cut by it."""
        body: dict[str, Any] = {"template": self.template.to_json(), "locators": self.locators.to_json()}
        return body | ({"vision": to_builtins(self.vision)} if self.vision is not None else {})


class SiteKnowledge(Struct):
    """One domain. A domain that has no templates is known to have had too few pages, or pages too different."""

    domain: str
    pages: int = 0
    """Learned from so many."""
    index: LayoutIndex = field(default_factory=LayoutIndex)
    templates: dict[int, LayoutTemplate] = field(default_factory=dict)

    @property
    def seen(self) -> SiteSeen:
        """By which it is told what a page's own text is."""
        rest = self.templates.get(REST)
        return SiteSeen(rest.template.repeated if rest is not None else (), self.pages)

    @property
    def need_rendering(self) -> frozenset[int]:
        """Layouts whose text is made by scripts."""
        return frozenset(
            layout for layout, one in self.templates.items() if one.vision is not None and one.vision.needs_rendering
        )

    def layout_of(self, skeleton: Skeleton) -> int:
        """Return the layout that a page has; REST where it is of none."""
        match = self.index.find(skeleton)
        return match.signature if match is not None else REST

    def template_for(self, layout: int, url: str) -> LayoutTemplate | None:
        """Return the live template by which a page is cut: that of its layout, of its URL's, or of the rest."""
        chosen = self.templates.get(layout)
        if chosen is None or layout == REST:
            patterns = ((one.url_pattern, one) for _, one in sorted(self.templates.items()) if one.url_pattern)
            by_url = next((one for pattern, one in patterns if matches_pattern(pattern, url)), None)
            chosen = by_url or self.templates.get(REST)
        return chosen if chosen is not None and chosen.state == "live" else None

    def merged(self, newer: "SiteKnowledge", *, replaces_rest: bool) -> "SiteKnowledge":
        """Return this knowledge with that of pages which it did not fit.

        Args:
            newer: learned from such pages alone.
            replaces_rest: pages of no known layout are cut as those were: after a redesign.
        """
        templates = self.templates | {
            layout: one for layout, one in newer.templates.items() if layout != REST or replaces_rest
        }
        index = LayoutIndex.from_json(self.index.to_json())
        for layout in newer.index.layouts:
            index.add(layout.skeleton, layout.pages)
        return SiteKnowledge(self.domain, max(self.pages, newer.pages), index, templates)

    def with_decisions_of(self, older: "SiteKnowledge | None") -> "SiteKnowledge":
        """Return it with what was decided before: overrides, versions taken back, and what needs rendering."""
        if older is None:
            return self
        decided = {layout: one.overrides for layout, one in older.templates.items() if one.overrides}
        templates = {
            layout: replace(one, overrides=decided[layout]) if layout in decided else one
            for layout, one in self.templates.items()
        }
        templates |= {
            # Rendered, its pages have the same layout, and another text.
            layout: replace(one, vision=older.templates[layout].vision)
            for layout, one in templates.items()
            if layout in older.need_rendering
        }
        templates |= {layout: one for layout, one in older.templates.items() if one.reason.startswith(BY_HAND)}
        return SiteKnowledge(self.domain, self.pages, self.index, templates)

    def with_snapshots_of(self, older: "SiteKnowledge | None") -> "SiteKnowledge":
        """Return it with the templates that a browser taught before, where none has taught newer ones."""
        if older is None:
            return self
        taught = {
            layout: one
            for layout, one in older.templates.items()
            if one.source == "visual" and layout in self.templates and self.templates[layout].source != "visual"
        }
        return SiteKnowledge(self.domain, self.pages, self.index, self.templates | taught)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "domain": self.domain,
            "pages": self.pages,
            "index": self.index.to_json(),
            "templates": [
                one.plain
                | one.to_json()
                | {"paths": list(one.paths), "overrides": to_builtins(one.overrides), "version": one.version}
                for _, one in sorted(self.templates.items())
            ],
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return what `to_json` gave.

        Raises:
            DedupError: it is damaged, or of another version.
        """
        try:
            templates = [LayoutTemplate.from_json(one) for one in stored["templates"]]
            index = LayoutIndex.from_json(stored["index"])
            return cls(stored["domain"], stored["pages"], index, {one.layout: one for one in templates})
        except (KeyError, TypeError, ValueError) as error:
            raise StoredKnowledgeError(f"knowledge of a site: damaged ({error!r}); learn it again") from error


# Of JSON, which is some 7 MB in memory once it is read: 8 million characters of 12 real sites were 52.
# Pages of one domain mostly stand together.
MOST_CHARS: Final = 1_000_000
# Of a domain that nothing is known of, beside its name.
_NOTHING: Final = 200


class _Held(Struct, frozen=True):
    knowledge: SiteKnowledge | None
    chars: int


class RecentKnowledge:
    """Reads what is known of a domain, unless it has it; for one thread."""

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        """Take how many characters of JSON the domains may have that are held; the last one is, whatever it has."""
        self._most_chars = most_chars
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._chars = 0

    def get(self, place: str, read: Callable[[], str | None]) -> SiteKnowledge | None:
        """Return what lies at a place, where it stays as it is.

        Args:
            place: one for each domain.
            read: gives the JSON that lies there; None: nothing does.
        """
        held = self._held.get(place)
        if held is None:
            text = read()
            known = SiteKnowledge.from_json(json.loads(text)) if text is not None else None
            held = _Held(known, len(place) + (len(text) if text is not None else _NOTHING))
            self._held[place] = held
            self._chars += held.chars
            while self._chars > self._most_chars and len(self._held) > 1:
                self._chars -= self._held.popitem(last=False)[1].chars
        self._held.move_to_end(place)
        return held.knowledge


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


def learn_site(domain: str, pages: Iterable[tuple[str, str]], settings: Settings) -> SiteKnowledge:
    """Return what a site's pages teach, given by URL and HTML; pages that cannot be parsed teach nothing."""
    sample = SiteSample(settings.learn_pages)
    for url, html in pages:
        sample_page(sample, url, html, settings)
    return learn_sample(domain, sample, settings)


def sample_page(sample: SiteSample, url: str, html: str, settings: Settings) -> None:
    """Let a site be learned from a page, too, where the sample wants it and it can be parsed."""
    key = page_key(url, url_rules(settings))
    page = parse_page(html, parse_limits(settings), with_links=False) if sample.wants(key) else None
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
