"""Rows wait in memory and are written in batches, in a thread: the reactor never waits for the store."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_dedup.service.crawl.crawl import Crawl, is_knowledge
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import (
    AwayStoreError,
    BusyStoreError,
    FullStoreError,
    RefusedStoreError,
    StoreError,
)
from scrapy_dedup.store.records.records import ExtractionRecord, LeaseRecord, Record, ResponseRecord, SourceRecord

# What a row weighs beside its long texts: measured of documents, visits and URLs, with their keys and addresses.
_ROW_SIZE: Final = 600
_VALUE_SIZE: Final = 100
# What is beyond its bounds shrinks to this share of them, so that giving up is rare.
_ROOM: Final = 0.9


class RowBounds(Struct, frozen=True):
    """How much may wait: half a minute of a fast crawl, a hundred pages a second with ten rows each, fits.

    Attributes:
        rows: how many.
        size: about how many bytes they hold.
    """

    rows: int = 50_000
    size: int = 200_000_000


class HeldRows(Struct, frozen=True):
    """What still waits.

    Attributes:
        rows: in their order.
        size: about how many bytes they hold.
        originals: pages whose original, or outcome, was given up; they count as seen all the same.
        given_up: other rows; their pages come again.
    """

    rows: list[Record]
    size: int
    originals: int = 0
    given_up: Sequence[Record] = ()


def size_of(row: Record) -> int:
    """Return about how many bytes a row holds."""
    if isinstance(row, SourceRecord):
        return _ROW_SIZE + len(row.content) + len(row.cleaned_content or "")
    if isinstance(row, ResponseRecord):
        return _ROW_SIZE + len(row.body)
    if isinstance(row, ExtractionRecord):
        return _ROW_SIZE + sum(map(_value_size, (row.requests, row.items or ())))
    return _ROW_SIZE


def give_up(rows: Sequence[Record], bounds: RowBounds) -> HeldRows:
    """Return what is within the bounds.

    Too many bytes: the oldest originals and outcomes go, which a crawl can do without. Too many rows, or still too many
    bytes: the oldest go, but for what domains have learned.
    """
    sizes = [size_of(row) for row in rows]
    total, kept = sum(sizes), [True] * len(rows)
    originals = 0
    given_up: list[Record] = []
    if total > bounds.size:
        for place, row in enumerate(rows):
            if total <= bounds.size * _ROOM:
                break
            if isinstance(row, SourceRecord | ExtractionRecord | ResponseRecord):
                kept[place], total, originals = False, total - sizes[place], originals + 1
    left = len(rows) - originals
    if left > bounds.rows or total > bounds.size:
        for place, row in enumerate(rows):
            if left <= bounds.rows * _ROOM and total <= bounds.size:
                break
            if kept[place] and not is_knowledge(row):
                kept[place], total, left = False, total - sizes[place], left - 1
                given_up.append(row)
    return HeldRows([row for row, stays in zip(rows, kept, strict=True) if stays], total, originals, given_up)


def _value_size(value: Any) -> int:
    """Return about how many bytes a value of JSON holds; it is as deep as its callback made it, so no recursion."""
    size, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        size += _VALUE_SIZE + (len(one) if isinstance(one, str) else 0)
        if isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return size


logger = logging.getLogger(__name__)

WRITE_SECONDS = 1.0
# In one transaction: after an outage tens of thousands wait, and others want to write in between.
ROWS_AT_ONCE = 2_000
_PAUSE_SECONDS = 0.5
# Beyond so many batches that wait a crawl waits, too.
_BATCHES_WAITING = 8
# Or so much of the bytes that may wait at all.
_SHARE_WAITING = 4

REASON = "dedup_store_full"


class WriteBehind:
    """Writes what a crawl notes, one batch at a time, in order.

    What cannot be written waits, within bounds, and is tried again every second: by whoever calls `begin`.
    """

    def __init__(
        self,
        crawl: Crawl,
        on_full: Callable[[FullStoreError, int], None] | None = None,
        bounds: RowBounds = RowBounds(),  # noqa: B008 (a value)
    ) -> None:
        """Write for a crawl.

        *on_full* is told once, until there is room again, that there is none, and how many rows wait; None: a warning.
        *bounds* are how much may wait: more than eight batches.
        """
        self._crawl = crawl
        self._every_rows = crawl.settings.write_every
        """A batch; fewer wait for `begin`."""
        self._count = crawl.count
        self._on_full = on_full
        self._bounds = bounds
        self._writing: Deferred[None] | None = None
        self._failed: StoreError | None = None
        self._under_way = 0
        """Rows of the batch that is being written."""
        # Of the rows that wait, so many were weighed, and weigh so much; others append to them.
        self._weighed = 0
        self._weight = 0
        self._turns: list[Deferred[None]] = []
        """Of those who wait for room."""
        self.has_given_up = False
        """Whether rows were lost: then the store does not know all that the run has seen."""
        self.give_back: Callable[[list[str]], None] | None = None
        """Told of requests of a shared queue, once the rows of their pages are written."""
        self.gave_up: Callable[[list[str]], None] | None = None
        """Told of those whose rows are lost."""

    @property
    def is_behind(self) -> bool:
        """Whether a whole batch waits or is on its way; not while the store fails: then all waits, within bounds."""
        return self._failed is None and len(self._crawl.rows) + self._under_way >= self._every_rows

    @property
    def fails(self) -> bool:
        """Whether the last try to write came to nothing."""
        return self._failed is not None

    @property
    def is_full(self) -> bool:
        """Whether the store, though it can be written, is written more slowly than the crawl notes rows."""
        if self._failed is not None:
            return False
        is_long = len(self._crawl.rows) >= _BATCHES_WAITING * self._every_rows
        return is_long or self._weight >= self._bounds.size // _SHARE_WAITING

    @property
    def takes_more(self) -> bool:
        """Whether rows may come that can wait where they are: while the store fails no more than a batch."""
        return len(self._crawl.rows) < self._every_rows or (self._failed is None and not self.is_full)

    async def room(self) -> None:
        """Wait while it is full: a crawl is not ahead of its store by more than moments.

        It ends with a write that failed, too: while the store fails all waits, within bounds, and the crawl goes on.
        """
        while self.is_full and self._crawl.rows:
            self.begin()
            turn: Deferred[None] = Deferred()
            self._turns.append(turn)
            await maybe_deferred_to_future(turn)

    def if_due(self) -> None:
        """Begin to write where enough rows wait; while the store fails, see that not too many do."""
        if len(self._crawl.rows) < self._every_rows:
            return
        if self._failed is None:
            self.begin()
        if self._writing is not None or self._failed is not None:
            self._hold_bounds()

    def begin(self) -> None:
        """Begin to write what waits, unless the last batch is still on its way."""
        if self._writing is None and self._crawl.rows:
            noted = len(self._crawl.rows)
            rows = self._take()
            self._writing = deferred_from_coro(self._write_parts(rows, noted - len(rows)))

    async def catch_up(self) -> None:
        """Wait until what is noted by now is written, or cannot be."""
        if self._writing is not None:
            await maybe_deferred_to_future(self._writing)
        self.begin()
        if self._writing is not None:
            await maybe_deferred_to_future(self._writing)

    async def end(self) -> None:
        """Write everything that waits; errors are told, and what could not be written is counted.

        A server that cannot be reached is waited for, and others' locks are, as long as a worker may be silent.
        """
        until = time.monotonic() + self._crawl.settings.shared_lease.total_seconds()
        await self.catch_up()
        # Without an error they came while others were written.
        may_pass = (AwayStoreError, BusyStoreError)
        while self._crawl.rows and (
            self._failed is None or (isinstance(self._failed, may_pass) and time.monotonic() < until)
        ):
            await run_in_thread(time.sleep, _PAUSE_SECONDS)
            await self.catch_up()
        if self._crawl.rows:
            self._lose(self._crawl.rows)
            logger.error("%d rows could not be written at the end: %s", len(self._crawl.rows), self._failed)

    async def _write_parts(self, rows: list[Record], noted: int) -> None:
        """Write rows and so many more, and go on while there is enough for a batch."""
        try:
            while rows and await self._write(rows):
                enough = noted > 0 or len(self._crawl.rows) >= self._every_rows
                rows = self._take() if enough else []
                noted -= len(rows)
                self._give_turns()
        finally:
            self._writing = None
            self._under_way = 0
            self._give_turns()

    def _give_turns(self) -> None:
        turns, self._turns = self._turns, []
        for turn in turns:
            turn.callback(None)

    async def _write(self, rows: list[Record]) -> bool:
        """Write rows in one transaction; return False where the store failed, and they wait again."""
        try:
            await run_in_thread(self._crawl.store.write, rows)
        except RefusedStoreError as error:
            return await self._write_singly(rows, error)
        except StoreError as error:
            self._not_written(rows, error)
            return False
        except Exception as error:  # noqa: BLE001 - one row that cannot be written must not keep the others
            return await self._write_singly(rows, error)
        self._written(rows)
        return True

    async def _write_singly(self, rows: list[Record], error: Exception) -> bool:
        """Write what can be written, and give up the rest."""
        logger.error("A row cannot be written because of a defect in scrapy_dedup", exc_info=error)
        for place, row in enumerate(rows):
            try:
                await run_in_thread(self._crawl.store.write, [row])
            except RefusedStoreError:
                self._lose([row])
            except StoreError as later:
                self._not_written(rows[place:], later)
                return False
            except Exception:  # noqa: BLE001 - the first one was told
                self._lose([row])
            else:
                self._written([row])
        return True

    def _written(self, rows: list[Record]) -> None:
        self._count("store/rows", len(rows))
        if self.give_back is not None:
            self.give_back(_tokens(rows))
        if self._failed is not None:
            self._failed = None
            logger.info("The store can be written again; %d rows wait", len(self._crawl.rows))

    def _not_written(self, rows: list[Record], error: StoreError) -> None:
        self._count("store/errors", 1)
        self._crawl.rows = [*rows, *self._crawl.rows]
        self._weighed = self._weight = 0
        is_told = self._failed is not None
        self._failed = error
        self._hold_bounds()
        if is_told:
            return
        if isinstance(error, FullStoreError) and self._on_full is not None:
            self._on_full(error, len(self._crawl.rows))
        else:
            logger.warning("The store cannot be written; the crawl goes on and tries again: %s", error)

    # What waits.

    def _take(self) -> list[Record]:
        rows = self._crawl.rows[:ROWS_AT_ONCE]
        self._crawl.rows = self._crawl.rows[ROWS_AT_ONCE:]
        self._under_way = len(rows)
        self._weighed = self._weight = 0
        return rows

    def _hold_bounds(self) -> None:
        """Give up what is beyond the bounds; it is called for each page, so it weighs what is new alone."""
        rows = self._crawl.rows
        if len(rows) < self._weighed:
            self._weighed = self._weight = 0
        self._weight += sum(size_of(row) for row in rows[self._weighed :])
        self._weighed = len(rows)
        if self._weighed <= self._bounds.rows and self._weight <= self._bounds.size:
            return
        held = give_up(rows, self._bounds)
        self._crawl.rows = held.rows
        self._weighed, self._weight = len(held.rows), held.size
        self._count("store/originals_given_up", held.originals)
        if held.given_up and not self.has_given_up:
            logger.warning("More waits for the store than is held: the oldest rows go, and their pages come again")
        self._lose(held.given_up)

    def _lose(self, rows: Sequence[Record]) -> None:
        if not rows:
            return
        self._count("store/rows_given_up", len(rows))
        self.has_given_up = True
        if self.gave_up is not None:
            self.gave_up(_tokens(rows))


def _tokens(rows: Iterable[Record]) -> list[str]:
    return [row.token for row in rows if isinstance(row, LeaseRecord)]


def tell_of_full_disk(crawler: Crawler, settings: Settings, error: FullStoreError, waiting: int) -> None:
    """Say what is full, and what to do about it; end the crawl where that is wanted."""
    from scrapy_dedup.report.numbers import count, short  # noqa: PLC0415 (few crawls fill a disk)

    free = "" if error.free_bytes is None else f" ({short(error.free_bytes)} bytes are free there)"
    if settings.store_full == "stop":
        logger.error(
            "The store's disk is full%s: the crawl ends, as DEDUP_STORE_FULL says. What it fetched goes out; what"
            " cannot be noted comes again. Free space, then start it again. %s",
            free,
            error,
        )
        engine = crawler.engine
        if engine is not None and engine.spider is not None:
            deferred_from_coro(engine.close_spider_async(reason=REASON)).addErrback(_failed)
        return
    logger.warning(
        "The store's disk is full%s: the crawl goes on, and its items go out. %s wait in memory, and are written"
        " once there is room; the pages of those that cannot wait come again. Free space, or set"
        " DEDUP_STORE_FULL=stop to end in such a case. %s",
        free,
        count(waiting, "row"),
        error,
    )


def _failed(failure: Failure) -> None:
    # It is closing already.
    logger.debug("The crawl could not be ended: %s", failure.value)
