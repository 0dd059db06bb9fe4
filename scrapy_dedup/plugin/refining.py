"""Stored pages whose clean text is another one now, on their way through a project's pipelines and feeds.

They go out in a Scrapy run that asks nobody for anything, or to a file; the store is told once they are safe.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from io import BytesIO
from itertools import chain, islice
from typing import Any, BinaryIO, Final, Self

from itemadapter import ItemAdapter
from msgspec import Struct, field
from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.exporters import JsonLinesItemExporter
from scrapy.http import Response
from scrapy.settings import Settings as ScrapySettings
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.plugin.crawl.delivery import Delivery, Spool
from scrapy_dedup.plugin.crawl.engine_state import EngineState
from scrapy_dedup.plugin.crawl.items import CONTENT, FILLED, METADATA, REPORT, ItemFields, chunk_items, plain
from scrapy_dedup.plugin.crawl.overrides import settings_of_command
from scrapy_dedup.plugin.crawl.requests import is_known_component
from scrapy_dedup.plugin.reuse import OutcomeError, kept_items
from scrapy_dedup.plugin.runtime import on_acknowledged
from scrapy_dedup.service.crawl.drafts import CLEANED_AGAIN, place_among_others
from scrapy_dedup.service.cut.cleaning import as_asked
from scrapy_dedup.service.duplicates.index import records_of as records_of_page
from scrapy_dedup.service.stored.refining import PAGES_AT_ONCE, Refinement, recleaned, write_refined
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.records.records import PDF, PageKnowledge, Recleaned
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

logger = logging.getLogger(__name__)

REFINED: Final = "refined"


class Outgoing(Struct, eq=False):
    """A page on its way out: its items, and what became of each."""

    refinement: Refinement
    items: list[Any]
    is_made_anew: bool = False
    """Its callback's items are not held, or cannot be made again: a dict stands for them."""
    waits_for: set[Any] = field(default_factory=set)
    """What must happen before its items are safe."""
    compared: Sequence[PageKnowledge] = ()
    """By what other pages are compared with it from then on."""
    failed: bool = False
    """A pipeline failed: the page comes again."""
    passed: dict[int, bool] = field(default_factory=dict)
    """Number of an item to whether it passed all pipelines."""

    @property
    def is_done(self) -> bool:
        """Whether all items have left."""
        return len(self.passed) == len(self.items)

    @property
    def scraped(self) -> int:
        """How many items passed all pipelines."""
        return sum(self.passed.values())

    def left(self, number: int, item: Any | None) -> None:
        """Note how an item left; None: it was dropped, or a pipeline failed."""
        self.passed[number] = item is not None

    def recleaned(self) -> Recleaned:
        """Return what is written of the page once its items are safe."""
        return recleaned(self.refinement.source, self.refinement.cleaned, datetime.now(UTC), self.compared)


