"""Notices that a crawl gets nowhere, says why, and does what the user chose."""

import logging
import time
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Self
from weakref import WeakSet

from msgspec.structs import replace
from scrapy import Request, signals
from scrapy.commands import ScrapyCommand
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.exceptions import NotConfigured
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.httpobj import urlparse_cached

from scrapy_dedup.core.duplicates import LAYERS
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.core.recrawl.verdicts import VerdictKind
from scrapy_dedup.core.resilience.stalls import (
    REFUSALS,
    STALLED_EXIT_CODE,
    Cause,
    Figures,
    HostFigures,
    SeenTexts,
    challenge_of,
    judge,
)
from scrapy_dedup.core.urls.pagination import shape_of
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.overrides import settings_of
from scrapy_dedup.plugin.requests import fetched
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.visits import is_html
from scrapy_dedup.plugin.waiting import Loops
from scrapy_dedup.settings import Settings

PROBE = "dedup_stall_probe"
"""In the meta of a request that asks whether there is a network."""
_EXCEPTIONS = "downloader/exception_type_count/"
_DROPPING = ("canonical", *LAYERS)
# A broad crawl meets any number of them within a stall; only the largest are told.
_MOST_HOSTS = 1_000
_MOST_SHAPES = 1_000
_MOST_URLS = 20_000
_SHAPE_CHARS = 200

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 5.0
_LOOKS = 8
"""In the time after which a crawl has stalled, at least."""
_PROBE_SECONDS = 10
_DELAYS = 3
"""So many requests may bring nothing while the crawl asks less often."""
# Waiting, or another process, changes nothing where the site gives what it has.
_PASSING = frozenset({Cause.SLOW, Cause.BLOCKED, Cause.NO_NETWORK})

FIRST_DELAY_SECONDS = 1.0
_GROWTH = 2


