"""Pages are shown to a browser while a crawl goes on: their sites learn from what it sees, or it makes their text.

What pages need for that comes by Scrapy's own downloader: robots.txt, delays and proxies hold for it.
"""

import asyncio
import logging
import re
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from urllib.parse import urljoin, urlsplit

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_dedup.core.addresses import may_fetch
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.guard import ParseLimits
from scrapy_dedup.core.teacher import numbered
from scrapy_dedup.core.templates.layouts import skeleton_of
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.requests import Ways
from scrapy_dedup.plugin.visits import is_html
from scrapy_dedup.plugin.waiting import Aside, CrawlEndedError
from scrapy_dedup.service.crawl.crawl import Crawl, load
from scrapy_dedup.service.teacher.lessons import LookedAtPage, picture_of, see
from scrapy_dedup.service.teacher.teaching import NEARLY_EMPTY, SURE, PagesToShow, PageToShow
from scrapy_dedup.service.templates.layout_figures import name_of
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.teacher import NotShown, NotShownReason, RenderedPage, Resource, Showing, WantedResource
from scrapy_dedup.teacher.browser import Browser

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


logger = logging.getLogger(__name__)

_AT_ONCE: Final = 2
# In a row, of whatever pages: then the browser, or the machine, is not up to it.
_MOST_FAILURES: Final = 3


async def look_at(
    page: PageToShow, show: Callable[[Showing], Awaitable[RenderedPage | NotShown]]
) -> LookedAtPage | NotShown:
    """Return how a page looks, with its picture; *show* has a browser show it."""
    with_numbers = await run_in_thread(numbered, page.html, page.page)
    if with_numbers is None:
        return NotShown(NotShownReason.TOO_LARGE, "too many elements, or they read otherwise with numbers")
    answer = await show(Showing(page.url, with_numbers, scripts=page.needs_scripts, picture=True))
    return await run_in_thread(see, page, with_numbers, answer) if isinstance(answer, RenderedPage) else answer


class Teaching:
    """The browser of one crawl: started for its first page, ended with the crawl.

    Whatever becomes of it the crawl goes on; it is told once.
    """

    def __init__(self, crawler: Crawler, crawl: Crawl, ways: Ways, aside: Aside) -> None:
        self.waiting = crawl.to_show = PagesToShow(crawl.settings)
        self._crawler = crawler
        self._crawl = crawl
        self._ways = ways
        self._aside = aside
        self._settings = settings = crawl.settings
        self._count = crawl.count
        self._browser = Browser(settings.teacher_browser, timeout=settings.teacher_timeout)
        self._resources: SubResources | None = None
        self._loop: Loop | None = None
        self._under_way = 0
        self._failures = 0
        self._ended = False
        self._has_met_young = False

    def watch(self) -> None:
        """Begin to hear when the crawl has nothing else to do; call it on the crawl's thread."""
        self._loop = Loop()
        self._resources = SubResources(self._crawler, self._settings, self._ways)
        connect: Callable[..., None] = self._crawler.signals.connect
        connect(self._idle, signals.spider_idle)

    @property
    def is_busy(self) -> bool:
        """Whether pages are shown, or wait for it."""
        return not self._ended and bool(self._under_way or len(self.waiting))

    def begin(self) -> None:
        """Show pages that wait, a few at once."""
        while not self._ended and self._under_way < _AT_ONCE and (page := self.waiting.take()) is not None:
            self._under_way += 1
            deferred_from_coro(self._teach(page))

    def _idle(self) -> None:
        if not self._has_met_young:
            self._has_met_young = True
            for learner in self._crawl.learners.values():
                if learner.site is not None:
                    self.waiting.meet_young(learner.site)
        if self.is_busy:
            self.begin()
            raise DontCloseSpider

    async def _teach(self, page: PageToShow) -> None:
        try:
            answer = await look_at(page, self.show)
            if self._ended:
                return
            if isinstance(answer, NotShown):
                self._not_shown(page, answer)
            else:
                self._failures = 0
                self._count("teacher/pages", 1)
                await self._learn(page, answer)
        except Exception as error:
            self._count(f"teacher/errors/{type(error).__name__}", 1)
            logger.exception("A page teaches nothing because of a defect in scrapy_dedup")
            self.waiting.fail(page, lasting=False)
        finally:
            self._under_way -= 1
            if not self.is_busy:
                EngineState(self._crawler).look_again()

    async def _learn(self, page: PageToShow, seen: LookedAtPage) -> None:
        """Let a site learn from a page that was shown, and keep its picture."""
        crawl, at = self._crawl, datetime.now(UTC)
        learner = crawl.learner(page.domain, "template")
        site = learner.site if learner is not None else None
        if site is None:
            return
        with suppress(CrawlEndedError):
            async with self._aside.turn(page.domain):
                if await self._aside.result(site.teach(seen.snapshot, at)):
                    crawl.rows += site.take_records(at)
                    self._count("teacher/lessons", 1)
        if seen.picture is not None and site.knowledge is not None:
            picture = picture_of(seen.shown, seen.picture, page.domain, site.knowledge, self._settings, at)
            await run_in_thread(crawl.store.put_picture, picture)

    async def show(self, showing: Showing) -> RenderedPage | NotShown:
        """Return what a page looks like, or why that is not known."""
        if self._ended or self._resources is None or self._loop is None:
            return NotShown(NotShownReason.FAILED, "the crawl has ended")
        try:
            return await self._loop.result_of(self._browser.show(showing, self._resources.fetch))
        except CancelledError:
            return NotShown(NotShownReason.FAILED, "the crawl has ended")

    def _not_shown(self, page: PageToShow, why: NotShown) -> None:
        self._count(f"teacher/not_shown/{why.reason}", 1)
        self._failures += 1
        lasting = why.is_lasting or self._failures >= _MOST_FAILURES
        if lasting and not self.waiting.is_over:
            self._count("teacher/unavailable", 1)
            logger.warning(
                "No browser looks at pages any more, and layouts are learned without: %s (%s)."
                " `scrapy dedup doctor` says what is missing",
                why.detail,
                why.reason,
            )
        elif not lasting:
            logger.info("%s was not shown (%s): %s", page.url, why.reason, why.detail)
        self.waiting.fail(page, lasting=lasting)

    async def end(self) -> None:
        """Close the browser; pages that are still shown teach nothing."""
        self._ended = True
        if self._settings.teacher == "unsure" and not self.waiting.has_met and not self.waiting.is_over:
            logger.info(
                "No browser looked at a page: no layout's template was missing, drifting or unsure (confidence below"
                " %.2f). `scrapy dedup templates learn DOMAIN --all` shows pages all the same",
                SURE,
            )
        await run_in_thread(self._browser.close)


