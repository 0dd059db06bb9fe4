"""Rows wait in memory and are written in batches, in a thread: the reactor never waits for the store."""

import logging
from collections.abc import Callable
from typing import Any

from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.service.crawl import Crawl, is_knowledge
from scrapy_dedup.store.errors import StoreError
from scrapy_dedup.store.records import Record

logger = logging.getLogger(__name__)

WRITE_SECONDS = 1.0
# A store that cannot be written must not fill the memory: beyond this the oldest rows are given up, counted, and their
# pages come again.
MOST_ROWS = 50_000


class WriteBehind:
    """Writes what a crawl notes, one batch at a time, in order."""

    def __init__(self, crawl: Crawl, every_rows: int, count: Callable[[str, int], None]) -> None:
        self._crawl = crawl
        self._every_rows = every_rows
        self._count = count
        self._writing: Deferred[None] | None = None
        self._warned = False

    def if_due(self) -> None:
        """Begin to write where enough rows wait."""
        if len(self._crawl.rows) >= self._every_rows:
            self.begin()

    def begin(self) -> None:
        """Begin to write what waits, unless the last batch is still on its way."""
        if self._writing is None and self._crawl.rows:
            rows, self._crawl.rows = self._crawl.rows, []
            self._writing = deferred_from_coro(self._write(rows))

    async def catch_up(self) -> None:
        """Wait until what is noted by now is written, or cannot be."""
        if self._writing is not None:
            await maybe_deferred_to_future(self._writing)
        self.begin()
        if self._writing is not None:
            await maybe_deferred_to_future(self._writing)

    async def flush(self) -> None:
        """Write what waits now."""
        if self._writing is not None:
            await maybe_deferred_to_future(self._writing)
        rows, self._crawl.rows = self._crawl.rows, []
        await self._write(rows)

    async def end(self) -> None:
        """Write everything that waits; errors are told, and what could not be written is counted."""
        await self.flush()
        if self._crawl.rows:
            self._count("store/rows_given_up", len(self._crawl.rows))
            logger.error("%d rows could not be written; their pages come again", len(self._crawl.rows))

    async def _write(self, rows: list[Record]) -> None:
        try:
            await run_in_thread(self._crawl.store.write, rows)
            self._count("store/rows", len(rows))
        except StoreError as error:
            self._not_written(rows, error)
        except Exception as error:  # noqa: BLE001 - one row that cannot be written must not keep the others
            await self._write_singly(rows, error)
        finally:
            self._writing = None

    async def _write_singly(self, rows: list[Record], error: Exception) -> None:
        """Write what can be written, and give up the rest."""
        logger.error("A row cannot be written because of a defect in scrapy_dedup", exc_info=error)
        for row in rows:
            try:
                await run_in_thread(self._crawl.store.write, [row])
                self._count("store/rows", 1)
            except StoreError as later:
                self._not_written([row], later)
            except Exception:  # noqa: BLE001 - the first one was told
                self._count("store/rows_given_up", 1)

    def _not_written(self, rows: list[Record], error: StoreError) -> None:
        self._count("store/errors", 1)
        if not self._warned:
            logger.warning("The store cannot be written; the crawl goes on and tries again: %s", error)
            self._warned = True
        waiting: list[Any] = [*rows, *self._crawl.rows]
        excess = len(waiting) - MOST_ROWS
        if excess > 0:
            kept = [row for row in waiting[:excess] if is_knowledge(row)]
            self._count("store/rows_given_up", excess - len(kept))
            waiting = kept + waiting[excess:]
        self._crawl.rows = waiting