class StallWatch:
    """Hears what the crawl does, and says when a page was new."""

    def __init__(self, crawler: Crawler, runtime: Runtime, on_news: Callable[[], None]) -> None:
        self._crawler = crawler
        self._runtime = runtime
        self._on_news = on_news
        self._seen = SeenTexts()
        self._without_news: WeakSet[Response] = WeakSet()
        self._answered: WeakSet[Request] = WeakSet()
        self._failed = False
        self._before: dict[str, int] = {}
        self._known_urls: set[bytes] = set()
        """Of pages that brought nothing new: a trap stays one from one window to the next."""
        self.window = Figures()
        """Counts since the last new page, or since the last time that the crawl was judged."""

    def connect(self) -> None:
        """Begin to count."""
        connect: Callable[..., None] = self._crawler.signals.connect
        connect(self._sent, signals.request_reached_downloader)
        connect(self._downloaded, signals.response_downloaded)
        connect(self._left, signals.request_left_downloader)
        connect(self._received, signals.response_received)
        connect(self._scraped, signals.item_scraped)
        self.begin()

    def begin(self) -> None:
        """Begin a new window."""
        self.begin_counts()
        self.remember_stats()

    def begin_counts(self) -> None:
        """Begin a new window but for the stats, of which there are too many to look at them for each page."""
        if len(self._known_urls) >= _MOST_URLS:
            self._known_urls.clear()
        self.window = Figures()

    def remember_stats(self) -> None:
        """Let what Scrapy has counted so far belong to the time before."""
        self._before = self._stats()

    def failures(self) -> dict[str, int]:
        """Return the requests without an answer, by kind, as Scrapy's statistics tell them."""
        kinds = {name.removeprefix(_EXCEPTIONS): count for name, count in self._new(_EXCEPTIONS).items()}
        # Requests that a middleware refuses are not sent.
        return {name.rpartition(".")[2]: count for name, count in kinds.items() if not name.endswith("IgnoreRequest")}

    def dropped(self) -> dict[str, int]:
        """Return the items that were duplicates, by layer."""
        new = self._new("dedup/")
        return {layer: count for layer in _DROPPING if (count := new.get(f"dedup/{layer}/dropped", 0))}

    def held_back(self) -> int:
        """Return how many requests were not sent, for their URLs are those of a trap."""
        return self._new("dedup/traps/").get("dedup/traps/dropped", 0)

    def _stats(self) -> dict[str, int]:
        stats = self._crawler.stats.get_stats() if self._crawler.stats is not None else {}
        wanted = (_EXCEPTIONS, "dedup/")
        return {name: value for name, value in stats.items() if name.startswith(wanted) and isinstance(value, int)}

    def _new(self, prefix: str) -> dict[str, int]:
        before = self._before
        grown = {name: value - before.get(name, 0) for name, value in self._stats().items() if name.startswith(prefix)}
        return {name: count for name, count in grown.items() if count > 0}

    # What the network does.

    def _sent(self, request: Request) -> None:
        if _counts(request):
            self._host(request).sent += 1

    def _downloaded(self, response: Response, request: Request) -> None:
        if _counts(request):
            self._answered.add(request)
            self.window.statuses[response.status] += 1
            self._host(request).answers += 1

    def _left(self, request: Request) -> None:
        if _counts(request) and request not in self._answered:
            self._host(request).failures += 1

    def _host(self, request: Request) -> HostFigures:
        hosts, name = self.window.hosts, urlparse_cached(request).netloc
        return hosts.setdefault(name if name in hosts or len(hosts) < _MOST_HOSTS else "others", HostFigures())

    # What pages bring.

    def _received(self, response: Response, request: Request) -> None:
        if not _counts(request):
            return
        try:
            self._look(response, request)
        except Exception:
            # A defect of ours must not look like a stall.
            self._on_news()
            if not self._failed:
                logger.exception("A page counts as new because of a defect in scrapy_dedup")
            self._failed = True

    def _look(self, response: Response, request: Request) -> None:
        page = isinstance(response, TextResponse) and is_html(response)
        if request.callback is NO_CALLBACK:
            # Files and pictures are what somebody waits for; robots.txt and probes are not.
            if not page and response.status < 400 and self._seen.is_new_key(parts_hash(response.body)):
                self._on_news()
            return
        challenge = challenge_of(response.status, _headers(response), response.text) if page else None
        if challenge is not None:
            self.window.challenges[challenge] += 1
            # Of those that are asked again, only the last answer comes here.
            if response.status < 400:
                self.window.challenged_pages += 1
            else:
                self.window.refusing |= {response.status}
            self._without_news.add(response)
        elif response.status < 400 and self._is_news(response, page=page):
            self._on_news()
        else:
            self._without_news.add(response)
            if response.status not in REFUSALS and response.status < 500:
                self._note_known(response, request)

    def _is_news(self, response: Response, *, page: bool) -> bool:
        """Say whether a response brings what this crawl has not met.

        What an earlier crawl has stored is news for this one, once: it works through its pages.
        """
        visit = self._runtime.visits.of_response(response)
        if visit is not None and self._runtime.met.kind_of(visit.page_key) is VerdictKind.UNCHANGED:
            return self._seen.is_new_key(visit.page_key)
        if not page or visit is None:
            return bool(response.body) and self._seen.is_new_key(parts_hash(response.body))
        parsed = visit.page(self._runtime.limits)
        if not isinstance(parsed, Page):
            return self._seen.is_new_key(parts_hash(response.body))
        return self._seen.is_news(chain((parsed.title or "",), (block.text for block in parsed.blocks)))

    def _note_known(self, response: Response, request: Request) -> None:
        window = self.window
        window.known += 1
        key = parts_hash(response.url.encode())
        if key in self._known_urls:
            return
        if len(self._known_urls) < _MOST_URLS:
            self._known_urls.add(key)
        referer = request.headers.get("Referer")
        window.bred += referer is not None and parts_hash(referer) in self._known_urls
        shape = _shape(response.url)
        if shape in window.shapes or len(window.shapes) < _MOST_SHAPES:
            window.shapes[shape] += 1

    def _scraped(self, item: Any, response: Response | None) -> None:  # noqa: ARG002 (the signal's arguments)
        if response is None or response not in self._without_news:
            self._on_news()


def _counts(request: Request) -> bool:
    return PROBE not in request.meta and urlparse_cached(request).scheme in ("http", "https", "ftp", "s3")


