"""When the queue runs empty: pages that sitemaps, archives and feeds name, by the callback that others had."""

import logging
from collections.abc import AsyncIterator, Iterable
from typing import Any
from urllib.parse import urljoin, urlsplit
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from scrapy import Request, Spider, signals
from scrapy.exceptions import DontCloseSpider, IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.link import Link
from scrapy.spiders import CrawlSpider, SitemapSpider
from scrapy.utils.asyncio import run_in_thread

from scrapy_dedup.core.resilience.discovery import (
    FEED_LIMITS,
    Signposts,
    may_have_signposts,
    read_feed,
    read_signposts,
    sitemaps_of_robots,
    usual_sitemaps,
)
from scrapy_dedup.core.resilience.sitemaps import DEFAULT_LIMITS, Sitemap
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.core.urls.pagination import shape_of
from scrapy_dedup.plugin.requests import origin_of
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.unchanged import read_unpacked
from scrapy_dedup.plugin.visits import Visit

_NONE = Signposts()

logger = logging.getLogger(__name__)

_PRIORITY = -100
"""Below the spider's own requests, and what is probably in vain."""
_FETCH_SECONDS = 60
_MOST_SITES = 1_000
_MOST_SITEMAPS = 1_000
"""Of one site; an index names up to 50,000."""
_MOST_DEPTH = 5
_MOST_HOPS = 3
_PAGES_LOOKED_AT = 10
_MOST_WAYS = 100
_MOST_KINDS = 1_000


