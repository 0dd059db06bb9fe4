"""What the engine is doing; the only place that reads what Scrapy does not promise, each time with a way out."""

import logging
import sys
from collections.abc import Set as AbstractSet
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

logger = logging.getLogger(__name__)

# Between two looks a callback may still be working on its next requests.
_QUIET_LOOKS = 3
# A spider may keep its first responses.
_COMPARED_FIRST = 20


class Trees:
    """Lets go of the trees of callbacks' selectors, ten times the HTML each, while items wait in the pipeline.

    The tree's selector holds the response, too, so that neither would go before garbage is collected. Scrapy makes it
    again when asked, but as the page came: whoever else has the response may have changed the tree, so that it stays.
    """

    def __init__(self) -> None:
        self._fewest = sys.maxsize
        """References to a response that nobody has but Scrapy and its middlewares."""
        self._compared = 0

    def forget(self, response: Response) -> None:
        """Let go of a response's tree, once its callback has ended."""
        if getattr(response, "_cached_selector", None) is None:
            return
        references = sys.getrefcount(response)
        self._fewest = min(self._fewest, references)
        self._compared += 1
        if self._compared > _COMPARED_FIRST and references == self._fewest:
            response._cached_selector = None  # type: ignore[attr-defined]  # noqa: SLF001 (there is no other way)


class EngineState:
    """Looks at a crawler's engine. Where an attribute is missing the answer is no, and the longest wait decides."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._quiet_looks = 0
        self._arrived = 0
        self._told = False

    def closing(self) -> bool:
        """Say whether the crawl is ending, so that nothing may wait any longer."""
        slot = self._slot()
        return slot is not None and getattr(slot, "closing", None) is not None

    def pressed(self, parked_bytes: int) -> bool:
        """Say whether the scraper holds so much that the downloader is told to wait, most of it parked pages.

        What else it holds is worked on, and leaves by itself.
        """
        scraper_slot = getattr(getattr(self._engine(), "scraper", None), "slot", None)
        needs_backout = getattr(scraper_slot, "needs_backout", None)
        if needs_backout is None or not needs_backout():
            return False
        return 2 * parked_bytes >= getattr(scraper_slot, "active_size", 0)

    def scraping(self) -> bool:
        """Say whether a callback runs, or an item is in a pipeline."""
        scraper_slot = getattr(getattr(self._engine(), "scraper", None), "slot", None)
        return bool(getattr(scraper_slot, "active", None) or getattr(scraper_slot, "queue", None))

    def quiet(self, arrived: int) -> bool:
        """Say whether nothing was downloaded or queued, at several looks in a row.

        Args:
            arrived: how many pages came so far. In Scrapy 2.15 a callback starts 0.1 s after its page came, so that at
                every look a spider that asks for one page after the other is downloading nothing.
        """
        engine = self._engine()
        downloading = getattr(getattr(engine, "downloader", None), "active", None)
        scheduler = self.scheduler()
        if downloading is None or scheduler is None:
            return False
        is_working = downloading or arrived != self._arrived or self._has_pending(scheduler)
        self._quiet_looks = 0 if is_working else self._quiet_looks + 1
        self._arrived = arrived
        return self._quiet_looks >= _QUIET_LOOKS

    def duplicate_filter(self) -> Any:
        """Return the project's duplicate filter; None where the scheduler has none that is known."""
        return getattr(self.scheduler(), "df", None)

    def scheduler(self) -> Any:
        """Return what queues the requests; None where that is not known."""
        return getattr(self._slot(), "scheduler", None)

    def in_progress(self) -> AbstractSet[Request] | None:
        """Return the requests that Scrapy has not done with: fetched, called back, all items out; None: not known."""
        requests = getattr(self._slot(), "inprogress", None)
        return requests if isinstance(requests, AbstractSet) else None

    def _has_pending(self, scheduler: Any) -> bool:
        """Ask the scheduler, which may be another than Scrapy's and ask a server that fails."""
        try:
            return bool(scheduler.has_pending_requests())
        except Exception:
            if not self._told:
                logger.exception(
                    "The scheduler cannot be asked whether requests wait; pages wait up to the longest time"
                )
            self._told = True
            return True

    def _engine(self) -> Any:
        try:
            return self._crawler.engine
        except RuntimeError:
            return None

    def look_again(self) -> None:
        """Let an engine that was told not to close look at once whether it is still idle, not after some seconds."""
        next_call = getattr(self._slot(), "nextcall", None)
        if next_call is not None:
            next_call.schedule()

    def _slot(self) -> Any:
        engine = self._engine()
        return getattr(engine, "_slot", None) or getattr(engine, "slot", None)
