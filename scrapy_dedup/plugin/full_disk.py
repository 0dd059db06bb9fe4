"""What becomes of a crawl whose store has no room (DEDUP_STORE_FULL)."""

import logging
from collections.abc import Callable

from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro
from twisted.python.failure import Failure

from scrapy_dedup.plugin.write_behind import WriteBehind
from scrapy_dedup.report.numbers import count, short
from scrapy_dedup.service.crawl import Crawl
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.errors import FullStoreError

logger = logging.getLogger(__name__)

REASON = "dedup_store_full"


def writer_of(crawler: Crawler, crawl: Crawl, settings: Settings, add: Callable[[str, int], None]) -> WriteBehind:
    """Return the writer of a crawl's rows, which adds to stats by a function."""
    on_full = FullDisk(crawler, settings).met
    return WriteBehind(crawl, settings.write_every, add, on_full=on_full, patience=settings.shared_lease)


class FullDisk:
    """Tells it once until there is room again, and ends the crawl where that is wanted."""

    def __init__(self, crawler: Crawler, settings: Settings) -> None:
        self._crawler = crawler
        self._stops = settings.store_full == "stop"

    def met(self, error: FullStoreError, waiting: int) -> None:
        """Say what is full, and what to do about it."""
        free = "" if error.free_bytes is None else f" ({short(error.free_bytes)} bytes are free there)"
        if self._stops:
            logger.error(
                "The store's disk is full%s: the crawl ends, as DEDUP_STORE_FULL says. What it fetched goes out; what"
                " cannot be noted comes again. Free space, then start it again. %s",
                free,
                error,
            )
            self._end()
            return
        logger.warning(
            "The store's disk is full%s: the crawl goes on, and its items go out. %s wait in memory, and are written"
            " once there is room; the pages of those that cannot wait come again. Free space, or set"
            " DEDUP_STORE_FULL=stop to end in such a case. %s",
            free,
            count(waiting, "row"),
            error,
        )

    def _end(self) -> None:
        engine = self._crawler.engine
        if engine is not None and engine.spider is not None:
            deferred_from_coro(engine.close_spider_async(reason=REASON)).addErrback(_failed)


def _failed(failure: Failure) -> None:
    # It is closing already.
    logger.debug("The crawl could not be ended: %s", failure.value)
