"""Crawls, many in one process: pages come from memory, and what came of each crawl goes back over a pipe.

A process of its own, since it needs a reactor, which is for life, and since a crawl that hangs must not hold the tests.
"""

import asyncio
import gc
import json
import logging
import multiprocessing
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, Self
from urllib.parse import urldefrag

from scrapy import Request, signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import AsyncCrawlerRunner, Crawler
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.log import configure_logging
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import install_reactor

from tests.law.site import Answer, Asked, FixedWorld, World
from tests.law.spiders import CALLED, LISTED

PATIENCE_SECONDS = 90
"""A crawl takes a tenth of a second; one that takes longer than this hangs."""
ADDON = "scrapy_dedup.Addon"
_WRITES = {"FEEDS", "FILES_STORE", "HTTPCACHE_DIR"}
"""Settings by which a bare crawl leaves something behind."""
_MOST_KEPT = 500


@dataclass(frozen=True, slots=True)
class Job:
    """A crawl to be made."""

    spider: str
    """Import path of its class."""
    world: World | FixedWorld
    arguments: Mapping[str, Any] = field(default_factory=dict)
    addon: str = ""
    """Import path, none for a bare crawl."""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Visit:
    """What one response became: its items in the order of the feed."""

    url: str
    items: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Crawl:
    """What came of a crawl."""

    visits: tuple[Visit, ...]
    asked: Counter[tuple[str, str, str]]
    statuses: Counter[tuple[str, int]]
    called: Counter[str]
    """URL of each response that a callback saw."""
    errors: tuple[str, ...]
    """First lines of what was logged as an error."""
    warnings: tuple[str, ...]
    reason: str
    stats: Mapping[str, Any]

    @property
    def items(self) -> list[dict[str, Any]]:
        return [item for visit in self.visits for item in visit.items]


class CrawlFailedError(Exception):
    """A crawl did not come to its end."""


