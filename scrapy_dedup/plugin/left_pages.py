"""Pages that workers of the run left behind: an idle worker does those of the dead, and waits for the living."""

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_dedup.plugin.claimed_requests import ClaimedRequests
from scrapy_dedup.plugin.claiming import Claims
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.service.claims import release_left
from scrapy_dedup.service.crawl import Crawl
from scrapy_dedup.store.claim_records import Claimant, ClaimReleasedRecord, LeftPage
from scrapy_dedup.store.errors import StoreError

logger = logging.getLogger(__name__)

_PAGES_AT_ONCE: Final = 100
# A page that was in the hands of so many workers that died is what they die of; as of a request in Redis.
_MOST_DEATHS: Final = 5
# Ticks between two looks, a second: nobody waits long at the end, and the store is asked little.
_TICKS: Final = 10


class LeftPages:
    """Keeps an idle worker open until there is surely nothing for it to do."""

    def __init__(
        self,
        crawler: Crawler,
        crawl: Crawl,
        claimant: Claimant,
        claims: Claims,
        requests: ClaimedRequests,
    ) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._claimant = claimant
        self._claims = claims
        self._requests = requests
        self._written: Callable[[], Awaitable[object]] | None = None
        self._looking: Deferred[None] | None = None
        self._is_over = False
        self._silent_since: float | None = None
        self._lost_some = False

    @property
    def lost_some(self) -> bool:
        """Whether a page of a dead worker was not asked for any more."""
        return self._lost_some or bool(self._crawler.stats.get_value("dedup/queue/given_up"))

    def watch(self, written: Callable[[], Awaitable[object]]) -> None:
        """Begin to wait for idle moments.

        Args:
            written: waits until all that is noted is written, or cannot be.
        """
        self._written = written
        connect: Callable[..., None] = self._crawler.signals.connect
        connect(self._idle, signals.spider_idle)

    def _idle(self) -> None:
        if self._claims.asked_since_idle:
            self._is_over = False
        if self._is_over:
            return
        if self._looking is None:
            self._looking = deferred_from_coro(self._look())
        raise DontCloseSpider

    async def _look(self) -> None:
        try:
            if not await self._finds_work():
                self._is_over = not await self._waits()
        except Exception:
            logger.exception("Whether other workers left pages is not known because of a defect in scrapy_dedup")
            self._is_over = True
        finally:
            self._looking = None
            EngineState(self._crawler).look_again()

    async def _finds_work(self) -> bool:
        """Send what the dead left; say whether there was something, or something new was begun meanwhile."""
        self._claims.asked_since_idle = False
        if self._written is not None:
            await self._written()
        try:
            left = await run_in_thread(self._take_over)
        except StoreError as error:
            self._note_silence(error)
            return False
        self._silent_since = None
        for one in left:
            self._send(one)
        return bool(left) or self._claims.asked_since_idle

    def _take_over(self) -> list[LeftPage]:
        """Return the pages of the dead that are to be sent; they are ours, unless others may be faster."""
        store = self._crawl.store
        store.rest_claims(self._claimant)
        queue = getattr(EngineState(self._crawler).scheduler(), "queue", None)
        if getattr(queue, "brings_back", False):
            # It does so by itself, and counts who died of each.
            release_left(store, self._claimant)
            return []
        left = store.left_by_the_dead(self._claimant, _PAGES_AT_ONCE)
        if left and not self._requests.has_own_queue():
            # Whichever worker takes them out of the queue claims them.
            store.write([ClaimReleasedRecord(*one.claim) for one in left])
        return left

    def _send(self, left: LeftPage) -> None:
        request, engine = self._requests.again(left), self._crawler.engine
        if request is None or engine is None:
            self._give_up(left, "unusable")
            return
        if left.deaths >= _MOST_DEATHS:
            logger.error("A page is given up: five workers that had it died: %.500s", request.url)
            self._give_up(left, "deadly")
            return
        if EngineState(self._crawler).closing():
            # It stays pending, for others.
            return
        self._crawl.count("claims/taken_over", 1)
        engine.crawl(request)

    def _give_up(self, left: LeftPage, why: str) -> None:
        self._lost_some = True
        self._crawl.count(f"claims/{why}", 1)
        self._requests.given_up(left)

    async def _waits(self) -> bool:
        """Wait for a moment where others have pages under way, which may become ours; say whether they have."""
        if self._silent_since is None:
            try:
                if not await run_in_thread(self._crawl.store.under_way_elsewhere, self._claimant):
                    return False
            except StoreError as error:
                self._note_silence(error)
        if self._silent_since is not None and self._claims.has_lease_passed(self._silent_since):
            return False
        for _ in range(_TICKS):
            await self._claims.pause()
        return True

    def _note_silence(self, error: StoreError) -> None:
        self._crawl.count("store/errors", 1)
        if self._silent_since is None:
            self._silent_since = time.monotonic()
            logger.warning("The store does not say whether other workers are done; it is asked again: %s", error)
