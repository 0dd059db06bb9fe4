"""Switches on what makes a crawl find its pages by itself and walk into no trap.

Requests that lead nowhere end here; others wait while it is being found out whether they do.
When the queue runs empty, pages are asked for that sitemaps, archives and feeds name, by the callback that others had.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import urljoin, urlsplit
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.link import Link
from scrapy.spiders import CrawlSpider, SitemapSpider
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.job import job_dir
from twisted.internet.defer import Deferred

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.resilience.discovery import (
    DEFAULT_LIMITS,
    FEED_LIMITS,
    Signposts,
    Sitemap,
    may_have_signposts,
    read_feed,
    read_signposts,
    read_sitemap,
    sitemaps_of_robots,
    usual_sitemaps,
)
from scrapy_dedup.core.resilience.parameters import Decided, ParameterTrials
from scrapy_dedup.core.resilience.traps import ExploredPage, Explorer, Lineage, Trap, TrapPolicy, Traps
from scrapy_dedup.core.urls.normal_form import extract_domain, host_of, names_in, page_key
from scrapy_dedup.core.urls.pagination import PageLinks, listing_part, next_parts, shape_of
from scrapy_dedup.core.urls.seen import Latest
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.overrides import is_left_alone
from scrapy_dedup.plugin.requests import LEFT_OUT, LINEAGE, READMITTED, fetched, origin_of
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.unchanged import read_unpacked
from scrapy_dedup.plugin.visits import LeadsNowhere, Visit
from scrapy_dedup.plugin.waiting import Loops
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.pages.site_configs import StoredParameter
from scrapy_dedup.store.records.records import DecisionRecord

_NONE = Signposts()

logger = logging.getLogger(__name__)

_PRIORITY = -100
"""Below the spider's own requests, and what is probably in vain."""
_FETCH_SECONDS = 60
_MOST_SITES = 1_000
_MOST_SITEMAPS = 1_000
"""Of one site; an index names up to 50,000."""
_MOST_DEPTH = 5
_MOST_REDIRECTS = 3
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
            sitemap = await run_in_thread(read_unpacked, response, read_sitemap) if response is not None else Sitemap()
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
        meta: dict[str, Any] = {"dedup": False, "dont_redirect": True, "dont_cache": True}
        meta |= {"download_timeout": _FETCH_SECONDS, "download_maxsize": most_bytes}
        for _ in range(_MOST_REDIRECTS):
            self._runtime.count("discovery/fetches")
            request = Request(url, callback=NO_CALLBACK, dont_filter=True, meta=dict(meta))
            response = await fetched(self._runtime.crawler, self._runtime.ways.to(url).lead(request))
            if response is None or response.status == 200:
                return response
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
        allowed = getattr(self._runtime.crawler.spider, "allowed_domains", None) or ()
        # Only names: of an address the very port that the crawl asked is in scope.
        names = [one.lower() for one in allowed if isinstance(one, str) and any(map(str.isalpha, one))]
        host = (urlsplit(url).hostname or "").lower()
        return domain == host and any(host == one or host.endswith(f".{one}") for one in names if one != "localhost")


_MOST_FETCHED = 200_000
_MOST_PARAMETERS_DROPPED = 1_000

_LATE = 10
"""By how much the priority falls of what is probably in vain."""
# With these Scrapy, or we after a kill, set dont_filter; with none of them it is the spider's word.
_NOT_THE_SPIDERS = ("is_start_request", "retry_times", READMITTED)
_LONGEST_WAIT_SECONDS = 10.0
_MOST_DROPPED = 2_000
_MOST_DECISIONS = 1_000
_MOST_HOPS = 8
_GONE = (404, 410)


