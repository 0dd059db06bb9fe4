"""Notices that a crawl gets nowhere, says why, and does what the user chose."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from scrapy import Request, signals
from scrapy.commands import ScrapyCommand
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.exceptions import NotConfigured
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import deferred_from_coro

from scrapy_dedup.core.stalls import Cause, Figures, Stall, judge
from scrapy_dedup.core.supervision import STALLED_EXIT_CODE
from scrapy_dedup.plugin.overrides import settings_of
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.stall_watch import PROBE, EngineFigures, StallWatch
from scrapy_dedup.settings import Settings

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


class StallMonitor:
    """`status()` tells the last stall to consoles and other extensions."""

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
        self._loop: Any = None
        self._had_news = False
        self._last_news = self._begun = time.monotonic()
        self._idle_since: float | None = None
        self._is_judging = False
        self._ending = False
        self.last: Stall | None = None
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where it is switched off."""
        settings = settings_of(crawler)
        if not settings.resilience_enabled or not settings.stall_after:
            raise NotConfigured
        return cls(crawler, Runtime.of(crawler))

    def status(self) -> dict[str, Any]:
        """Return how long there was no new page, and why the crawl last stalled."""
        stall = self.last
        return {
            "quiet_seconds": time.monotonic() - self._last_news,
            "cause": str(stall.cause) if stall is not None else None,
            "reason": stall.reason if stall is not None else None,
            "evidence": list(stall.evidence) if stall is not None else [],
        }

    def _opened(self) -> None:
        self._watch.connect()
        self._last_news = self._begun = time.monotonic()
        self._loop = create_looping_call(self._look)
        self._loop.start(min(_LOOK_SECONDS, self._after / _LOOKS), now=False)

    def _closed(self) -> None:
        self._ending = True
        if self._loop is not None and self._loop.running:
            self._loop.stop()

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
            if self._back_off.is_on:
                self._back_off.lower_delays()
        # Pages that wait for others of their site are no stall: they were counted when they came.
        if now - self._begun >= self._patience() and not self._is_judging:
            self._is_judging = True
            deferred_from_coro(self._judge()).addErrback(self._failed)

    def _patience(self) -> float:
        """Return for how many seconds there may be no new page; our own delays must not look like a slow site."""
        return self._after + _DELAYS * self._back_off.highest_delay()

    def _note_idle(self, now: float) -> None:
        engine = self._engine
        busy = engine.waiting() != 0 or engine.downloading() or engine.in_work()
        if busy:
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
            stall = self.last = judge(figures)
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
        now = time.monotonic()
        watch, window = self._watch, self._watch.window
        return Figures(
            quiet_seconds=now - self._last_news,
            idle_seconds=max(now - self._idle_since, 0.001) if self._idle_since is not None else 0,
            statuses=window.statuses,
            failures=watch.failures(),
            hosts=window.hosts,
            challenges=window.challenges,
            challenged_pages=window.challenged_pages,
            refusing=window.refusing,
            known=window.known,
            shapes=window.shapes,
            bred=window.bred,
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
        engine = self._crawler.engine
        if not url or engine is None:
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
            await engine.download_async(Request(url, callback=NO_CALLBACK, dont_filter=True, meta=meta))
        except Exception as error:  # noqa: BLE001 - whatever keeps it from an answer
            logger.debug("DEDUP_STALL_PROBE_URL does not answer: %r", error)
            return False
        return True

    # What is done about it.

    def _act(self, cause: Cause) -> str:
        """Do what the user chose, and return it in words."""
        actions: dict[str, Callable[[Cause], str]] = {
            "wait": self._wait,
            "rotate": self._rotate,
            "stop": self._stop,
            "exit": self._exit,
        }
        return actions[self._settings.stall_action](cause)

    def _wait(self, cause: Cause) -> str:
        if cause not in _PASSING:
            return "Waiting would change nothing: the crawl goes on; DEDUP_STALL_ACTION=stop ends such a crawl"
        self._runtime.count("stall/back_offs")
        self._back_off.raise_delays()
        return f"It goes on with up to {self._back_off.highest_delay():g} s between two requests to a site"

    def _rotate(self, cause: Cause) -> str:
        if cause not in _PASSING:
            return self._wait(cause)
        if not self._rotation.is_possible:
            return f"DEDUP_STALL_USER_AGENTS and DEDUP_STALL_PROXIES are empty. {self._wait(cause)}"
        # When nobody of the lists got on, all of them ask less often.
        slower = f". {self._wait(cause)}" if self._rotation.is_through else ""
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

    @property
    def is_on(self) -> bool:
        """Whether a delay is higher than it was."""
        return bool(self._before)

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
        self._turns = 0
        self._credentials = HttpProxyMiddleware(crawler.settings.get("HTTPPROXY_AUTH_ENCODING"))

    @property
    def is_possible(self) -> bool:
        """Whether there is anything to go on with."""
        return bool(self._agents or self._proxies)

    @property
    def is_through(self) -> bool:
        """Whether all of both lists have been in use."""
        return self._turns >= max(len(self._agents), len(self._proxies))

    def turn(self) -> str:
        """Go on with the next of both lists, and say with which."""
        if self._turns == 0:
            connect: Callable[..., None] = self._crawler.signals.connect
            connect(self._reached, signals.request_reached_downloader)
        self._turns += 1
        self._count("stall/rotations")
        agent, proxy = self._agent(), self._proxy()
        told = [f"User-Agent {agent}"] if agent else []
        # A proxy's address may hold a password.
        return " and ".join([*told, f"proxy {proxy.rpartition('@')[2]}"] if proxy else told)

    def _agent(self) -> str | None:
        return self._agents[(self._turns - 1) % len(self._agents)] if self._agents else None

    def _proxy(self) -> str | None:
        return self._proxies[(self._turns - 1) % len(self._proxies)] if self._proxies else None

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