def _shape(url: str) -> str:
    """Return what is equal for URLs of one kind, in words."""
    shape = shape_of(url)
    if shape is None:
        return url.partition("?")[0][:_SHAPE_CHARS]
    return f"{shape.host}{shape.path}{'?' + '&'.join(shape.names) if shape.names else ''}"[:_SHAPE_CHARS]


def _headers(response: Response) -> dict[str, str]:
    names = ("cf-mitigated", "x-amzn-waf-action", "x-datadome", "x-px-captcha")
    found = ((name, response.headers.get(name)) for name in names)
    return {name: value.decode("latin-1").lower() for name, value in found if value is not None}


class EngineFigures(EngineState):
    """Counts where `EngineState` says yes or no."""

    def paused(self) -> bool:
        """Say whether somebody has stopped the engine for a while."""
        return bool(getattr(self._engine(), "paused", False))

    def waiting(self) -> int | None:
        """Return how many requests the scheduler holds; None where it cannot say."""
        scheduler = self.scheduler()
        if scheduler is None:
            return None
        try:
            return len(scheduler)
        except Exception:  # noqa: BLE001 - any scheduler, which may ask a server that fails
            return None if self._has_pending(scheduler) else 0

    def downloading(self) -> int:
        """Return how many requests the downloader has."""
        return len(getattr(getattr(self._engine(), "downloader", None), "active", None) or ())

    def in_work(self) -> int:
        """Return how many responses are in callbacks and pipelines."""
        slot = self._scraper_slot()
        return len(getattr(slot, "queue", None) or ()) + len(getattr(slot, "active", None) or ())

    def slots(self) -> dict[str, Any]:
        """Return the downloader's slots by name; each has a `delay` in seconds."""
        found = getattr(getattr(self._engine(), "downloader", None), "slots", None)
        return dict(found) if found else {}


