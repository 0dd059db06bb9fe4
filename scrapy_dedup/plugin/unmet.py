"""Domains that were met while the store did not answer: asked for again, so that they are not strangers for long."""

import logging
from collections.abc import Callable

from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service.crawl import Crawl
from scrapy_dedup.service.crawl_cutting import load
from scrapy_dedup.service.recalling import recall_late
from scrapy_dedup.store.errors import AwayStoreError

logger = logging.getLogger(__name__)


class Unmet:
    """What is known of them, and what people decided about them, holds from when the store is back."""

    def __init__(self, crawl: Crawl, count: Callable[[str, int], None]) -> None:
        self._crawl = crawl
        self._count = count
        self._domains: dict[str, None] = {}
        self._asking: Deferred[None] | None = None

    def note(self, domain: str) -> None:
        """Note a domain that nobody could ask about."""
        if not self._domains:
            logger.warning("The store does not answer: domains that are new to this crawl are learned anew till then")
        self._domains[domain] = None

    def look(self) -> None:
        """Begin to ask again, unless that is under way."""
        if self._domains and self._asking is None:
            self._asking = deferred_from_coro(self._ask())

    async def _ask(self) -> None:
        try:
            for domain in list(self._domains):
                stored = await run_in_thread(load, self._crawl.store, domain)
                recall_late(self._crawl, domain, stored)
                self._domains.pop(domain, None)
        except AwayStoreError:
            # It says so at once.
            return
        except DedupError as error:
            self._count("store/errors", 1)
            logger.warning("What is known of %d domains cannot be read: %s", len(self._domains), error)
            self._domains.clear()
        finally:
            self._asking = None
