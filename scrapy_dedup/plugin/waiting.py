"""What waits: for its time or its domain's turn, for other pages of its domain, or for the items of those before it."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct, field
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.extensions.closespider import CloseSpider
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import call_later, create_looping_call, run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.core.templates.templates import WINDOW
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.items import DuplicateItem
from scrapy_dedup.service.learning import Learner, Steps, done
from scrapy_dedup.settings import Settings

logger = logging.getLogger(__name__)
T = TypeVar("T")
_COUNTED: Final = ("ITEMCOUNT", "PAGECOUNT", "PAGECOUNT_NO_ITEM", "TIMEOUT_NO_ITEM")
# No domain is called so.
_THREAD = ""


class Loops:
    """Calls that are made again and again, until they are stopped; none while it is still under way."""

    def __init__(self) -> None:
        self._loops: list[Any] = []
        self._under_way: dict[Any, Deferred[None]] = {}

    def every(self, seconds: float, call: Callable[[], Coroutine[Any, Any, None] | None]) -> None:
        """Call from now on, for the first time when so many seconds have passed."""
        loop = create_looping_call(self.begin, call)
        loop.start(seconds, now=False)
        self._loops.append(loop)

    def begin(self, call: Callable[[], Coroutine[Any, Any, None] | None]) -> None:
        """Call now, unless it is under way."""
        if call not in self._under_way and (work := call()) is not None:
            under_way = deferred_from_coro(self._finish(call, work))
            # Without asyncio it may be over by now.
            if not under_way.called:
                self._under_way[call] = under_way

    async def _finish(self, call: object, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception:
            # Who waits for the end waits for the others, too.
            logger.exception("%s failed; the crawl goes on", call)
        finally:
            self._under_way.pop(call, None)

    def stop(self) -> None:
        """Call no more."""
        for loop in self._loops:
            if loop.running:
                loop.stop()

    async def end(self) -> None:
        """Call no more, and wait until nothing is under way."""
        self.stop()
        for under_way in [*self._under_way.values()]:
            await maybe_deferred_to_future(under_way)


class CrawlEndedError(Exception):
    """Nobody waits any more for what was done in a thread."""


async def result_of(steps: Steps[T], apart: Callable[..., Awaitable[Any]] = run_in_thread) -> T:
    """Return what comes of steps; *apart* does each of their long parts elsewhere."""
    try:
        part = next(steps)
        while True:
            go_on = await apart(partial(done, steps, part))
            part = go_on()
    except StopIteration as ended:
        result: T = ended.value
        return result


class Turn:
    """A place in a queue, taken when it is made; use it with `async with`, for else all behind it wait for ever."""

    def __init__(self, last: "dict[str, Deferred[None]]", name: str) -> None:
        self._last = last
        self._name = name
        self._before = last.get(name)
        self._done = last[name] = Deferred[None]()

    async def __aenter__(self) -> None:
        if (before := self._before) is None:
            return
        # One of its own: who gives up waiting must not take the place of who is before it.
        waiting = Deferred[None]()
        before.addCallback(lambda _: None if waiting.called else waiting.callback(None))
        try:
            await maybe_deferred_to_future(waiting)
        except BaseException:
            before.addCallback(lambda _: self._leave())
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._last[self._name] is self._done:
            del self._last[self._name]
        else:
            # Without asyncio the next one would go on inside of `callback`, and so on: sixty pages deep.
            call_later(0, self._done.callback, None)


class Aside:
    """One thing at a time for each domain, and of all of them one thread.

    More threads would only share one interpreter, and the store needs the others.
    """

    def __init__(self, of_crawl: BaseSettings) -> None:
        self._at_once = any(of_crawl.getfloat(f"CLOSESPIDER_{what}") > 0 for what in _COUNTED)
        """Pages that come meanwhile would count for the end of the crawl, and their items not yet."""
        self._last: dict[str, Deferred[None]] = {}
        """What fires when who came last for a domain is done."""
        self._ended = False

    def turn(self, domain: str) -> Turn:
        """Return what lets nobody else work on a domain meanwhile; who asks first is first."""
        return Turn(self._last, domain)

    def is_busy(self, domain: str) -> bool:
        """Say whether somebody works on a domain, or waits for it."""
        return domain in self._last

    async def result(self, steps: Steps[T]) -> T:
        """Return what comes of steps, whose long parts run in a thread.

        Raises:
            CrawlEndedError: the crawl ended meanwhile.
        """
        return await result_of(steps, self._in_thread)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        if self._ended or self._at_once:
            # Nothing else is to be done meanwhile, or may be.
            return call()
        async with self.turn(_THREAD):
            found = await run_in_thread(call)
        if self._ended:
            raise CrawlEndedError
        return found

    def end(self) -> None:
        """Let what is still in a thread change nothing any more, and what comes yet be done at once."""
        self._ended = True


_PAUSE_SECONDS: Final = 0.02
# From a page's arrival to its callback, and where callbacks run.
_PAUSES_FOR_ITEMS: Final = 5
_PAUSES_FOR_CALLBACKS: Final = 100


async def pause(seconds: float) -> None:
    """Let others go on for a while."""
    waited: Deferred[None] = Deferred()
    call_later(seconds, waited.callback, None)
    await maybe_deferred_to_future(waited)


Asked = TypeVar("Asked")


class Together(Generic[Asked, T]):
    """Collects questions and asks them in one call: those that come within *seconds*, or while a call is under way."""

    def __init__(self, ask: Callable[[list[Asked]], Awaitable[Sequence[T]]], seconds: float = 0) -> None:
        self._ask = ask
        self._seconds = seconds
        self._waiting: list[tuple[Asked, Deferred[T]]] = []
        self._asks = False

    async def answer(self, asked: Asked) -> T:
        """Return the answer to one question; raises what asking raises."""
        answer: Deferred[T] = Deferred()
        self._waiting.append((asked, answer))
        if not self._asks:
            self._asks = True
            deferred_from_coro(self._ask_all())
        return await maybe_deferred_to_future(answer)

    async def _ask_all(self) -> None:
        while self._waiting:
            if self._seconds:
                await pause(self._seconds)
            waiting, self._waiting = self._waiting, []
            try:
                answered = [*zip(waiting, await self._ask([asked for asked, _ in waiting]), strict=True)]
            except Exception as error:  # noqa: BLE001 (it is theirs who ask, who would wait for good)
                for _, answer in waiting:
                    answer.errback(error)
            else:
                for (_, answer), found in answered:
                    answer.callback(found)
        self._asks = False


class Release(StrEnum):
    """Why a batch was let go."""

    FULL = "full"
    KNOWN = "known"
    AGE = "age"
    QUIET = "quiet"
    PRESSURE = "pressure"
    CLOSING = "closing"
    JUDGED = "judged"


# What a page takes while it waits, measured on pages of 31 kB: body, text and blocks, and what is learned of it; and
# Scrapy's hundred tasks of its response.
_TIMES_ITS_HTML: Final = 4.5
_TASKS_BYTES: Final = 80_000


def _held_bytes(size_bytes: int, pages: int) -> float:
    return _TIMES_ITS_HTML * size_bytes + _TASKS_BYTES * pages


class _ParkedBatch(Struct):
    learner: Learner
    since: float
    size_bytes: int = 0
    """Of its pages' HTML."""
    pages: set[bytes] = field(default_factory=set)
    waiting: list["Deferred[str]"] = field(default_factory=list)

    @property
    def is_worth_learning(self) -> bool:
        """Whether its pages would be cut by what they have in common."""
        return self.learner.known or self.learner.can_learn