class StallMonitor:
    """Looks now and then whether there were new pages."""

    def __init__(self, crawler: Crawler, runtime: Runtime) -> None:
        settings: Settings = runtime.settings
        self._crawler = crawler
        self._runtime = runtime
        self._settings = settings
        self._after = settings.stall_after.total_seconds()
        self._engine = EngineFigures(crawler)
        self._watch = StallWatch(crawler, runtime, self._news)
        self._back_off = BackOff(self._engine, settings.stall_longest_delay.total_seconds())
        self._rotation = Rotation(crawler, settings.stall_user_agents, settings.stall_proxies, runtime.count)
        self._loops = Loops()
        self._had_news = False
        self._last_news = self._begun = time.monotonic()
        self._idle_since: float | None = None
        self._is_judging = False
        self._ending = False
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where it is switched off."""
        settings = settings_of(crawler)
        if not settings.resilience_enabled or not settings.stall_after:
            raise NotConfigured
        return cls(crawler, Runtime.of(crawler))

    def _opened(self) -> None:
        self._watch.connect()
        self._last_news = self._begun = time.monotonic()
        self._loops.every(min(_LOOK_SECONDS, self._after / _LOOKS), self._look)

    def _closed(self) -> None:
        self._ending = True
        self._loops.stop()

    def _news(self) -> None:
        self._had_news = True
        self._last_news = self._begun = time.monotonic()
        self._watch.begin_counts()

    def _look(self) -> None:
        now = time.monotonic()
        if self._ending or self._engine.closing():
            return
        if self._engine.paused():
            self._last_news = self._begun = now
            self._watch.begin()
            return
        self._note_idle(now)
        if self._had_news:
            self._had_news = False
            self._watch.remember_stats()
            self._back_off.lower_delays()
        # Pages that wait for others of their site are no stall: they were counted when they came.
        # Nor must our own delays look like a slow site.
        patience = self._after + _DELAYS * self._back_off.highest_delay()
        if now - self._begun >= patience and not self._is_judging:
            self._is_judging = True
            deferred_from_coro(self._judge()).addErrback(self._failed)

    def _note_idle(self, now: float) -> None:
        engine = self._engine
        if engine.waiting() != 0 or engine.downloading() or engine.in_work():
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now

    async def _judge(self) -> None:
        try:
            before = self._last_news
            probe = await self._probe() if self._figures().is_silent else None
            # A page may have come, or the crawl may have ended, while the probe was under way.
            if self._ending or self._engine.closing() or self._last_news != before:
                return
            figures = self._figures(probe)
            stall = judge(figures)
            self._runtime.count(f"stall/{stall.cause}")
            done = self._act(stall.cause)
            logger.warning(
                "The crawl has stalled: %s (%s). %s. Figures: %s",
                stall.cause,
                stall.reason,
                done,
                "; ".join(stall.evidence),
            )
            self._watch.begin()
            self._begun = time.monotonic()
        finally:
            self._is_judging = False

    def _failed(self, failure: Any) -> None:
        self._begun = time.monotonic()
        logger.error("The stall could not be judged because of a defect in scrapy_dedup: %s", failure)

    def _figures(self, probe: bool | None = None) -> Figures:  # noqa: FBT001 (the field it fills has three values)
        now, watch = time.monotonic(), self._watch
        return replace(
            watch.window,
            quiet_seconds=now - self._last_news,
            idle_seconds=max(now - self._idle_since, 0.001) if self._idle_since is not None else 0,
            failures=watch.failures(),
            dropped=watch.dropped(),
            held_back=watch.held_back(),
            waiting=self._engine.waiting(),
            downloading=self._engine.downloading(),
            in_work=self._engine.in_work(),
            probe=probe,
        )

    async def _probe(self) -> bool | None:
        """Ask the user's own URL whether there is a network; None where there is none to ask."""
        url = self._settings.stall_probe_url
        if not url:
            return None
        meta = {
            PROBE: True,
            "dedup": False,
            "allow_offsite": True,
            "dont_cache": True,
            "dont_merge_cookies": True,
            "dont_obey_robotstxt": True,
            "dont_redirect": True,
            "dont_retry": True,
            "download_slot": PROBE,
            "download_timeout": _PROBE_SECONDS,
            "handle_httpstatus_all": True,
        }
        try:
            request = Request(url, NO_CALLBACK, dont_filter=True, meta=meta)
        except ValueError as error:
            logger.warning('DEDUP_STALL["probe_url"] cannot be asked: %s', error)
            return False
        return await fetched(self._crawler, request) is not None

    # What is done about it.

    def _act(self, cause: Cause) -> str:
        """Do what the user chose, and return it in words."""
        actions = {"wait": self._wait, "rotate": self._rotate, "stop": self._stop, "exit": self._exit}
        return actions[self._settings.stall_action](cause)

    def _wait(self, cause: Cause) -> str:
        if cause not in _PASSING:
            return 'Waiting would change nothing: the crawl goes on; DEDUP_STALL = {"action": "stop"} ends such a crawl'
        self._runtime.count("stall/back_offs")
        self._back_off.raise_delays()
        return f"It goes on with up to {self._back_off.highest_delay():g} s between two requests to a site"

    def _rotate(self, cause: Cause) -> str:
        if cause not in _PASSING:
            return self._wait(cause)
        if not (self._settings.stall_user_agents or self._settings.stall_proxies):
            return f'The lists "user_agents" and "proxies" of DEDUP_STALL are empty. {self._wait(cause)}'
        # When nobody of the lists got on, all of them ask less often.
        longest = max(len(self._settings.stall_user_agents), len(self._settings.stall_proxies))
        slower = f". {self._wait(cause)}" if self._rotation.turns >= longest else ""
        return f"It goes on with {self._rotation.turn()}{slower}"

    def _stop(self, cause: Cause) -> str:
        self._close(cause)
        return "It ends"

    def _exit(self, cause: Cause) -> str:
        if cause not in _PASSING:
            return f"{self._stop(cause)}; another process would change nothing"
        # `scrapy` exits with its command's exit code, which is the class's unless something else went wrong.
        ScrapyCommand.exitcode = STALLED_EXIT_CODE
        self._close(cause)
        return f"It ends with exit code {STALLED_EXIT_CODE}, so that a supervisor starts it again"

    def _close(self, cause: Cause) -> None:
        self._ending = True
        engine = self._crawler.engine
        if engine is not None:
            deferred_from_coro(engine.close_spider_async(reason=f"dedup_stalled_{cause}")).addErrback(self._failed)