class Crawls:
    """A process that crawls; it starts with its first crawl, and again after one that hung."""

    def __init__(self) -> None:
        self._pipe: Connection | None = None
        self._process: Any = None
        self._bare: dict[bytes, Crawl] = {}

    def run(self, job: Job) -> Crawl:
        """Return what came of a crawl; a bare one of the same pages is made once.

        Raises:
            CrawlFailedError: it ended by an exception, or not at all.
        """
        if job.addon or _WRITES & job.settings.keys():
            return self._made(job)
        if (known := bytes(ForkingPickler.dumps(job))) not in self._bare:
            if len(self._bare) >= _MOST_KEPT:
                self._bare.clear()
            self._bare[known] = self._made(job)
        return self._bare[known]

    def _made(self, job: Job) -> Crawl:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        self._pipe.send(job)
        told: Crawl | str = "the crawl hangs"
        try:
            if self._pipe.poll(PATIENCE_SECONDS):
                told = self._pipe.recv()
            else:
                self.close()
        except EOFError:
            self.close()
            told = "the process has ended"
        if isinstance(told, str):
            raise CrawlFailedError(f"{job.spider}: {told}")
        return told

    def close(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
            self._process.kill()
            self._process.join()


def _serve(pipe: Connection) -> None:
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    # Not a class of its own: what another handler gives is asked for without conditions.
    HTTP11DownloadHandler.download_request = _download  # type: ignore[method-assign]
    reactor: Any = import_module("twisted.internet.reactor")
    configure_logging({"LOG_INSTALL_ROOT_HANDLER": False})
    logging.getLogger().setLevel(logging.WARNING)
    tasks = []

    async def work() -> None:
        is_frozen = False
        try:
            while True:
                job = await run_in_thread(pipe.recv)
                pipe.send(await _crawled(job))
                # The add-on collects garbage at a crawl's end, and would look through all that was imported.
                if job.addon and not is_frozen:
                    is_frozen = True
                    gc.freeze()
        except EOFError:
            reactor.stop()

    def begin() -> None:
        tasks.append(asyncio.ensure_future(work()))

    reactor.callWhenRunning(begin)
    reactor.run(installSignalHandlers=False)


async def _crawled(job: Job) -> Crawl | str:
    _SERVED.world = world = job.world
    LISTED.clear()
    log, called = _Log(), _Called()
    logging.getLogger().addHandler(log)
    CALLED.addHandler(called)
    CALLED.setLevel(logging.INFO)
    CALLED.propagate = False
    with tempfile.TemporaryDirectory() as folder:
        feed = Path(folder) / "feed.jsonl"
        try:
            crawler = AsyncCrawlerRunner(_settings(job, feed)).create_crawler(load_object(job.spider))
            await crawler.crawl_async(**job.arguments)
        except Exception as error:  # noqa: BLE001 - it goes to whoever asked
            return f"{type(error).__name__}: {error}"
        finally:
            logging.getLogger().removeHandler(log)
            CALLED.removeHandler(called)
        items = [json.loads(line) for line in feed.read_text().splitlines()] if feed.exists() else []
    recorder = crawler.get_extension(Recorder)
    if len(items) != len(recorder.scraped):
        return f"the feed has {len(items)} items of {len(recorder.scraped)} scraped"
    return Crawl(
        visits=tuple(recorder.visits(items)),
        asked=world.asked,
        statuses=world.statuses,
        called=Counter(called.urls),
        errors=tuple(log.lines[logging.ERROR]),
        warnings=tuple(log.lines[logging.WARNING]),
        reason=str(crawler.stats.get_value("finish_reason")),
        stats={name: value for name, value in crawler.stats.get_stats().items() if isinstance(value, int | str)},
    )


def _settings(job: Job, feed: Path) -> dict[str, Any]:
    return {
        "EXTENSIONS": {"tests.law.crawls.Recorder": 0},
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
        "RETRY_TIMES": 1,
        **job.settings,
        "FEEDS": {str(feed): {"format": "jsonlines"}, **job.settings.get("FEEDS", {})},
        "ADDONS": {**job.settings.get("ADDONS", {}), **({job.addon: 700} if job.addon else {})},
    }


class _Served:
    """Where pages come from."""

    world: World | FixedWorld


_SERVED = _Served()


async def _download(self: HTTP11DownloadHandler, request: Request) -> Response:
    await asyncio.sleep(0)
    named = {str(name).lower(): str(value) for name, value in request.headers.to_unicode_dict().items()}
    return _response(request.url, _SERVED.world.answer(Asked(request.method, request.url, named, request.body)))


def _response(url: str, answer: Answer) -> Response:
    headers = Headers({"Content-Type": answer.content_type, **answer.headers})
    kind = responsetypes.from_args(headers=headers, url=url, body=answer.body)
    # As Scrapy's handler does.
    return kind(url=urldefrag(url).url, status=answer.status, headers=headers, body=answer.body, protocol="HTTP/1.1")


class Recorder:
    """Extension that knows of each item in the feed from which response it came."""

    def __init__(self, crawler: Crawler) -> None:
        self.scraped: list[Response | None] = []
        crawler.signals.connect(self._scraped, signal=signals.item_scraped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _scraped(self, response: Any) -> None:
        # Kept until the end, so that no two have one id.
        self.scraped.append(response)

    def visits(self, items: Sequence[dict[str, Any]]) -> list[Visit]:
        """Return the feed by the responses that its items came from."""
        by_response: dict[int, tuple[str, list[dict[str, Any]]]] = {}
        for response, item in zip(self.scraped, items, strict=True):
            # An errback's items come from a failure.
            request = getattr(response, "request", None)
            url: str = getattr(response, "url", "") or getattr(request, "url", "")
            by_response.setdefault(id(response), (url, []))[1].append(item)
        return [Visit(url, tuple(found)) for url, found in by_response.values()]


class _Called(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.urls.append(record.msg)


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: dict[int, list[str]] = {logging.WARNING: [], logging.ERROR: []}

    def emit(self, record: logging.LogRecord) -> None:
        level = logging.ERROR if record.levelno >= logging.ERROR else logging.WARNING
        line = record.getMessage().partition("\n")[0]
        if record.exc_info and record.exc_info[1] is not None:
            line += f" ({type(record.exc_info[1]).__name__}: {record.exc_info[1]})"
        self.lines[level].append(f"{record.name}: {line}")
