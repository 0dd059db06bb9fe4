"""What a test sees of a crawl in another process: the user's own pipelines, and a ledger of every item's fate."""

import asyncio
import atexit
import gc
import json
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any, Self, TextIO

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.core.boilerplate.verdict_model import VerdictModel
from scrapy_dedup.core.templates.layouts import cluster
from scrapy_dedup.plugin.runtime import Runtime


def note(file: str, entry: object) -> None:
    """Append a line of JSON, at once: a killed crawl must not take it along."""
    with Path(file).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(entry) + "\n")


def name_of(item: Any) -> str:
    """Return by what an item is known in the ledgers."""
    if not ItemAdapter.is_item(item):
        return repr(item)
    adapter = ItemAdapter(item)
    return str(adapter.get("id") or adapter.get("url"))


class OfCrawler:
    """What Scrapy makes from a crawler."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)


class Storage(OfCrawler):
    """A user's own async pipeline behind ours: it writes every item through, from open_spider to close_spider.

    To the system, not to the disk: what was written outlives a killed crawl, and no test takes the power away.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._seconds = crawler.settings.getfloat("STORAGE_SECONDS", 0.001)
        self._file: TextIO | None = None

    def open_spider(self) -> None:
        self._file = Path("stored.jsonl").open("a", encoding="utf-8")  # noqa: SIM115 - closed in close_spider

    async def process_item(self, item: Any) -> Any:
        await sleep(self._seconds)
        fields = ItemAdapter(item).asdict() if ItemAdapter.is_item(item) else {}
        report = fields.get("dedup") or {}
        line = {"id": name_of(item), "cleaned": fields.get("cleaned_content"), "report": report}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        return item

    def close_spider(self) -> None:
        self._file.close()
        self._file = None


async def sleep(seconds: float) -> None:
    if is_asyncio_available():
        await asyncio.sleep(seconds)
        return
    from twisted.internet import reactor

    waiting: Deferred[None] = Deferred()
    reactor.callLater(seconds, waiting.callback, None)  # type: ignore[arg-type]
    await maybe_deferred_to_future(waiting)


class Ledger(OfCrawler):
    """Writes down what was dropped or failed, and at the end of the process the stats."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        crawler.signals.connect(self.item_dropped, signals.item_dropped)
        crawler.signals.connect(self.item_error, signals.item_error)
        atexit.register(self.write_stats)

    def item_dropped(self, item: Any, exception: DropItem) -> None:
        note("dropped.jsonl", {"id": name_of(item), "kind": type(exception).__name__, "reason": str(exception)})

    def item_error(self, item: Any) -> None:
        note("failed.jsonl", {"id": name_of(item)})

    def write_stats(self) -> None:
        if (runtime := Runtime.of_open(self._crawler)) is not None:
            gc.collect()  # a response and its selector hold each other
            runtime.done.settle_gone()
            kept = len(runtime.visits) + len(runtime.lot) + len(runtime.done)
            self._crawler.stats.set_value("left_behind", kept)
        stats = {name: value for name, value in self._crawler.stats.get_stats().items() if name != "start_time"}
        Path("stats.json").write_text(json.dumps(stats, default=str), encoding="utf-8")


class JudgingThreads(OfCrawler):
    """Notes in which threads the model judges paths, and the site's pages are grouped."""

    def __init__(self, crawler: Crawler) -> None:
        self._codes = {VerdictModel.judge.__code__: "judge", cluster.__code__: "cluster"}
        self._reactor = threading.get_ident()
        crawler.signals.connect(self._end, signals.spider_closed)
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and (name := self._codes.get(frame.f_code)):
            note("threads.jsonl", [name, "reactor" if threading.get_ident() == self._reactor else "thread"])

    def _end(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


class Slots(OfCrawler):
    """Writes the slot by which each request reaches the downloader."""

    def __init__(self, crawler: Crawler) -> None:
        crawler.signals.connect(self.note, signals.request_reached_downloader)

    def note(self, request: Request) -> None:
        note("slots.jsonl", {"url": request.url, "slot": request.meta.get("download_slot")})