class BackOff:
    """Raises the delays of all download slots step by step, and takes them back in the same steps."""

    def __init__(self, engine: EngineFigures, longest_seconds: float) -> None:
        self._engine = engine
        self._longest = longest_seconds
        self._before: dict[str, float] = {}
        """Delays as they were, of slots that were raised."""

    def highest_delay(self) -> float:
        """Return the highest delay that was raised, in seconds; 0: none was."""
        slots = self._engine.slots()
        return max((slots[name].delay for name in self._before if name in slots), default=0.0)

    def raise_delays(self) -> None:
        """Double every slot's delay, up to the longest."""
        for name, slot in self._engine.slots().items():
            before = self._before.setdefault(name, slot.delay)
            slot.delay = max(before, min(max(slot.delay * _GROWTH, FIRST_DELAY_SECONDS), self._longest))

    def lower_delays(self) -> None:
        """Halve every delay that was raised, down to what it was."""
        slots = self._engine.slots()
        for name, before in list(self._before.items()):
            slot = slots.get(name)
            # Scrapy forgets slots that were not used for a while: the next one of that name begins as usual.
            lower = slot.delay / _GROWTH if slot is not None else 0.0
            if slot is None or lower < max(before, FIRST_DELAY_SECONDS / _GROWTH):
                del self._before[name]
                lower = before
            if slot is not None:
                slot.delay = max(before, lower)


class Rotation:
    """The next User-Agent and the next proxy of the lists, for every request from then on.

    Requests that bring a User-Agent or a proxy of their own keep it. It acts when a request reaches the downloader,
    after all middlewares: so it needs no place among them.
    """

    def __init__(
        self, crawler: Crawler, agents: Sequence[str], proxies: Sequence[str], count: Callable[[str], None]
    ) -> None:
        self._crawler = crawler
        self._agents = tuple(agents)
        self._proxies = tuple(proxies)
        self._count = count
        self.turns = 0
        self._credentials = HttpProxyMiddleware(crawler.settings.get("HTTPPROXY_AUTH_ENCODING"))

    def turn(self) -> str:
        """Go on with the next of both lists, and say with which."""
        if self.turns == 0:
            connect: Callable[..., None] = self._crawler.signals.connect
            connect(self._reached, signals.request_reached_downloader)
        self.turns += 1
        self._count("stall/rotations")
        agent, proxy = self._agent(), self._proxy()
        told = [f"User-Agent {agent}"] if agent else []
        # A proxy's address may hold a password.
        return " and ".join([*told, f"proxy {proxy.rpartition('@')[2]}"] if proxy else told)

    def _agent(self) -> str | None:
        return self._agents[(self.turns - 1) % len(self._agents)] if self._agents else None

    def _proxy(self) -> str | None:
        return self._proxies[(self.turns - 1) % len(self._proxies)] if self._proxies else None

    def _reached(self, request: Request) -> None:
        if PROBE in request.meta:
            return
        agent, proxy = self._agent(), self._proxy()
        if agent is not None and self._is_ours(request.headers.get("User-Agent")):
            request.headers["User-Agent"] = agent
        if proxy is not None and self._may_set_proxy(request):
            request.meta["proxy"] = proxy
            request.meta[_OURS] = proxy
            self._credentials.process_request(request)
            # Without the password, as the middleware leaves it; by it the next turn knows its own.
            request.meta[_OURS] = request.meta["proxy"]

    def _is_ours(self, given: bytes | None) -> bool:
        """Say whether a User-Agent is the crawl's, or one of the list."""
        if given is None:
            return True
        usual = getattr(self._crawler.spider, "user_agent", None) or self._crawler.settings["USER_AGENT"]
        return given.decode("latin-1") in (usual, *self._agents)

    def _may_set_proxy(self, request: Request) -> bool:
        given = request.meta.get("proxy")
        of_environment = request.meta.get("_scheme_proxy")
        # A request that was told to use none says None.
        asks_for_none = "proxy" in request.meta and given is None
        return not asks_for_none and (given is None or bool(of_environment) or given == request.meta.get(_OURS))


_OURS = "dedup_stall_proxy"
