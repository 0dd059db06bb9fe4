"""The end of a crawl: all that waits is written, and the run is told how it ended."""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from scrapy.utils.asyncio import run_in_thread

from scrapy_dedup.plugin.acknowledgement import Acknowledgement
from scrapy_dedup.plugin.departures import Departures
from scrapy_dedup.plugin.domain_guard import DomainGuard
from scrapy_dedup.plugin.domain_registry import DomainRegistry
from scrapy_dedup.plugin.run_state import RunState
from scrapy_dedup.plugin.safety import Safety
from scrapy_dedup.plugin.stale_pages import StalePages
from scrapy_dedup.plugin.write_behind import MOST_BUSY, WriteBehind
from scrapy_dedup.service.crawl import Crawl
from scrapy_dedup.store.errors import AwayStoreError, BusyStoreError, StoreError

logger = logging.getLogger(__name__)

_RELEASED_AT_ONCE: Final = 5_000
_PAUSE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class RunEnd:
    """What has a part in the end of a crawl."""

    crawl: Crawl
    state: RunState
    writer: WriteBehind
    safety: Safety
    done: Acknowledgement
    guard: DomainGuard | None
    stale: StalePages
    departures: Departures
    registry: DomainRegistry
    give_back: Callable[[], Awaitable[int]]
    """Gives back what a shared queue lent, once all that could be written is; returns how much is not done."""

    async def come(self) -> None:
        """Write everything that waits and how the run ended; what cannot be written is told."""
        try:
            await self._write_released()
            self.safety.end()
            self.done.end()
            if self.guard is not None:
                await self.guard.end()
            await self.writer.end()
            await run_in_thread(self.stale.write)
            # Up to here the run is told how it stands: a worker that writes for long is not a dead one.
            await self.state.stop()
            left = await self.give_back()
            await self._leave(complete=not left)
        except StoreError as error:
            logger.warning("The end of the run could not be written: %s", error)
        finally:
            await self.state.stop()

    async def _write_released(self) -> None:
        """Write what feeds released at the end: of the whole crawl, perhaps, so in parts."""
        while some := list(islice(self.safety.released(), _RELEASED_AT_ONCE)):
            self.crawl.rows += some
            await self.writer.catch_up()

    async def _leave(self, *, complete: bool) -> None:
        """Leave the run; a server that is away, or busy, is waited for, as long as a worker may be silent."""
        until, busy = time.monotonic() + self.crawl.settings.shared_lease.total_seconds(), 0
        while True:
            try:
                return await run_in_thread(partial(self._end, complete=complete))
            except (AwayStoreError, BusyStoreError) as error:
                busy += isinstance(error, BusyStoreError)
                if time.monotonic() > until or busy >= MOST_BUSY:
                    raise
            await run_in_thread(time.sleep, _PAUSE_SECONDS)

    def _end(self, *, complete: bool) -> None:
        """End the run, unless other workers go on with it; a second time changes nothing."""
        ending = self.state.leave()
        # What could not be noted would count as missing.
        if ending.is_last and ending.status == "finished" and complete and not self.writer.has_given_up:
            self.departures.persist()
        self.registry.settle()
        if ending.is_last:
            self.state.end(ending.status)
        if ending.is_last and ending.status == "finished":
            self.crawl.store.forget_claims(self.crawl.run.id)