def parking_bounds(settings: Settings, of_crawl: BaseSettings) -> tuple[int, timedelta]:
    """Return how many pages wait at most, and how long: half of what lets Scrapy close the spider."""
    pages = [of_crawl.getint(f"CLOSESPIDER_{what}") for what in ("ITEMCOUNT", "PAGECOUNT", "PAGECOUNT_NO_ITEM")]
    seconds = of_crawl.getfloat("CLOSESPIDER_TIMEOUT")
    return (
        min([settings.batch_pages, *(max(1, number // 2) for number in pages if number > 0)]),
        min(settings.max_wait, timedelta(seconds=seconds / 2)) if seconds > 0 else settings.max_wait,
    )


class ParkingLot:
    """Batches by learner. *on_release* is given pages and what lets them go on; it calls that in any case."""

    def __init__(
        self,
        batch_pages: int,
        max_bytes: int,
        max_wait: timedelta,
        on_release: Callable[[Learner, Release, Collection[bytes], Callable[[], None]], None],
    ) -> None:
        self._batch_pages = batch_pages
        self._max_bytes = max_bytes
        self._max_wait = max_wait.total_seconds()
        self._on_release = on_release
        self._batches: dict[tuple[str, str], _ParkedBatch] = {}
        self.size_bytes = 0
        """Of the HTML of all pages that wait."""
        self._pages = 0

    def __len__(self) -> int:
        return self._pages

    def park(self, learner: Learner, page_key: bytes, size_bytes: int, now: float) -> "Deferred[str]":
        """Return what fires when the page may go on, and let go what has become full by it.

        Of a known domain at most as many pages wait as it takes to see a redesign.
        """
        deferred: Deferred[str] = Deferred()
        batch = self._batches.setdefault((learner.domain, learner.method), _ParkedBatch(learner, now))
        batch.waiting.append(deferred)
        if page_key not in batch.pages:
            batch.pages.add(page_key)
            batch.size_bytes += size_bytes
            self.size_bytes += size_bytes
            self._pages += 1
        if len(batch.pages) >= (min(self._batch_pages, WINDOW) if learner.known else self._batch_pages):
            self._release([batch], Release.FULL)
        else:
            self._make_room(self._max_bytes)
        return deferred

    def holds(self, learner: Learner) -> bool:
        """Say whether pages wait for what a learner finds out."""
        return (learner.domain, learner.method) in self._batches

    def settle(self, learner: Learner) -> bool:
        """Let go what waited to know whether a site was designed anew; return whether anything did."""
        batch = self._batches.get((learner.domain, learner.method))
        if batch is not None:
            self._release([batch], Release.JUDGED)
        return batch is not None

    def tick(self, now: float, *, closing: bool, pressure: bool, quiet: bool) -> None:
        """Let go what need not, or must not, wait any longer."""
        if not self._batches:
            return
        batches = list(self._batches.values())
        if closing:
            self._release(batches, Release.CLOSING)
        elif quiet:
            self._release(batches, Release.QUIET)
        elif pressure:
            self._make_room(_held_bytes(self.size_bytes, self._pages) * 3 / 4)
        else:
            self._release([batch for batch in batches if now - batch.since >= self._max_wait], Release.AGE)

    def release_all(self) -> None:
        """Let everything go."""
        self._release(list(self._batches.values()), Release.CLOSING)

    def _make_room(self, most_bytes: float) -> None:
        """Let pages go until the others take no more.

        Those first that are learned from, the most at once. Else what takes most of the room by itself, then those that
        have the fewest siblings, the last met before others: where more domains come in turn than there is room for,
        some are learned, and then the next.
        """
        size_bytes, pages = self.size_bytes, self._pages
        if _held_bytes(size_bytes, pages) <= most_bytes:
            return
        batches = list(self._batches.values())
        learned = sorted((one for one in batches if one.is_worth_learning), key=lambda one: -len(one.pages))
        young = [one for one in reversed(batches) if not one.is_worth_learning]
        held = {id(one): _held_bytes(one.size_bytes, len(one.pages)) for one in young}
        young.sort(key=lambda one: (4 * held[id(one)] < 3 * most_bytes, one.learner.counts.pages))
        let_go = []
        for batch in (*learned, *young):
            if _held_bytes(size_bytes, pages) <= most_bytes:
                break
            let_go.append(batch)
            size_bytes -= batch.size_bytes
            pages -= len(batch.pages)
        self._release(let_go, Release.PRESSURE)

    def _release(self, batches: Iterable[_ParkedBatch], why: Release) -> None:
        let_go = list(batches)
        # All are taken out first: without asyncio an item goes on within `callback`, and may bring the next one here.
        for batch in let_go:
            del self._batches[batch.learner.domain, batch.learner.method]
            self.size_bytes -= batch.size_bytes
            self._pages -= len(batch.pages)
        for batch in let_go:
            self._on_release(batch.learner, why, batch.pages, partial(_go_on, batch, why))


def _go_on(batch: _ParkedBatch, why: Release) -> None:
    for deferred in batch.waiting:
        deferred.callback(why)


class ItemsFirst:
    """Lets a project close its spider by a count when it would without us: our pipeline is slower than none.

    `CLOSESPIDER_PAGECOUNT_NO_ITEM` counts pages since an item left all pipelines: at half of it a page waits for items
    of those before it. `CLOSESPIDER_ITEMCOUNT` lets all go out that is under way: half of it may be in our pipeline,
    and no more than are left to it.
    Items that a layer leaves out count as if they had gone out, and for `CLOSESPIDER_TIMEOUT_NO_ITEM` those that wait:
    a crawl in which nothing changed for a while is not at its end.
    """

    def __init__(self, crawler: Crawler, lot: ParkingLot) -> None:
        self._crawler = crawler
        self._lot = lot
        self._engine = EngineState(crawler)
        self._most_pages = crawler.settings.getint("CLOSESPIDER_PAGECOUNT_NO_ITEM") // 2
        self._item_count = crawler.settings.getint("CLOSESPIDER_ITEMCOUNT")
        self._pages = 0
        """That Scrapy counted since it counted an item."""
        self._going_on: set[Request] = set()
        """Whose pages went on, and are not counted yet: other middlewares have them."""
        self._held_up = 0
        self._limits: CloseSpider | None = None
        """What closes it; None where nothing does."""
        crawler.signals.connect(self._opened, signal=signals.spider_opened)
        crawler.signals.connect(self._dropped, signal=signals.item_dropped)
        if self._most_pages:
            crawler.signals.connect(self._received, signal=signals.response_received)
            crawler.signals.connect(self._scraped, signal=signals.item_scraped)

    def _received(self, request: Request) -> None:
        self._pages += 1
        self._going_on.discard(request)

    def _scraped(self, item: Any) -> None:  # noqa: ARG002 (Scrapy's signature)
        self._pages = 0

    def _opened(self) -> None:
        self._limits = self._crawler.get_extension(CloseSpider)

    def _dropped(self, item: Any, spider: Spider, exception: BaseException) -> None:
        if not isinstance(exception, DuplicateItem):
            return
        self._pages = 0
        if self._limits is not None:
            self._limits.item_scraped(item, spider)
            self._note_item()

    def tell_of_waiting(self) -> None:
        """Let items that are in our pipeline count as if one had come just now."""
        if self._held_up:
            self._note_item()

    def _note_item(self) -> None:
        if self._limits is not None and self._limits.close_on["timeout_no_item"]:
            self._limits.items_in_period += 1

    @asynccontextmanager
    async def held_up(self) -> AsyncIterator[None]:
        """Count an item while it is in our pipeline."""
        self._held_up += 1
        try:
            yield
        finally:
            self._held_up -= 1

    async def turn(self, request: Request) -> None:
        """Return when a request's page may go on to its callback."""
        pauses = 0
        while self._waits_for_items(pauses):
            self._lot.release_all()
            pauses = 0 if self._held_up else pauses + 1
            await pause(_PAUSE_SECONDS)
        if self._most_pages:
            self._going_on.add(request)

    def _waits_for_items(self, pauses: int) -> bool:
        # So that the item that ends the crawl does so when it comes.
        left = self._item_count - (self._limits.counter["itemcount"] if self._limits is not None else 0)
        if self._item_count and self._held_up >= max(1, min(self._item_count // 2, left)):
            return True
        if not self._most_pages:
            return False
        # A middleware may have made another request of one, whose page is then never counted.
        self._going_on &= self._engine.in_progress() or set()
        if self._pages + len(self._going_on) < self._most_pages:
            return False
        # A callback may itself wait for this page, so that its end is not waited for without a bound.
        return pauses < (_PAUSES_FOR_CALLBACKS if self._engine.scraping() else _PAUSES_FOR_ITEMS)
