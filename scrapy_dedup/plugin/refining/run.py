"""The Scrapy run by which refined pages go out: one that asks nobody for anything."""

import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, BinaryIO, Final, Self

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.exporters import JsonLinesItemExporter
from scrapy.http import Response
from scrapy.settings import SETTINGS_PRIORITIES, Settings

from scrapy_dedup.plugin.crawl.request_meta import is_known_component
from scrapy_dedup.plugin.crawl.spool import Spool
from scrapy_dedup.plugin.refining.items import Outgoing, Renewer
from scrapy_dedup.plugin.refining.pipeline import Emission, Emitted
from scrapy_dedup.service.stored.refining import Refinement

SPIDER: Final = "dedup-refine"

# Nothing is to be fetched, nothing of a crawl to be resumed, and this is no crawl of ours to be recorded. What others
# put around requests may make some of its own when a spider starts: a shared queue, a login.
_OF_THE_RUN: Final[Mapping[str, Any]] = {
    "DEDUP_ENABLED": False,
    "JOBDIR": None,
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
    "SPIDER_MIDDLEWARES": {},
    "DOWNLOADER_MIDDLEWARES": {},
    "TELNETCONSOLE_ENABLED": False,
}
_REACTOR: Final = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"

logger = logging.getLogger(__name__)


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


def emit(emission: Emission, settings: Settings) -> None:
    """Run to the end with the project's settings; blocks, and can be done once in a process."""
    process = _process(settings)
    process.crawl(RefiningSpider, emission=emission)
    process.start()


def _process(settings: Settings) -> AsyncCrawlerProcess | CrawlerProcess:
    """Return what runs crawls, chosen as `scrapy crawl` chooses it."""
    chosen = settings.copy()
    for name, value in _OF_THE_RUN.items():
        chosen.set(name, value, priority="cmdline")
    # A command is silent, but what goes wrong in a pipeline has to be seen.
    if (chosen.getpriority("LOG_ENABLED") or 0) <= SETTINGS_PRIORITIES["command"]:
        chosen.set("LOG_ENABLED", True, priority="cmdline")
        chosen.set("LOG_LEVEL", "WARNING", priority="cmdline")
    has_reactor = chosen.getbool("TWISTED_REACTOR_ENABLED", True)
    is_plain = has_reactor and (chosen["TWISTED_REACTOR"] != _REACTOR or chosen.getbool("FORCE_CRAWLER_PROCESS"))
    return CrawlerProcess(chosen) if is_plain else AsyncCrawlerProcess(chosen)


def leads_nowhere(settings: Settings) -> bool:
    """Say whether a project has nothing that would take an item: no feed, no pipeline, and no part that may be one."""
    if settings.get("FEEDS") or settings.get("FEED_URI"):
        return False
    names = ("ITEM_PIPELINES", "EXTENSIONS", "ADDONS")
    return all(_is_ours(component) for name in names for component in _components(settings, name))


def _components(settings: Settings, name: str) -> list[Any]:
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
        """Records of the pages that are in the file; not in memory."""

    def add(self, lot: Iterable[Refinement]) -> None:
        """Write the items of some pages."""
        for refinement in lot:
            page = self._renewer.outgoing(refinement)
            if not self._export(page):
                self._emitted.failed += 1
                continue
            self._emitted.pages += 1
            self._emitted.made_anew += page.is_made_anew
            self.written.add(page.records(datetime.now(UTC)))

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
