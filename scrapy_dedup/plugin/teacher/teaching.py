"""Pages are shown to a browser while a crawl goes on, and their sites learn from what it sees."""

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro

from scrapy_dedup.core.teacher import numbered
from scrapy_dedup.plugin.crawl.aside import Aside, CrawlEndedError
from scrapy_dedup.plugin.crawl.engine_state import EngineState
from scrapy_dedup.plugin.crawl.ways import Ways
from scrapy_dedup.plugin.teacher.subresources import Loop, SubResources
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.service.teacher.lessons import LookedAtPage, picture_of, see
from scrapy_dedup.service.teacher.teaching import SURE, PageToShow
from scrapy_dedup.teacher.browser import Browser
from scrapy_dedup.teacher.values import NotShown, NotShownReason, RenderedPage, Showing

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 2
# In a row, of whatever pages: then the browser, or the machine, is not up to it.
_MOST_FAILURES: Final = 3


class Teaching:
    """The browser of one crawl: started for its first page, ended with the crawl.

    Whatever becomes of it the crawl goes on; it is told once.
    """

    def __init__(self, crawler: Crawler, crawl: Crawl, ways: Ways, aside: Aside) -> None:
        self.waiting = crawl.to_show
        self._crawler = crawler
        self._crawl = crawl
        self._ways = ways
        self._aside = aside
        self._settings = settings = crawl.settings
        self._count = crawl.count
        self._browser = Browser(settings.teacher_browser, timeout=settings.teacher_timeout)
        self._resources: SubResources | None = None
        self._loop: Loop | None = None
        self._under_way = 0
        self._failures = 0
        self._ended = False
        self._has_met_young = False

    def watch(self) -> None:
        """Begin to hear when the crawl has nothing else to do; call it on the crawl's thread."""
        self._loop = Loop()
        self._resources = SubResources(self._crawler, self._settings, self._ways)
        connect: Callable[..., None] = self._crawler.signals.connect
        connect(self._idle, signals.spider_idle)

    @property
    def is_busy(self) -> bool:
        """Whether pages are shown, or wait for it."""
        return not self._ended and bool(self._under_way or len(self.waiting))

    def begin(self) -> None:
        """Show pages that wait, a few at once."""
        while not self._ended and self._under_way < _AT_ONCE and (page := self.waiting.take()) is not None:
            self._under_way += 1
            deferred_from_coro(self._teach(page))

    def _idle(self) -> None:
        if not self._has_met_young:
            self._has_met_young = True
            for learner in self._crawl.learners.values():
                if learner.site is not None:
                    self.waiting.meet_young(learner.site)
        if self.is_busy:
            self.begin()
            raise DontCloseSpider

    async def _teach(self, page: PageToShow) -> None:
        try:
            answer = await self._look(page)
            if self._ended:
                return
            if isinstance(answer, NotShown):
                self._not_shown(page, answer)
            else:
                self._failures = 0
                self._count("teacher/pages", 1)
                await self._learn(page, answer)
        except Exception as error:
            self._count(f"teacher/errors/{type(error).__name__}", 1)
            logger.exception("A page teaches nothing because of a defect in scrapy_dedup")
            self.waiting.fail(page, lasting=False)
        finally:
            self._under_way -= 1
            if not self.is_busy:
                EngineState(self._crawler).look_again()

    async def _look(self, page: PageToShow) -> LookedAtPage | NotShown:
        """Show a page, and find out what is to be seen on it."""
        with_numbers = await run_in_thread(numbered, page.html, page.page)
        if with_numbers is None:
            return NotShown(NotShownReason.TOO_LARGE, "too many elements, or they read otherwise with numbers")
        answer = await self.show(Showing(page.url, with_numbers, scripts=page.needs_scripts, picture=True))
        return await run_in_thread(see, page, with_numbers, answer) if isinstance(answer, RenderedPage) else answer

    async def _learn(self, page: PageToShow, seen: LookedAtPage) -> None:
        """Let a site learn from a page that was shown, and keep its picture."""
        crawl, at = self._crawl, datetime.now(UTC)
        learner = crawl.learner(page.domain, "template")
        site = learner.site if learner is not None else None
        if site is None:
            return
        with suppress(CrawlEndedError):
            async with self._aside.turn(page.domain):
                if await self._aside.result(site.teach(seen.snapshot, at)):
                    crawl.rows += site.take_records(at)
                    self._count("teacher/lessons", 1)
        if seen.picture is not None and site.knowledge is not None:
            picture = picture_of(seen.shown, seen.picture, page.domain, site.knowledge, self._settings, at)
            await run_in_thread(crawl.store.put_picture, picture)

    async def show(self, showing: Showing) -> RenderedPage | NotShown:
        """Return what a page looks like, or why that is not known."""
        if self._ended or self._resources is None or self._loop is None:
            return NotShown(NotShownReason.FAILED, "the crawl has ended")
        try:
            return await self._loop.result_of(self._browser.show(showing, self._resources.fetch))
        except CancelledError:
            return NotShown(NotShownReason.FAILED, "the crawl has ended")

    def _not_shown(self, page: PageToShow, why: NotShown) -> None:
        self._count(f"teacher/not_shown/{why.reason}", 1)
        self._failures += 1
        lasting = why.is_lasting or self._failures >= _MOST_FAILURES
        if lasting and not self.waiting.is_over:
            self._count("teacher/unavailable", 1)
            logger.warning(
                "No browser looks at pages any more, and layouts are learned without: %s (%s)."
                " `scrapy dedup doctor` says what is missing",
                why.detail,
                why.reason,
            )
        elif not lasting:
            logger.info("%s was not shown (%s): %s", page.url, why.reason, why.detail)
        self.waiting.fail(page, lasting=lasting)

    async def end(self) -> None:
        """Close the browser; pages that are still shown teach nothing."""
        self._ended = True
        if self._settings.teacher == "unsure" and not self.waiting.has_met and not self.waiting.is_over:
            logger.info(
                "No browser looked at a page: no layout's template was missing, drifting or unsure (confidence below"
                " %.2f). `scrapy dedup templates learn DOMAIN --all` shows pages all the same",
                SURE,
            )
        await run_in_thread(self._browser.close)