class LearnedParameters:
    """Keeps the duplicate filter, the page keys and the store at one."""

    def __init__(self, runtime: Runtime, parameters: ParameterTrials) -> None:
        self._runtime = runtime
        self.trials = parameters
        self._fetched: dict[bytes, str] = {}
        """Page keys of what was sent in this run, with the URLs."""
        self._dropped: dict[str, Request] = {}
        """Requests that were left out, for the case that a parameter turns out to mean something."""

    def recall(self) -> None:
        """Take over what earlier crawls found out; blocks, for the start of a crawl."""
        try:
            stored = self._runtime.crawl.store.url_parameters()
        except StoreError as error:
            self._failed(error)
            return
        self.trials.recall(Decided(one.domain, one.name, one.same, one.different, one.ignored) for one in stored)

    def sent(self, url: str, tests: Sequence[str]) -> None:
        """Note that a page is asked for."""
        if len(self._fetched) < _MOST_FETCHED:
            self._fetched[page_key(url, self._runtime.rules)] = url
        self.trials.sent(url, tests)

    def is_due(self, request: Request) -> bool:
        """Say whether a request for a known page is tried, in case its parameters mean something."""
        if not self._is_known(request):
            return False
        self._runtime.count("parameters/links_dropped")
        self._keep(request)
        is_due = self.trials.dropped(request.url)
        if is_due:
            self._runtime.count("parameters/rechecks")
        return is_due

    def is_known_without(self, request: Request) -> bool:
        """Say whether a request in the queue is for a page that was fetched without its parameters, or with others."""
        if request.dont_filter or not self._is_known(request):
            return False
        self._runtime.count("parameters/dropped")
        self._keep(request)
        return True

    def decided(self, decided: Sequence[Decided]) -> None:
        """Let what was found out count from now on."""
        for one in decided:
            self._runtime.count("parameters/learned" if one.is_ignored else "parameters/unlearned")
            word = "changes nothing" if one.is_ignored else "changes the content after all"
            logger.info("Parameter %s of %s %s: %s", one.name, one.domain, word, one.evidence)
            self._renew_keys(one)
            if not one.is_ignored:
                self._give_back(one)
        if decided:
            deferred_from_coro(self.write())

    async def write(self) -> None:
        """Store what was found out since the last time."""
        at = datetime.now(UTC)
        found = [
            StoredParameter(one.domain, one.name, one.same, one.different, one.is_ignored, at)
            for one in self.trials.take_changed()
        ]
        try:
            if found:
                await run_in_thread(self._runtime.crawl.store.put_url_parameters, found)
        except StoreError as error:
            self._failed(error)

    def _is_known(self, request: Request) -> bool:
        """Say whether a URL carries what is ignored, and its page was fetched."""
        url = request.url
        return self.trials.ignored.without(url) != url and page_key(url, self._runtime.rules) in self._fetched

    def _keep(self, request: Request) -> None:
        if len(self._dropped) < _MOST_PARAMETERS_DROPPED:
            self._dropped.setdefault(request.url, request)

    def _renew_keys(self, one: Decided) -> None:
        """Let pages that were fetched under keys with the parameter be known under those without it."""
        changed = [url for url in self._fetched.values() if host_of(url) == one.domain and one.name in names_in(url)]
        duplicates = EngineState(self._runtime.crawler).duplicate_filter()
        for url in changed:
            self._fetched[page_key(url, self._runtime.rules)] = url
            if duplicates is not None:
                duplicates.request_seen(Request(url))

    def _give_back(self, one: Decided) -> None:
        """Ask for pages that were taken for others."""
        for url, request in list(self._dropped.items()):
            if host_of(url) == one.domain and one.name in names_in(url):
                del self._dropped[url]
                self._runtime.count("parameters/given_back")
                engine: Any = self._runtime.crawler.engine
                engine.crawl(request.replace(dont_filter=False))

    def _failed(self, error: StoreError) -> None:
        self._runtime.count("store/errors")
        logger.warning("What is known of parameters of URLs cannot be read or written: %s", error)


