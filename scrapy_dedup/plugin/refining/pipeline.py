"""Refined pages on their way through a project's pipelines and feeds, and into the store once they are safe."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from itemadapter import ItemAdapter
from msgspec import Struct, field
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.plugin.crawl.delivery import Delivery
from scrapy_dedup.plugin.crawl.engine_state import EngineState
from scrapy_dedup.plugin.crawl.items import REPORT
from scrapy_dedup.plugin.refining.items import Outgoing, Renewer
from scrapy_dedup.plugin.runtime import on_acknowledged
from scrapy_dedup.service.stored.refining import Refinement, by_pages, write_refined
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.records.records import Record
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

Lots = Iterator[list[Refinement]]


class Emitted(Struct):
    """What became of the pages whose text changes."""

    pages: int = 0
    """Emitted with all of their items."""
    items: int = 0
    """That passed all pipelines."""
    made_anew: int = 0
    """Pages for which a dict stands in place of the items that their callback made."""
    dropped: int = 0
    """Items that a pipeline dropped."""
    failed: int = 0
    """Pages whose items a pipeline failed on, or that could not be written: they come again."""
    stored: int = 0
    """Pages of which the store has the new text: their items are safe."""
    complete: bool = False
    """Whether all that change were emitted."""
    reason: str = ""
    """Why the run ended, as Scrapy says it; empty where it did not begin."""
    errors: list[StoreError] = field(default_factory=list)


class Keeper:
    """Brings the store up to date with pages that are safe."""

    def __init__(self, store: Store, project: ProjectStore, settings: Settings, emitted: Emitted) -> None:
        self._store = store
        self._project = project
        self._settings = settings
        self._emitted = emitted

    def write(self, records: list[Record]) -> None:
        """Write what `Outgoing.records` gave, of some pages; blocks.

        Raises:
            StoreError: nothing was written.
        """
        self._emitted.stored += write_refined(self._store, self._project, self._settings, records)


class _UnderWay(Struct, eq=False):
    """An item in the pipelines; it is held, so that no other object gets its id."""

    page: Outgoing
    number: int
    item: Any


class Emission:
    """One run. Pages go out a hundred at a time, and what is safe of them is written before the next hundred."""

    def __init__(self, lots: Lots, renewer: Renewer, keeper: Keeper, emitted: Emitted, ack: str) -> None:
        self._lots = lots
        self._renewer = renewer
        self._keeper = keeper
        self._emitted = emitted
        self._ack = ack
        self._under_way: dict[int, _UnderWay] = {}
        self._strays: list[tuple[Any, set[Any]]] = []
        """Items that passed all pipelines as other objects, of pages that they do not name; and their feeds."""
        self._safe: list[Record] = []
        self._words: Counter[str] = Counter()
        """Items that the user called safe, by their page's URL."""
        self._unsaid: dict[str, tuple[int, list[Record]]] = {}
        """Pages that are through but for the user's word: how many items they gave, and what is to be written."""
        self._waiting: Deferred[None] | None = None
        self._crawler: Crawler | None = None

    def watch(self, crawler: Crawler) -> None:
        """Begin to follow what becomes of the items."""
        self._crawler = crawler
        self._delivery = Delivery(crawler, follows_feeds=self._ack == "auto", count=self._count)
        connect: Callable[..., None] = crawler.signals.connect
        connect(self._scraped, signals.item_scraped)
        connect(self._dropped, signals.item_dropped)
        connect(self._failed, signals.item_error)
        connect(self._closed, signals.spider_closed)
        connect(self._stopped, signals.engine_stopped)
        if self._ack == "manual":
            on_acknowledged(crawler, self._said)

    def _count(self, what: str, n: int) -> None:
        assert self._crawler is not None
        self._crawler.stats.inc_value(f"dedup/{what}", n)

    async def items(self) -> AsyncIterator[Any]:
        """Yield the items of all pages, as fast as they are taken; end early where the crawler is told to stop."""
        assert self._crawler is not None
        state = EngineState(self._crawler)
        try:
            while (lot := await run_in_thread(next, self._lots, None)) is not None:
                for refinement in lot:
                    page = self._renewer.outgoing(refinement)
                    for number, item in enumerate(page.items):
                        if state.closing():
                            return
                        self._under_way[id(item)] = _UnderWay(page, number, item)
                        yield item
                await self._all_left()
                await self._write()
            self._emitted.complete = True
        except StoreError as error:
            self._emitted.errors.append(error)

    async def _all_left(self) -> None:
        while len(self._under_way) > len(self._strays):
            self._waiting = Deferred()
            await maybe_deferred_to_future(self._waiting)
        self._settle_strays()

    def _scraped(self, item: Any) -> None:
        feeds = self._delivery.feeds_of(item)
        found = self._under_way.pop(id(item), None) or self._named_by(item)
        self._emitted.items += 1
        if found is None:
            self._strays.append((item, feeds))
        else:
            self._left(found, item, feeds)
        self._go_on()

    def _dropped(self, item: Any) -> None:
        self._emitted.dropped += 1
        self._gone(item)

    def _failed(self, item: Any) -> None:
        self._gone(item, failed=True)

    def _gone(self, item: Any, *, failed: bool = False) -> None:
        found = self._under_way.pop(id(item), None)
        if found is not None:
            found.page.failed |= failed
            self._left(found, None, set())
        self._go_on()

    def _named_by(self, item: Any) -> _UnderWay | None:
        """Return the item that a pipeline has put another object in place of, by the page that both name."""
        url = _url_of(item)
        same = (key for key, one in self._under_way.items() if one.page.refinement.source.url == url)
        key = next(same, None) if url else None
        return self._under_way.pop(key) if key is not None else None

    def _settle_strays(self) -> None:
        """Take the strays for the items that are missed, once all others have left."""
        missed = list(self._under_way.values())
        feeds = {slot for _, slots in self._strays for slot in slots}
        self._under_way.clear()
        for found, (item, _) in zip(missed, self._strays, strict=False):
            self._left(found, item, feeds)
        self._strays.clear()

    def _left(self, found: _UnderWay, item: Any | None, feeds: set[Any]) -> None:
        page = found.page
        page.left(found.number, item)
        page.waits_for |= feeds
        if not page.is_done:
            return
        if page.failed:
            self._emitted.failed += 1
            return
        self._emitted.pages += 1
        self._emitted.made_anew += page.is_made_anew
        self._count("refine/pages", 1)
        records, url = page.records(datetime.now(UTC)), page.refinement.source.url
        if self._ack != "manual":
            self._delivery.put(records, page.waits_for, self._safe.extend)
        elif self._words[url] >= page.scraped:
            self._safe += records
        else:
            self._unsaid[url] = (page.scraped, records)

    def _said(self, item: Any) -> None:
        """Note the user's word that an item is safe, be it still in the pipelines or through."""
        found = self._under_way.get(id(item))
        url = found.page.refinement.source.url if found is not None else _url_of(item)
        if url is None:
            return
        self._words[url] += 1
        if url in self._unsaid and self._words[url] >= self._unsaid[url][0]:
            self._safe += self._unsaid.pop(url)[1]

    def _go_on(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    async def _write(self) -> None:
        """Write what is safe by now; of what waited in a file a hundred pages are in memory at a time."""
        safe, self._safe = self._safe, []
        for some in by_pages(safe):
            await run_in_thread(self._keeper.write, some)
        for some in by_pages(self._delivery.released()):
            await run_in_thread(self._keeper.write, some)

    def _closed(self, reason: str) -> None:
        self._emitted.reason = reason

    async def _stopped(self) -> None:
        if self._strays:
            self._settle_strays()
        try:
            await self._write()
        except StoreError as error:
            self._emitted.errors.append(error)
        self._delivery.end()


def _url_of(item: Any) -> str | None:
    """Return the URL of the page that an item was made from, as it says itself."""
    report = ItemAdapter(item).get(REPORT) if ItemAdapter.is_item(item) else None
    url = report.get("url") if isinstance(report, dict) else None
    return url if isinstance(url, str) else None