class SignpostReader:
    """Parses pages once more, so only those of which that is worth it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._read: WeakKeyDictionary[Response, Signposts] = WeakKeyDictionary()

    def of(self, response: Response, visit: Visit) -> Signposts:
        """Return what a response says."""
        found = self._read.get(response)
        if found is None:
            html = visit.html()
            found = read_signposts(html, response.url, self._runtime.limits) if html is not None else _NONE
            self._read[response] = found
        return found

    def next_href(self, response: Response, visit: Visit) -> str | None:
        """Return what a response names as the next part."""
        html = visit.html()
        return self.of(response, visit).next_href if html is not None and may_have_signposts(html) else None


class _Site(Struct):
    """What is known of one origin."""

    looked_at: int = 0
    robots: bytes | None = None
    is_done: bool = False
    archives: dict[str, bool] = field(default_factory=dict)
    """URL to whether it was asked for."""
    feeds: dict[str, bool] = field(default_factory=dict)
    named: int = 0
    """Pages that were asked for because of what it says."""


class Discovery:
    """Looks where a site says what it has, once for each site of the crawl."""

    def __init__(self, runtime: Runtime, signposts: SignpostReader) -> None:
        self._runtime = runtime
        self._settings = runtime.settings
        self._signposts = signposts
        self._sites: dict[str, _Site] = {}
        self._start: Request | None = None
        self._by_kind: dict[str, Request] = {}
        """A request for a page, by what its URL is like."""
        self._domains: set[str] = set()
        self._is_looking = False

    def connect(self) -> None:
        """Begin to wait for an empty queue."""
        connect: Any = self._runtime.crawler.signals.connect
        connect(self._empty, signals.scheduler_empty)
        connect(self._idle, signals.spider_idle)

    def starts(self, request: Request) -> None:
        """Note a first request: its callback reads what is found."""
        if self._start is None:
            self._start = request

    def met(self, request: Request, response: Response, visit: Visit, is_news: bool) -> None:  # noqa: FBT001 (one of many that hear)
        """Note a page that came."""
        self._domains.add(extract_domain(request.url) or "")
        site = self._site(response.url)
        if site is None or not is_news:
            return
        shape = shape_of(request.url)
        if shape is not None and not request.cb_kwargs and len(self._by_kind) < _MOST_KINDS:
            self._by_kind.setdefault(f"{shape.host}{shape.path}?{shape.names}", request)
        if site.looked_at < _PAGES_LOOKED_AT and self._settings.discovery & {"archives", "feeds"}:
            site.looked_at += 1
            found = self._signposts.of(response, visit)
            self._note(site.archives, found.archives)
            self._note(site.feeds, found.feeds)

    def met_robots(self, response: Response) -> None:
        """Note a robots.txt that somebody else asked for."""
        if (site := self._site(response.url)) is not None and response.status == 200:
            site.robots = response.body

    def _note(self, ways: dict[str, bool], found: Iterable[str]) -> None:
        for url in found:
            if len(ways) < _MOST_WAYS and self._is_in_scope(url):
                ways.setdefault(url, False)

    def _site(self, url: str) -> _Site | None:
        origin = origin_of(url)
        if origin not in self._sites and len(self._sites) < _MOST_SITES:
            self._sites[origin] = _Site()
        return self._sites.get(origin)

    # When nothing is left.

    def _empty(self) -> None:
        """Begin before the spider is idle: at that moment others find out what is missing."""
        engine: Any = self._runtime.crawler.engine
        scraper: Any = getattr(getattr(engine, "scraper", None), "slot", None)
        is_busy = bool(getattr(getattr(engine, "downloader", None), "active", True)) or scraper is None
        if not is_busy and scraper.is_idle() and getattr(engine, "_start", None) is None:
            self._begin()

    def _idle(self) -> None:
        if self._begin():
            raise DontCloseSpider

    def _begin(self) -> bool:
        if self._is_looking or not self._is_anything_left():
            return False
        self._is_looking = True
        engine: Any = self._runtime.crawler.engine
        engine.crawl(Request("data:,", self._look, dont_filter=True, meta={"dedup": False}))
        return True

    def _is_anything_left(self) -> bool:
        chosen = self._settings.discovery
        return any(
            (not site.is_done and "sitemaps" in chosen and not self._has_own_sitemaps())
            or ("archives" in chosen and not all(site.archives.values()))
            or ("feeds" in chosen and not all(site.feeds.values()))
            for site in self._sites.values()
        )

    def _has_own_sitemaps(self) -> bool:
        return isinstance(self._runtime.crawler.spider, SitemapSpider)

    async def _look(self, response: Response) -> AsyncIterator[Request]:
        """Yield requests for what sites name; the spider is not idle meanwhile."""
        try:
            for origin, site in list(self._sites.items()):
                async for url, way in self._named(origin, site):
                    if site.named >= self._settings.discovery_max_urls:
                        self._runtime.count("discovery/at_limit")
                        break
                    request = self._request(url, response, is_archive=way == "archives")
                    if request is not None:
                        site.named += 1
                        self._runtime.count(f"discovery/{way}/urls")
                        yield request
        finally:
            self._is_looking = False

    async def _named(self, origin: str, site: _Site) -> AsyncIterator[tuple[str, str]]:
        chosen = self._settings.discovery
        for url in [url for url, was_asked in site.archives.items() if not was_asked and "archives" in chosen]:
            site.archives[url] = True
            yield url, "archives"
        for url in [url for url, was_asked in site.feeds.items() if not was_asked and "feeds" in chosen]:
            site.feeds[url] = True
            response = await self._fetch(url, FEED_LIMITS.bytes)
            if response is not None:
                self._runtime.count("discovery/feeds/read")
                for entry in (await run_in_thread(read_unpacked, response, read_feed, FEED_LIMITS)).pages:
                    yield entry.url, "feeds"
        if not site.is_done and "sitemaps" in chosen and not self._has_own_sitemaps():
            site.is_done = True
            async for url in self._of_sitemaps(origin, site):
                yield url, "sitemaps"

    async def _of_sitemaps(self, origin: str, site: _Site) -> AsyncIterator[str]:
        robots = site.robots
        if robots is None:
            response = await self._fetch(f"{origin}/robots.txt", DEFAULT_LIMITS.bytes)
            robots = response.body if response is not None else b""
        named = [url for url in sitemaps_of_robots(robots, f"{origin}/robots.txt") if self._is_in_scope(url)]
        guessed = [] if named else usual_sitemaps(origin)
        queue = [(url, 1) for url in named or guessed]
        seen = {url for url, _ in queue}
        for url, depth in queue:
            response = await self._fetch(url, DEFAULT_LIMITS.bytes)
            sitemap = await run_in_thread(read_unpacked, response) if response is not None else Sitemap()
            if not sitemap.pages and not sitemap.children:
                continue
            self._runtime.count("discovery/sitemaps/read")
            for entry in sitemap.pages:
                yield entry.url
            children = [child.url for child in sitemap.children if child.url not in seen and depth < _MOST_DEPTH]
            for child in children:
                if len(seen) < _MOST_SITEMAPS and self._is_in_scope(child):
                    seen.add(child)
                    queue.append((child, depth + 1))
            if url in guessed:
                # Of the usual places one is enough.
                queue[:] = [one for one in queue if one[0] not in guessed or one[0] == url]

    async def _fetch(self, url: str, most_bytes: int) -> Response | None:
        """Return what a URL gives, through all that holds for the crawl; None where that is nothing."""
        engine: Any = self._runtime.crawler.engine
        meta: dict[str, Any] = {"dedup": False, "dont_redirect": True, "dont_cache": True}
        meta |= {"download_timeout": _FETCH_SECONDS, "download_maxsize": most_bytes}
        for _ in range(_MOST_HOPS):
            self._runtime.count("discovery/fetches")
            try:
                request = Request(url, callback=NO_CALLBACK, dont_filter=True, meta=dict(meta))
                response = await engine.download_async(self._runtime.ways.to(url).lead(request))
            except IgnoreRequest:
                return None
            except Exception as error:  # noqa: BLE001 - whatever a download handler raises: there is no answer
                logger.debug("%s cannot be fetched: %s", url, error)
                return None
            if response.status == 200:
                return response  # type: ignore[no-any-return]
            location = response.headers.get("Location")
            if not 300 <= response.status < 400 or not location:
                return None
            url = urljoin(url, location.decode("latin-1"))
            if not self._is_in_scope(url):
                return None
        return None

    def _request(self, url: str, response: Response, *, is_archive: bool) -> Request | None:
        """Return a request for a page that the site names; None where it is known or no concern of the crawl."""
        if not self._is_in_scope(url):
            self._runtime.count("discovery/out_of_scope")
            return None
        spider: Any = self._runtime.crawler.spider
        way = self._runtime.ways.to(url)
        if isinstance(spider, CrawlSpider):
            for index, rule in enumerate(getattr(spider, "_rules", ())):
                if rule.link_extractor.matches(url):
                    request = rule.process_request(spider._build_request(index, Link(url)), response)  # noqa: SLF001 (what CrawlSpider itself does)
                    if request is None:
                        return None
                    return way.lead(request.replace(priority=request.priority + _PRIORITY))
            if not is_archive:
                return None
        return way.lead(self._like_others(url))

    def _like_others(self, url: str) -> Request:
        shape = shape_of(url)
        kind = f"{shape.host}{shape.path}?{shape.names}" if shape is not None else ""
        model = self._by_kind.get(kind, self._start)
        if model is None:
            return Request(url, priority=_PRIORITY)
        return Request(url, model.callback, errback=model.errback, cb_kwargs=dict(model.cb_kwargs), priority=_PRIORITY)

    def _is_in_scope(self, url: str) -> bool:
        domain = extract_domain(url)
        if domain is None:
            return False
        if domain in self._domains:
            return True
        allowed = _allowed(self._runtime.crawler.spider)
        # Only names: of an address the very port that the crawl asked is in scope.
        host = (urlsplit(url).hostname or "").lower()
        return domain == host and any(host == one or host.endswith(f".{one}") for one in allowed)


def _allowed(spider: Spider | None) -> list[str]:
    found = getattr(spider, "allowed_domains", None) or ()
    return [one.lower() for one in found if isinstance(one, str) and any(map(str.isalpha, one)) and one != "localhost"]