class TrapGuard:
    """Judges what comes by what is new in it, and what goes out by what came of its kind."""

    def __init__(self, runtime: Runtime, explorer: Explorer) -> None:
        self._runtime = runtime
        self._explorer = explorer
        self._engine = EngineState(runtime.crawler)
        self.parameters = LearnedParameters(runtime, explorer.parameters) if explorer.parameters else None
        self._under_way: dict[str, tuple[str, tuple[str, ...]]] = {}
        """URLs that were sent: each as its kind was known by then, and the parameters that it tests."""
        self._waiting: list[Deferred[None]] = []
        self._dropped: Latest[int, tuple[str, Request]] = Latest(_MOST_DROPPED)
        """Requests of traps, for the case that these turn out to be none."""
        self._decisions = 0
        self._news: WeakKeyDictionary[Response, bool] = WeakKeyDictionary()
        self.hear: list[Callable[[Request, Response, Visit, bool], None]] = []
        """Who wants to know of pages that came."""

    def was_news(self, response: Response) -> bool:
        """Say whether a response brought something new."""
        return self._news.get(response, False)

    # At the spider.

    def outgoing(self, request: Request, response: Response) -> Request | None:
        """Return what goes on of a request that a callback yields; None where it ends here."""
        if not self._is_judged(request):
            return request
        explorer = self._explorer
        parent = response.request
        came_by = Lineage.from_json(parent.meta.get(LINEAGE)) if parent is not None else Lineage()
        was_elsewhere = explorer.is_elsewhere(request.url)
        lineage = explorer.descend(
            parent.url if parent is not None else response.url, came_by, request.url, from_news=self.was_news(response)
        )
        request.meta[LINEAGE] = lineage.to_json()
        key = explorer.key(request.url)
        if request.dont_filter:
            return request
        if key in self._dropped:
            # Somebody else leads there now, so that it takes more to give it up.
            if lineage.is_own_kind or was_elsewhere:
                return None
            del self._dropped[key]
            going = self._going(request, key)
            return self._readmitted(going) if going is not None else None
        return self._going(request, key)

    def _going(self, request: Request, key: int) -> Request | None:
        explorer = self._explorer
        if self.parameters is not None and self.parameters.is_due(request):
            return self._readmitted(request)
        answer = explorer.ask(request.url)
        if answer.trap is not None:
            self._drop(request, key, answer.trap)
            return None
        found = Lineage.from_json(request.meta[LINEAGE])
        is_own = found.is_own_kind and listing_part(request.url) is None
        if answer.is_late or is_own:
            # What leads on to its own kind alone may never end; what others list comes first, and then what is near to
            # news: the next month before the next year.
            request.priority -= (_LATE if answer.is_late else 1) + min(found.hops, _MOST_HOPS)
        return request

    # At the downloader.

    async def before(self, request: Request) -> None:
        """Let a request pass, at once or when others of its kind have come.

        Raises:
            LeadsNowhere: it is not sent.
        """
        if not self._is_judged(request):
            return
        is_again = bool(request.meta.get("redirect_times") or request.meta.get("retry_times"))
        until = time.monotonic() + _LONGEST_WAIT_SECONDS
        tests: tuple[str, ...] = ()
        while not is_again:
            tests = self.parameters.trials.tests(request.url) if self.parameters is not None else ()
            if not self._must_wait(request, tests) or self._engine.closing():
                break
            if time.monotonic() > until:
                self._runtime.count("traps/waited_in_vain")
                break
            answer: Deferred[None] = Deferred()
            self._waiting.append(answer)
            await maybe_deferred_to_future(answer)
        plain = self._explorer.pattern_url(request.url)
        self._under_way[request.url] = (plain, tests)
        self._explorer.traps.sent(plain)
        if self.parameters is not None:
            self.parameters.sent(request.url, tests)

    def after(self, request: Request, response: Response, visit: Visit | None) -> None:
        """Judge what came."""
        if not self._is_judged(request):
            return
        if LEFT_OUT not in response.flags and visit is not None:
            seen = self._seen(request, response, visit)
            if seen is not None:
                # What leads to it is worth as much; a hop to the same page in other words is none.
                kind = self._explorer.pattern_url(request.url)
                hops = [url for url in request.meta.get("redirect_urls", ()) if self._explorer.pattern_url(url) != kind]
                traps = [trap for url in hops[:_MOST_HOPS] for trap in self._explorer.led_to(url, seen)]
                self._told(request, response, visit, seen._replace(traps=(*seen.traps, *traps)))
        self.ended(request)

    def ended(self, request: Request) -> None:
        """Note that a request has ended, whatever came of it."""
        for url in (*request.meta.get("redirect_urls", ()), request.url):
            sent = self._under_way.pop(url, None)
            if sent is None:
                continue
            plain, tests = sent
            self._explorer.traps.came(plain)
            if self.parameters is not None:
                self.parameters.trials.came(url, tests)
        self.wake()

    def wake(self) -> None:
        """Let those that wait look again."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(None)

    def _is_judged(self, request: Request) -> bool:
        return (
            request.method == "GET"
            and request.callback is not NO_CALLBACK
            and request.url.startswith("http")
            and not is_left_alone(self._runtime.settings, request)
            and not (request.dont_filter and not any(name in request.meta for name in _NOT_THE_SPIDERS))
        )

    def _must_wait(self, request: Request, tests: tuple[str, ...]) -> bool:
        explorer = self._explorer
        if self.parameters is not None:
            if self.parameters.is_known_without(request):
                raise LeadsNowhere("dedup: the page is known without a parameter that changes nothing")
            if tests and self.parameters.trials.is_full(request.url, tests):
                return True
        if request.dont_filter:
            return False
        answer = explorer.ask(request.url)
        if answer.trap is not None:
            self._drop(request, explorer.key(request.url), answer.trap)
            raise LeadsNowhere(f"dedup: {answer.trap.pattern} is a trap")
        return bool(answer.waits)

    def _seen(self, request: Request, response: Response, visit: Visit) -> ExploredPage | None:
        """Return what a response comes to; None where it says nothing about its kind."""
        explorer = self._explorer
        if visit.is_error_page or response.status in _GONE:
            return explorer.saw(request.url, response.url, None, Lineage())
        if not 200 <= response.status < 300:
            return None
        page = visit.page(self._runtime.limits)
        if isinstance(page, Page):
            return explorer.saw(request.url, response.url, page, Lineage.from_json(request.meta.get(LINEAGE)))
        if page is not None:
            return None
        body = response.text if isinstance(response, TextResponse) else response.body
        return explorer.saw_other(request.url, body, Lineage.from_json(request.meta.get(LINEAGE)))

    def _told(self, request: Request, response: Response, visit: Visit, seen: ExploredPage) -> None:
        self._news[response] = seen.is_news
        self._runtime.count("traps/pages_with_news" if seen.is_news else "traps/pages_without_news")
        for trap in seen.traps:
            self._runtime.count("traps/found")
            logger.warning("Trap: %s (%s): %s", trap.pattern, trap.reason, trap.evidence)
        if self.parameters is not None:
            self.parameters.decided(seen.decided)
        if seen.is_news:
            self._give_back()
        for hear in self.hear:
            hear(request, response, visit, seen.is_news)

    def _drop(self, request: Request, key: int, trap: Trap) -> None:
        self._runtime.count("traps/dropped")
        self._dropped[key] = (trap.pattern, request)
        if self._decisions < _MOST_DECISIONS:
            self._decisions += 1
            reason = f"{trap.pattern}: {trap.evidence}"
            page = page_key(request.url, self._runtime.rules)
            self._runtime.crawl.rows.append(DecisionRecord(page, "traps", "dropped", reason, datetime.now(UTC)))

    def _give_back(self) -> None:
        """Ask again for what was dropped because of patterns that are traps no more."""
        if not self._dropped:
            return
        traps = {trap.pattern for trap in self._explorer.traps.known()}
        for key, (pattern, request) in list(self._dropped.items()):
            if pattern not in traps:
                del self._dropped[key]
                self._runtime.count("traps/given_back")
                engine: Any = self._runtime.crawler.engine
                engine.crawl(self._readmitted(request))

    def _readmitted(self, request: Request) -> Request:
        """Return a request that passes the duplicate filter once more."""
        return request.replace(dont_filter=True, meta={**request.meta, READMITTED: True})


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
        self._loops = Loops()
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
        self._loops.every(_LOOK_SECONDS, self.guard.wake)

    async def _closed(self) -> None:
        self._loops.stop()
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
