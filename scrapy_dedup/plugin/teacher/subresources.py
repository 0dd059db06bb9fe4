"""What pages need to be shown in a browser, by Scrapy's own downloader: robots.txt, delays and proxies hold for it."""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_dedup.core.addresses import may_fetch
from scrapy_dedup.plugin.crawl.ways import Ways
from scrapy_dedup.settings import Settings
from scrapy_dedup.teacher.values import Resource, WantedResource

MOST_BYTES: Final = 8_000_000
_MOST_REDIRECTS: Final = 5
_SECONDS: Final = 20
# Pages of one site need the same few style sheets.
_KEPT_BYTES: Final = 32_000_000
_META: Final[dict[str, Any]] = {
    "dedup": False,
    # Style sheets come from other hosts; whether these may be asked is found out here.
    "allow_offsite": True,
    # Each step is asked about anew.
    "dont_redirect": True,
    "download_timeout": _SECONDS,
    "download_maxsize": MOST_BYTES,
    "download_warnsize": 0,
}

_T = TypeVar("_T")


async def addresses_of(host: str, port: int) -> Sequence[str]:
    """Return all addresses of a host; none where its name has none."""
    try:
        found = await run_in_thread(socket.getaddrinfo, host, port, 0, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return sorted({str(each[4][0]) for each in found})


class SubResources:
    """Fetches for one crawl, and keeps what several pages need."""

    def __init__(self, crawler: Crawler, settings: Settings, ways: Ways) -> None:
        self._crawler = crawler
        self._ways = ways
        self._hosts = settings.teacher_hosts
        self._loop = Loop()
        self._kept: OrderedDict[str, Resource] = OrderedDict()
        self._kept_bytes = 0
        self._asked: dict[str, list[Future[Resource | None]]] = {}
        """Who waits for what is asked for at present."""

    def fetch(self, wanted: WantedResource) -> "Future[Resource | None]":
        """Return what is wanted, or None where it may not be had; may be called from any thread."""
        answer: Future[Resource | None] = Future()
        self._loop.call(self._begin, wanted, answer)
        return answer

    def _begin(self, wanted: WantedResource, answer: "Future[Resource | None]") -> None:
        if not answer.set_running_or_notify_cancel():
            return
        waiting = self._asked.setdefault(wanted.url, [])
        waiting.append(answer)
        if len(waiting) == 1:
            deferred_from_coro(self._resource(wanted)).addErrback(self._failed).addCallback(self._answer, wanted.url)

    def _answer(self, resource: Resource | None, url: str) -> None:
        for answer in self._asked.pop(url):
            answer.set_result(resource)

    def _failed(self, failure: Failure) -> None:
        # No answer in time, too large, forbidden by robots.txt: the page is shown without it.
        self._count("refused" if isinstance(failure.value, IgnoreRequest) else "failed")

    async def _resource(self, wanted: WantedResource) -> Resource | None:
        kept = self._kept.get(wanted.url)
        if kept is not None:
            return kept
        url = wanted.url
        for _ in range(_MOST_REDIRECTS + 1):
            if not await self.may_fetch(url, wanted.page_url):
                self._count("refused")
                return None
            response = await self._download(url, wanted.page_url)
            if not self.came_from(response, wanted.page_url):
                self._count("refused")
                return None
            location = response.headers.get("Location")
            if not 300 <= response.status < 400 or location is None:
                self._count("fetched")
                return self._remembered(wanted.url, _resource_of(response))
            url = urljoin(url, location.decode("latin-1").strip())
        self._count("refused")
        return None

    async def may_fetch(self, url: str, page_url: str) -> bool:
        """Say whether a page may get something from a URL, as far as the addresses of its host tell."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            return False
        addresses = await addresses_of(host, port) if host else ()
        return may_fetch(url, page_url, addresses, self._hosts) is None

    def came_from(self, response: Response, page_url: str) -> bool:
        """Say whether an answer came from where it may: a name can have another address than it had just now."""
        address = getattr(response, "ip_address", None)
        if address is None or (response.request is not None and response.request.meta.get("proxy")):
            return True
        return may_fetch(response.url, page_url, [str(address)], self._hosts) is None

    async def _download(self, url: str, page_url: str) -> Response:
        engine = self._crawler.engine
        assert engine is not None
        request = Request(url, callback=NO_CALLBACK, dont_filter=True, meta=dict(_META))
        return await engine.download_async(self._ways.to(url, page_url=page_url).lead(request))

    def _remembered(self, url: str, resource: Resource) -> Resource:
        if resource.status == 200 and len(resource.body) <= _KEPT_BYTES // 4 and url not in self._kept:
            self._kept[url] = resource
            self._kept_bytes += len(resource.body)
            while self._kept_bytes > _KEPT_BYTES:
                self._kept_bytes -= len(self._kept.popitem(last=False)[1].body)
        return resource

    def _count(self, outcome: str) -> None:
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value(f"dedup/teacher/resources/{outcome}")


def _resource_of(response: Response) -> Resource:
    names = (name.decode("latin-1").lower() for name in response.headers)
    headers = {name: (response.headers.get(name) or b"").decode("latin-1") for name in names}
    # The body has been unpacked.
    headers.pop("content-encoding", None)
    return Resource(response.status, headers, response.body)


class Loop:
    """Make it on the crawl's thread."""

    def __init__(self) -> None:
        self._call: Callable[..., Any]
        if is_reactor_installed():
            from twisted.internet import reactor  # noqa: PLC0415 - importing it installs one

            self._call = reactor.callFromThread
        else:
            self._call = asyncio.get_running_loop().call_soon_threadsafe

    def call(self, work: Callable[..., object], *args: object) -> None:
        """Do something on the crawl's thread, soon; may be called from any thread."""
        self._call(work, *args)

    async def result_of(self, future: "Future[_T]") -> _T:
        """Return what another thread answers; no thread of the crawl's waits for it meanwhile.

        Raises:
            CancelledError: of `concurrent.futures`: there will be no answer.
        """
        answered: Deferred[None] = Deferred()
        future.add_done_callback(lambda _: self.call(answered.callback, None))
        await maybe_deferred_to_future(answered)
        return future.result()
