"""Which pages a browser is to look at in a crawl, within its budgets, and what becomes of what it saw."""

from collections import Counter, deque
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.service.learning import SiteLearner
from scrapy_dedup.service.policies import parse_limits
from scrapy_dedup.service.templates.site_knowledge import REST, LayoutTemplate, SiteKnowledge
from scrapy_dedup.settings import Settings

SURE: Final = 0.95
"""A template of less confidence is looked at again: more than a twentieth of the text may be judged wrongly."""
# So little text is not what a page is about: its scripts bring that.
NEARLY_EMPTY: Final = 200
# A page holds its HTML and its blocks while it waits.
_MOST_WAITING: Final = 20
# Of a layout: pages that a browser could not show.
_MOST_FAILURES: Final = 2


class PageToShow(Struct, frozen=True):
    """A page that is to be shown, and why."""

    domain: str
    layout: int
    page_key: bytes
    url: str
    html: str
    page: Page
    reason: str = ""

    @property
    def needs_scripts(self) -> bool:
        """Whether the page says next to nothing as it came."""
        return self.page.chars < NEARLY_EMPTY


class LayoutSeen(Struct, frozen=True):
    """What a run has met of a layout.

    Attributes:
        layout: REST for pages of no known one.
        pages: how many.
        is_drifting: its template ceased to fit.
        is_empty: its pages say next to nothing as they come.
    """

    layout: int
    pages: int = 0
    is_drifting: bool = False
    is_empty: bool = False


def reason_to_show(knowledge: SiteKnowledge | None, met: LayoutSeen, settings: Settings) -> str | None:
    """Return why a browser is to look at pages of a layout; None where it is not.

    *knowledge* of its site is None while nothing is learned; *met* is the layout.
    """
    if settings.teacher == "off" or knowledge is None:
        return None
    known = knowledge.templates.get(met.layout)
    if met.pages + (known.pages if known else 0) < settings.learn_after:
        return None
    if known is None:
        return "it has no template of its own" if met.layout != REST else None
    if known.vision is not None and known.vision.needs_rendering:
        return None
    is_unseen = known.source != "visual" and not known.overrides and known.layout != REST
    return _doubt(known, met) or ("no browser has seen it" if settings.teacher == "new" and is_unseen else None)


def _doubt(known: LayoutTemplate, met: LayoutSeen) -> str | None:
    """Return why a template is not sure; None where it is, or where looking would not help."""
    if met.is_drifting:
        return "its template ceased to fit"
    if met.is_empty and known.vision is None:
        return "its pages say next to nothing without scripts"
    if known.overrides or known.source == "visual":
        # What a person decided about a layout stands.
        return None
    if known.state != "live":
        return f"its template is not live: {known.reason}"
    return f"its template is unsure: confidence {known.confidence:.2f}" if known.confidence < SURE else None


class PagesToShow:
    """The pages of one crawl that are to be shown, and what was spent on them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._waiting: deque[PageToShow] = deque()
        self._of_domain: Counter[str] = Counter()
        self._of_layout: Counter[tuple[str, int]] = Counter()
        self._failed: Counter[tuple[str, int]] = Counter()
        self._spent = 0
        self.is_over = settings.teacher == "off"
        """No page is shown any more: the budget is spent, or there is no browser."""

    def __len__(self) -> int:
        return len(self._waiting)

    def meet(self, learner: SiteLearner, page: PageToShow) -> bool:
        """Take in a page that was cut, if its layout is to be looked at; return whether that is so."""
        if not self._has_room(page):
            return False
        met = LayoutSeen(
            page.layout,
            pages=learner.seen(page.layout),
            is_drifting=learner.is_drifting(page.layout),
            is_empty=page.needs_scripts,
        )
        reason = reason_to_show(learner.knowledge, met, self._settings)
        if reason is None:
            return False
        self._add(replace(page, reason=reason))
        return True

    def meet_young(self, learner: SiteLearner) -> None:
        """Take in pages of a site that has too few to learn from without a browser; other sites have none such."""
        limits = parse_limits(self._settings)
        for known, html in learner.young_pages():
            page = parse_page(html, limits)
            if isinstance(page, Page):
                young = PageToShow(
                    learner.domain, REST, known.page_key, known.url, html, page, "its site has few pages"
                )
                if self._has_room(young):
                    self._add(young)

    def _has_room(self, page: PageToShow) -> bool:
        which = (page.domain, page.layout)
        return (
            not self.is_over
            and len(self._waiting) < _MOST_WAITING
            and self._of_layout[which] < self._settings.teacher_layout_pages
            and self._failed[which] < _MOST_FAILURES
            and self._of_domain[page.domain] < self._settings.teacher_domain_pages
        )

    def _add(self, page: PageToShow) -> None:
        self._waiting.append(page)
        self._of_layout[page.domain, page.layout] += 1
        self._of_domain[page.domain] += 1
        self._spent += 1
        self.is_over = self._spent >= self._settings.teacher_pages

    @property
    def has_met(self) -> bool:
        """Whether a page was to be shown."""
        return self._spent > 0 or bool(self._failed)

    def take(self) -> PageToShow | None:
        """Return the page that has waited longest; None where none waits."""
        return self._waiting.popleft() if self._waiting else None

    def fail(self, page: PageToShow, *, lasting: bool) -> None:
        """Note that a page was not shown; what it was to cost is not spent.

        *lasting*: no other page will be shown either.
        """
        which = (page.domain, page.layout)
        self._of_layout[which] -= 1
        self._failed[which] += 1
        if lasting:
            self._waiting.clear()
            self.is_over = True
