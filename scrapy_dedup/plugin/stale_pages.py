"""Unchanged pages whose text is another one now, because of what people decided or of what other pages hold.

They go out when the crawl has nothing else to do, made from what is stored, so that no callback runs for them.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.verdicts import Kind
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.refined_items import Outgoing, Renewer
from scrapy_dedup.plugin.safety import Safety
from scrapy_dedup.service.crawl import Crawl
from scrapy_dedup.service.refined_outcomes import by_pages, write_refined
from scrapy_dedup.service.refining import PAGES_AT_ONCE, Refinement, Refiner
from scrapy_dedup.service.run_pages import PagesMet
from scrapy_dedup.store.records import Record
from scrapy_dedup.store.store import Store

logger = logging.getLogger(__name__)


class StalePages:
    """Finds them once the spider is idle for the first time, and follows their items until they are safe."""

    def __init__(
        self,
        crawler: Crawler,
        store: Store,
        crawl: Crawl,
        ends: Callable[[], bool],
        written: Callable[[], Awaitable[object]],
    ) -> None:
        """Take what says whether an idle spider is at its end, and what waits until all that is noted is written."""
        self._crawler = crawler
        self._store = store
        self._crawl = crawl
        self._safety = Safety(crawler, follows_feeds=crawl.settings.ack == "auto", count=crawl.count)
        self._ends = ends
        self._written = written
        self._met = PagesMet()
        self._had_some = False
        self._looking: Deferred[None] | None = None
        self._under_way: dict[int, tuple[Outgoing, int, Any]] = {}
        self._safe: list[Record] = []

    def watch(self, met: PagesMet) -> None:
        """Begin to wait for the end.

        Args:
            met: pages that the run received, and what they were, as they come.
        """
        settings = self._crawl.settings
        if settings.acts("unchanged") and settings.unchanged != "mark":
            self._met = met
            self._had_some = self._crawl.store.has_stale_pages()
            connect: Callable[..., None] = self._crawler.signals.connect
            connect(self._idle, signals.spider_idle)

    def _idle(self) -> None:
        if self._looking is None and self._may_be_some() and self._ends():
            self._looking = deferred_from_coro(self._send())
            raise DontCloseSpider

    def _may_be_some(self) -> bool:
        """Say whether pages were stale when the run began, or may have become so by pages that changed or failed."""
        return self._had_some or self._crawl.others.lost_some or self._met.had(Kind.CHANGED)

    async def _send(self) -> None:
        keys: list[bytes] = []
        with _told():
            # Pages of this run may have handed their texts on to others.
            await self._written()
            stale = await run_in_thread(self._crawl.store.stale_pages)
            keys = [key for key in stale if self._met.get(key) is Kind.UNCHANGED]
        engine = self._crawler.engine
        if engine is not None and keys:
            meta = {"dedup": False}
            engine.crawl(Request("data:,", self._items, dont_filter=True, meta=meta, cb_kwargs={"keys": keys}))
        else:
            EngineState(self._crawler).look_again()

    async def _items(self, response: Response, keys: Sequence[bytes]) -> AsyncIterator[Any]:  # noqa: ARG002 (Scrapy's signature)
        """Yield the items of stale pages, a lot of pages at a time."""
        refiner = Refiner(self._store, self._crawl.store, self._crawl.settings)
        renewer = Renewer(self._crawl.settings, self._crawl.store.name)
        for start in range(0, len(keys), PAGES_AT_ONCE):
            found: list[Refinement] = []
            with _told():
                found = await run_in_thread(self._look, refiner, keys[start : start + PAGES_AT_ONCE])
            for refinement in found:
                page = renewer.outgoing(refinement)
                self._crawl.count("refine/pages", 1)
                for number, item in enumerate(page.items):
                    self._under_way[id(item)] = (page, number, item)
                    yield item

    def _look(self, refiner: Refiner, keys: Sequence[bytes]) -> list[Refinement]:
        """Return which of some pages have another text now, and write down what is safe by now; blocks."""
        self._write_safe()
        found, settled = refiner.stale(keys)
        self._crawl.store.forget_stale(settled)
        return found

    def knows(self, item: Any) -> bool:
        """Say whether an item is one of ours, and has not left."""
        return id(item) in self._under_way

    def left(self, item: Any, *, scraped: bool) -> bool:
        """Note that an item has left the pipelines; say whether it was one of ours."""
        feeds = self._safety.feeds_of(item) if scraped and self._under_way else set()
        found = self._under_way.pop(id(item), None)
        if found is None:
            return False
        page, number, _ = found
        page.left(number, item if scraped else None)
        page.waits_for |= feeds
        if page.is_done and not page.failed:
            self._safety.put(page.records(datetime.now(UTC)), page.waits_for, self._note_safe)
        return True

    def _note_safe(self, records: list[Record]) -> None:
        self._safe += records

    def failed(self, item: Any) -> bool:
        """Note that a later pipeline failed: the page comes again; say whether it was one of ours."""
        found = self._under_way.get(id(item))
        if found is not None:
            found[0].failed = True
        return self.left(item, scraped=False)

    def write(self) -> None:
        """Write what is safe; blocks, for the end of a run.

        Raises:
            StoreError: the store failed.
        """
        self._safe += self._safety.released()
        self._safety.end()
        self._write_safe()

    def _write_safe(self) -> None:
        safe, self._safe = self._safe, []
        for some in by_pages(safe):
            write_refined(self._store, self._crawl.store, self._crawl.settings, some)


@contextmanager
def _told() -> Iterator[None]:
    """Say that pages stay stale where something fails: the crawl goes on."""
    try:
        yield
    except DedupError as error:
        logger.warning("Pages whose text is to be made anew cannot be: %s; `scrapy dedup refine` does it", error)
