"""Which pages of a domain a browser is to show, and what comes of that for the domain's templates."""

import struct
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from msgspec import Struct, field, to_builtins

from scrapy_dedup.core.teacher import NumberedPage
from scrapy_dedup.core.templates.layouts import cluster
from scrapy_dedup.service.cut.site_cleaning import cut_page
from scrapy_dedup.service.teacher.layout_picture import ShownPage, boxes_of
from scrapy_dedup.service.teacher.teaching import LayoutSeen, PageToShow, reason_to_show
from scrapy_dedup.service.templates import site_knowledge
from scrapy_dedup.service.templates.site_knowledge import REST, LayoutTemplate, SiteKnowledge
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains.layouts import StoredPicture
from scrapy_dedup.teacher import RenderedPage


class Lesson(Struct, frozen=True):
    """A layout of which pages are to be shown.

    Attributes:
        pages: how many of it are at hand.
        why: it is to be shown; empty where it need not be.
        shown: its pages that are to be shown, first those that are to be shown first.
        before: its template until now.
    """

    layout: int
    pages: int
    why: str
    shown: tuple[PageToShow, ...]
    before: LayoutTemplate | None


class Course(Struct):
    """What is to be learned of one domain, and from what."""

    domain: str
    sample: site_knowledge.SiteSample
    known: SiteKnowledge | None
    lessons: tuple[Lesson, ...] = ()
    snapshots: list[site_knowledge.PageSnapshot] = field(default_factory=list)

    @property
    def pages_to_show(self) -> int:
        """How many pages a browser is to show."""
        return sum(len(lesson.shown) for lesson in self.lessons)


def plan_course(
    domain: str,
    pages: Iterable[PageToShow],
    known: SiteKnowledge | None,
    settings: Settings,
    *,
    drifting: Collection[int] = (),
    shows_all: bool = False,
) -> Course:
    """Return which pages of a domain are to be shown: of layouts whose template is missing, unsure or drifting.

    *drifting* are layouts with an open alarm; *shows_all*: show pages of every layout that has enough of them.
    """
    sample = site_knowledge.SiteSample(settings.learn_pages)
    kept: dict[bytes, PageToShow] = {}
    for each in pages:
        if sample.wants(each.page_key):
            sample.add(site_knowledge.learned_page(each.page_key, each.url, each.page))
            kept[each.page_key] = each
    course = Course(domain, sample, known)
    left = settings.teacher_domain_pages
    lessons = []
    for layout, own in _by_layout(sample, kept, settings):
        before = known.templates.get(layout) if known is not None else None
        why = _why(known, layout, own, settings, is_drifting=layout in drifting) or ("asked for" if shows_all else "")
        # By no order that a site knows.
        in_order = sorted(own, key=lambda each: each.page_key) if why else []
        shown = tuple(in_order[: max(0, min(settings.teacher_layout_pages, left))])
        left -= len(shown)
        lessons.append(Lesson(layout, len(own), why, shown, before))
    course.lessons = tuple(lessons)
    return course


def _by_layout(
    sample: site_knowledge.SiteSample, pages: Mapping[bytes, PageToShow], settings: Settings
) -> list[tuple[int, list[PageToShow]]]:
    """Return the pages of each layout, most pages first; those of layouts with few pages are of the rest."""
    learned = sample.pages()
    leaders = cluster([one.skeleton for one in learned])
    counts = Counter(leaders)
    found: dict[int, list[PageToShow]] = {}
    for one, leader in zip(learned, leaders, strict=True):
        layout = leader if counts[leader] >= settings.learn_after else REST
        found.setdefault(layout, []).append(pages[one.page_key])
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))


def _why(
    known: SiteKnowledge | None, layout: int, pages: Sequence[PageToShow], settings: Settings, *, is_drifting: bool
) -> str:
    """Say why pages of a layout are to be shown, as a crawl would; empty where they need not be."""
    if known is None:
        return "nothing is known of its domain" if len(pages) >= site_knowledge.FEWEST_SHOWN else ""
    if settings.teacher == "off":
        # Who calls for lessons wants them, whatever crawls do.
        settings = replace(settings, teacher="unsure")
    is_empty = 2 * sum(page.needs_scripts for page in pages) > len(pages)
    return reason_to_show(known, LayoutSeen(layout, len(pages), is_drifting, is_empty), settings) or ""


def learn_course(course: Course, settings: Settings) -> SiteKnowledge:
    """Return what is known of the domain after its pages were shown; what a person decided stays."""
    newer = site_knowledge.learn_sample(course.domain, course.sample, settings, course.snapshots)
    older = course.known
    if older is not None and older.pages > newer.pages:
        newer = older.merged(newer, replaces_rest=False)
    return newer.with_decisions_of(older)


def picture_of(
    shown: ShownPage, png: bytes, domain: str, after: SiteKnowledge, settings: Settings, at: datetime
) -> StoredPicture:
    """Return a page that was shown as the picture of its layout."""
    found = cut_page(shown.html, shown.page, shown.url, after, settings)
    boxes = boxes_of(shown.page, shown.numbered, shown.snapshot, found, height=shown.height)
    width = shown.snapshot.width
    return StoredPicture(domain, found.layout, shown.url, at, width, shown.height, to_builtins(boxes), png)


# Signature, length and name of the first chunk; then width and height.
_SIZE_OF_PNG: Final = struct.Struct(">16xII")


class LookedAtPage(Struct, frozen=True):
    """A page that was shown, and what is to be learned from it."""

    shown: ShownPage
    snapshot: site_knowledge.PageSnapshot
    picture: bytes | None
    """PNG."""


def see(page: PageToShow, numbered: NumberedPage, shown: RenderedPage) -> LookedAtPage:
    """Return what is to be learned from a page that was shown."""
    height = _SIZE_OF_PNG.unpack_from(shown.picture)[1] if shown.picture else shown.snapshot.height
    share = shown.snapshot.js_share if page.needs_scripts else None
    return LookedAtPage(
        ShownPage(page.url, page.html, page.page, numbered, shown.snapshot, height, share),
        site_knowledge.seen_page(page.page_key, page.url, page.page, numbered, shown.snapshot),
        shown.picture,
    )
