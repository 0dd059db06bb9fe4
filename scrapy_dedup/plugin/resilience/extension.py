"""Switches on what makes a crawl find its pages by itself and walk into no trap."""

import json
import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.job import job_dir

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.resilience.parameters import ParameterTrials
from scrapy_dedup.core.resilience.traps import TrapPolicy, Traps
from scrapy_dedup.core.urls.pagination import PageLinks, listing_part, next_parts
from scrapy_dedup.plugin.crawl.request_meta import LINEAGE
from scrapy_dedup.plugin.crawl.visits import Visit
from scrapy_dedup.plugin.resilience.discovery import Discovery, SignpostReader
from scrapy_dedup.plugin.resilience.traps import TrapGuard
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.service.exploring import Explorer

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5
_TRAPS_FILE = "dedup_traps.json"

# What a request has gone through is no part of a new one.
_NOT_COPIED = ("redirect_", "retry_", "download_latency", "is_start_request", "cached_", "dedup_")
_MOST_LISTINGS = 10_000
_MOST_OFFSETS = 100


class ResilienceExtension:
    """What the two middlewares ask, for the length of one crawl."""

    def __init__(self, runtime: Runtime) -> None:
        settings = runtime.settings
        self._runtime = runtime
        ignored = runtime.rules.ignored
        parameters = ParameterTrials(ignored) if ignored is not None else None
        traps = Traps(TrapPolicy(settings.trap_pages, settings.traps))
        self._explorer = Explorer(traps, runtime.rules, parameters)
        signposts = SignpostReader(runtime)
        self.guard = TrapGuard(runtime, self._explorer)
        self._next_parts = NextParts(runtime, self.guard, signposts) if settings.pagination_enabled else None
        self._discovery = Discovery(runtime, signposts) if settings.discovery else None
        self._loop: Any = None
        folder = job_dir(runtime.crawler.settings)
        self._file = Path(folder) / _TRAPS_FILE if folder else None
        runtime.resilience = self
        self._connect()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where it is switched off."""
        runtime = Runtime.of(crawler)
        if not runtime.settings.resilience_enabled:
            raise NotConfigured
        return cls(runtime)

    def _connect(self) -> None:
        connect: Any = self._runtime.crawler.signals.connect
        connect(self._opened, signals.spider_opened)
        connect(self._closed, signals.spider_closed)
        if self._discovery is not None:
            self._discovery.connect()
            self.guard.hear.append(self._discovery.met)

    def _opened(self) -> None:
        if self.guard.parameters is not None:
            self.guard.parameters.recall()
        self._recall_traps()
        self._loop = create_looping_call(self.guard.wake)
        self._loop.start(_LOOK_SECONDS, now=False)

    async def _closed(self) -> None:
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        self.guard.wake()
        if self.guard.parameters is not None:
            await self.guard.parameters.write()
        self._keep_traps()

    # For the middlewares.

    def starts(self, request: Request) -> None:
        """Note a first request."""
        if self._discovery is not None:
            self._discovery.starts(request)

    def outgoing(self, request: Request, response: Response) -> Request | None:
        """Return what goes on of a request that a callback yields."""
        return self.guard.outgoing(request, response)

    def further(self, response: Response, visit: Visit) -> Iterator[Request]:
        """Yield requests that the page itself did not make."""
        if self._next_parts is not None:
            yield from self._next_parts.requests(response, visit)

    async def before(self, request: Request) -> None:
        """Let a request pass, perhaps later; raises IgnoreRequest."""
        await self.guard.before(request)

    def after(self, request: Request, response: Response, visit: Visit | None) -> None:
        """Judge what came."""
        if request.callback is NO_CALLBACK:
            if self._discovery is not None and request.url.endswith("/robots.txt"):
                self._discovery.met_robots(response)
            return
        self.guard.after(request, response, visit)

    def ended(self, request: Request) -> None:
        """Note that a request gave nothing."""
        self.guard.ended(request)

    # With a JOBDIR.

    def _recall_traps(self) -> None:
        if self._file is None or not self._file.exists():
            return
        try:
            for pattern, in_a_row in json.loads(self._file.read_text(encoding="utf-8")):
                self._explorer.traps.recall(str(pattern), int(in_a_row))
        except (OSError, ValueError, TypeError) as error:
            logger.warning("Traps that this crawl found earlier cannot be read, and are found anew: %s", error)

    def _keep_traps(self) -> None:
        if self._file is None:
            return
        found = [(trap.pattern, trap.in_a_row) for trap in self._explorer.traps.known()]
        try:
            self._file.write_text(json.dumps(found), encoding="utf-8")
        except OSError as error:
            logger.warning("Traps cannot be kept for the rest of this crawl: %s", error)


class NextParts:
    """Makes requests with the callback and the arguments of the page on which they were found."""

    def __init__(self, runtime: Runtime, guard: TrapGuard, signposts: SignpostReader) -> None:
        self._runtime = runtime
        self._guard = guard
        self._signposts = signposts
        self._tried: Counter[str] = Counter()
        self._offsets: dict[str, dict[int, None]] = {}
        """By listing, numbers of parts that came."""

    def requests(self, response: Response, visit: Visit) -> Iterator[Request]:
        """Yield requests for what may come next."""
        request = response.request
        if request is None or not self._guard.was_news(response):
            return
        page = visit.page(self._runtime.limits)
        if not isinstance(page, Page):
            return
        own = listing_part(response.url)
        offsets = self._offsets.setdefault(own.place, {}) if own is not None and own.is_offset else {}
        if own is not None and len(offsets) < _MOST_OFFSETS:
            offsets[own.number] = None
        links = PageLinks(page.links, self._signposts.next_href(response, visit), list(offsets))
        for url in next_parts(response.url, links):
            part = listing_part(url)
            place = part.place if part is not None else url.partition("?")[0]
            if self._tried[place] >= self._runtime.settings.pagination_max_pages or (
                place not in self._tried and len(self._tried) >= _MOST_LISTINGS
            ):
                self._runtime.count("pagination/at_limit")
                continue
            self._tried[place] += 1
            self._runtime.count("pagination/tried")
            meta = {key: value for key, value in request.meta.items() if not key.startswith(_NOT_COPIED)}
            if LINEAGE in request.meta:
                meta[LINEAGE] = request.meta[LINEAGE]
            yield request.replace(url=url, meta=meta, dont_filter=False)