RENDERED: Final = "dedup_rendered"
"""The flag of a response whose scripts were run."""


class Rendering:
    """Asks the teacher's browser, which reaches no network but through Scrapy."""

    def __init__(self, crawl: Crawl, limits: ParseLimits, teaching: Teaching) -> None:
        self._crawl = crawl
        self._limits = limits
        self._teaching = teaching
        self._told: set[tuple[str, int]] = set()

    async def of(self, response: Response) -> Response:
        """Return a response as its scripts leave it, if its layout needs that; else as it is."""
        domain = extract_domain(response.url, self._crawl.settings.domain_scope) or ""
        known = await self._known(domain)
        layouts = known.need_rendering if known is not None else frozenset()
        if known is None or not layouts:
            return response
        if response.status != 200 or not isinstance(response, TextResponse) or not is_html(response):
            return response
        page = parse_page(response.text, self._limits)
        layout = known.layout_of(skeleton_of(page)) if isinstance(page, Page) else None
        if not isinstance(page, Page) or layout not in layouts or page.chars >= NEARLY_EMPTY:
            return response
        if (domain, layout) not in self._told:
            self._told.add((domain, layout))
            logger.info("Pages of layout %s of %s are rendered: their text is made by scripts", name_of(layout), domain)
        return await self._rendered(response, page)

    async def _known(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain; the store is asked once, before the domain's first item."""
        crawl = self._crawl
        learner = crawl.learner(domain, "template")
        if learner is None and domain:
            try:
                stored = await run_in_thread(load, crawl.store, domain)
            except StoreError:
                return None
            learner = crawl.learner(domain, "template") or crawl.meet(domain, "template", stored)
        return learner.site.knowledge if learner is not None and learner.site is not None else None

    async def _rendered(self, response: TextResponse, page: Page) -> Response:
        count = self._crawl.count
        with_numbers = await run_in_thread(numbered, response.text, page)
        if with_numbers is None:
            count("teacher/not_rendered/too_large", 1)
            return response
        answer = await self._teaching.show(Showing(response.url, with_numbers, scripts=True))
        if isinstance(answer, NotShown) or answer.html is None:
            count(f"teacher/not_rendered/{answer.reason if isinstance(answer, NotShown) else 'failed'}", 1)
            return response
        count("teacher/rendered", 1)
        body = re.sub(rf' {with_numbers.attribute}="\d+"', "", answer.html).encode("utf-8", "replace")
        return response.replace(body=body, encoding="utf-8", flags=[*response.flags, RENDERED])