class Renewer:
    """Makes the items of refined pages."""

    def __init__(self, settings: Settings, project: str) -> None:
        self._settings = settings
        self._project = project
        self._fields = ItemFields()

    def outgoing(self, refinement: Refinement) -> Outgoing:
        """Return the items that the page's callback made, with today's text; where they are not held, a dict."""
        outgoing = self._outgoing(refinement)
        if (found := refinement.comparison) is not None:
            outgoing.compared = records_of_page(found.facts, found.same, found.chunks, self._settings, dropped=False)
            if self._settings.emit_chunks:
                source = refinement.source
                made = chunk_items(source.url, source.page_key, refinement.metadata.title, found.chunks)
                # Behind the others, which are known by their number.
                outgoing.items = [*outgoing.items, *made]
        return outgoing

    def _outgoing(self, refinement: Refinement) -> Outgoing:
        outcome = refinement.outcome
        if outcome is not None and refinement.places:
            held = outcome.items or ()
            try:
                items = kept_items([held[place] for place in refinement.places])
                if self._renew(items, refinement):
                    return Outgoing(refinement, items)
            except OutcomeError:
                pass
            except Exception as error:  # noqa: BLE001 - the item's own class may be what fails
                logger.warning("An item of %s cannot take its new text: %r", refinement.source.url, error)
        return Outgoing(refinement, [self._anew(refinement)], is_made_anew=True)

    def _renew(self, items: Iterable[Any], refinement: Refinement) -> bool:
        """Give items today's text; say whether all of them could take it."""
        for item in items:
            adapter = ItemAdapter(item)
            if not self._fields.can_take_content(item):
                return False
            adapter[CONTENT] = refinement.cleaned.content
            old = adapter.get(REPORT)
            filled = old.get(FILLED, ()) if isinstance(old, dict) else ()
            # What a PDF file is called stands in the file, which is not kept.
            for name in () if refinement.source.field == PDF else METADATA:
                if name in filled or adapter.get(name) in (None, ""):
                    self._fields.put(item, adapter, name, getattr(refinement.metadata, name))
            report = old if isinstance(old, dict) else self._origin(refinement)
            kept = {name: value for name, value in report.items() if name != "diff"}
            self._fields.put(item, adapter, REPORT, kept | self._renewed_report(refinement))
        return True

    def _anew(self, refinement: Refinement) -> dict[str, Any]:
        metadata = {name: getattr(refinement.metadata, name) for name in METADATA}
        report = self._origin(refinement) | {FILLED: list(METADATA)} | self._renewed_report(refinement)
        url = {self._settings.url_field: refinement.source.url}
        return url | {CONTENT: refinement.cleaned.content} | metadata | {REPORT: plain(report)}

    def _origin(self, refinement: Refinement) -> dict[str, Any]:
        source = refinement.source
        return {
            "project": self._project,
            "domain": source.domain,
            "url": source.url,
            "page_key": source.page_key.hex(),
            "fetched_at": source.fetched_at.isoformat(),
        }

    def _renewed_report(self, refinement: Refinement) -> dict[str, Any]:
        report = {
            "method": refinement.method,
            "verdict": "changed",
            "change": "none",
            "reason": CLEANED_AGAIN,
            "previous_hash": refinement.before.digits,
            REFINED: True,
        } | as_asked(refinement.cleaned.report, self._settings)
        if refinement.comparison is not None:
            report |= place_among_others(refinement.comparison, self._settings)
        return report


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

    def write(self, pages: list[Recleaned]) -> None:
        """Write what `Outgoing.recleaned` gave, of some pages; blocks.

        Raises:
            StoreError: nothing was written.
        """
        self._emitted.stored += write_refined(self._store, self._project, self._settings, pages)


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
        self._safe: list[Recleaned] = []
        self._words: Counter[str] = Counter()
        """Items that the user called safe, by their page's URL."""
        self._unsaid: dict[str, tuple[int, Recleaned]] = {}
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
        written, url = page.recleaned(), page.refinement.source.url
        if self._ack != "manual":
            self._delivery.put([written], page.waits_for, self._safe.extend)
        elif self._words[url] >= page.scraped:
            self._safe.append(written)
        else:
            self._unsaid[url] = (page.scraped, written)

    def _said(self, item: Any) -> None:
        """Note the user's word that an item is safe, be it still in the pipelines or through."""
        found = self._under_way.get(id(item))
        url = found.page.refinement.source.url if found is not None else _url_of(item)
        if url is None:
            return
        self._words[url] += 1
        if url in self._unsaid and self._words[url] >= self._unsaid[url][0]:
            self._safe.append(self._unsaid.pop(url)[1])

    def _go_on(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    async def _write(self) -> None:
        """Write what is safe by now; of what waited in a file a hundred pages are in memory at a time."""
        safe, self._safe = self._safe, []
        pages = chain(safe, self._delivery.released())
        while some := list(islice(pages, PAGES_AT_ONCE)):
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


SPIDER: Final = "dedup-refine"

_REACTOR: Final = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


class RefiningSpider(Spider):
    """Gives items that are there already."""

    name = SPIDER
    emission: Emission

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make it, and let its emission follow the crawler's signals."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.emission.watch(crawler)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        """Ask for an empty page of our own.

        Items could be yielded here. But a crawler that is told to stop while such items are in the pipelines waits
        without end (Scrapy 2.19), and nothing would hold back the others until these are through.
        """
        yield Request("data:,", callback=self.refined, dont_filter=True)

    async def refined(self, response: Response) -> AsyncIterator[Any]:  # noqa: ARG002 (Scrapy's signature)
        """Yield the items of refined pages."""
        async for item in self.emission.items():
            yield item


def emit(emission: Emission, settings: ScrapySettings) -> None:
    """Run to the end with the project's settings; blocks, and can be done once in a process."""
    process = _process(settings)
    process.crawl(RefiningSpider, emission=emission)
    process.start()


def _process(settings: ScrapySettings) -> AsyncCrawlerProcess | CrawlerProcess:
    """Return what runs crawls, chosen as `scrapy crawl` chooses it."""
    chosen = settings_of_command(settings, {"DOWNLOADER_MIDDLEWARES": {}}, log_level="WARNING")
    has_reactor = chosen.getbool("TWISTED_REACTOR_ENABLED", True)
    is_plain = has_reactor and (chosen["TWISTED_REACTOR"] != _REACTOR or chosen.getbool("FORCE_CRAWLER_PROCESS"))
    return CrawlerProcess(chosen) if is_plain else AsyncCrawlerProcess(chosen)


def leads_nowhere(settings: ScrapySettings) -> bool:
    """Say whether a project has nothing that would take an item: no feed, no pipeline, and no part that may be one."""
    if settings.get("FEEDS") or settings.get("FEED_URI"):
        return False
    names = ("ITEM_PIPELINES", "EXTENSIONS", "ADDONS")
    return all(_is_ours(component) for name in names for component in _components(settings, name))


def _components(settings: ScrapySettings, name: str) -> list[Any]:
    return [component for component, order in settings.getdict(name).items() if order is not None]


def _is_ours(component: Any) -> bool:
    if isinstance(component, str):
        return component.startswith(("scrapy.", "scrapy_dedup."))
    return is_known_component(component)


class RefinedFile:
    """Writes items one a line, in ASCII, and remembers what is to be stored once the file is complete."""

    def __init__(self, file: BinaryIO, renewer: Renewer, emitted: Emitted) -> None:
        self._file = file
        self._page = BytesIO()
        self._exporter = JsonLinesItemExporter(self._page)
        self._renewer = renewer
        self._emitted = emitted
        self.written = Spool()
        """Of the pages that are in the file; not in memory."""

    def add(self, lot: Iterable[Refinement]) -> None:
        """Write the items of some pages."""
        for refinement in lot:
            page = self._renewer.outgoing(refinement)
            if not self._export(page):
                self._emitted.failed += 1
                continue
            self._emitted.pages += 1
            self._emitted.made_anew += page.is_made_anew
            self.written.add([page.recleaned()])

    def _export(self, page: Outgoing) -> bool:
        """Write the items of a page, or none of them where one cannot be written as JSON."""
        self._page.seek(0)
        self._page.truncate()
        try:
            for item in page.items:
                self._exporter.export_item(item)
        except (TypeError, ValueError) as error:
            logger.warning("An item of %s cannot be written as JSON: %s", page.refinement.source.url, error)
            return False
        self._file.write(self._page.getvalue())
        self._emitted.items += len(page.items)
        for number, item in enumerate(page.items):
            page.left(number, item)
        return True
