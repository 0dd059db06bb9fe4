"""What the engine is doing; the only place that reads what Scrapy does not promise, each time with a way out."""

import logging
from collections.abc import Set as AbstractSet
from typing import Any

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request
from scrapy.crawler import Crawler

from scrapy_dedup.plugin.requests import is_known_component

logger = logging.getLogger(__name__)

# Between two looks a callback may still be working on its next requests.
_QUIET_LOOKS = 3


def only_known_listen(crawler: Crawler, *sent: object) -> bool:
    """Say whether all receivers of some signals are Scrapy's or ours."""
    receivers = [one for signal in sent for one in liveReceivers(getAllReceivers(crawler, signal))]
    return all(is_known_component(getattr(receiver, "__self__", receiver)) for receiver in receivers)


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

    def make_room(self, parked_bytes: int) -> None:
        """Let the scraper hold what is parked besides half of what it may by itself, unless the project says how much.

        Not more: pages come faster than they are cut, and each takes several times its HTML while it waits.
        """
        scraper_slot = self._scraper_slot()
        settings, name = self._crawler.settings, "SCRAPER_SLOT_MAX_ACTIVE_SIZE"
        if hasattr(scraper_slot, "max_active_size") and not settings.getpriority(name):
            scraper_slot.max_active_size = settings.getint(name) // 2 + parked_bytes

    def pressed(self, parked_bytes: int) -> bool:
        """Say whether the scraper holds so much that the downloader is told to wait, two thirds of it parked pages.

        What else it holds is worked on, and leaves by itself.
        """
        scraper_slot = self._scraper_slot()
        needs_backout = getattr(scraper_slot, "needs_backout", None)
        if needs_backout is None or not needs_backout():
            return False
        return 3 * parked_bytes >= 2 * getattr(scraper_slot, "active_size", 0)

    def scraping(self) -> bool:
        """Say whether a callback runs, or an item is in a pipeline."""
        scraper_slot = self._scraper_slot()
        return bool(getattr(scraper_slot, "active", None) or getattr(scraper_slot, "queue", None))

    def quiet(self, arrived: int) -> bool:
        """Say whether nothing was downloaded or queued, at several looks in a row, while so many pages had *arrived*.

        In Scrapy 2.15 a callback starts 0.1 s after its page came, so that at every look a spider that asks for one
        page after the other is downloading nothing.
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

    def _scraper_slot(self) -> Any:
        return getattr(getattr(self._engine(), "scraper", None), "slot", None)

    def _slot(self) -> Any:
        engine = self._engine()
        return getattr(engine, "_slot", None) or getattr(engine, "slot", None)
