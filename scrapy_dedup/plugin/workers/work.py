"""What a worker has taken from a shared queue: said to live while it is at work, given back when it is done."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from redis.exceptions import RedisError
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import create_looping_call, run_in_thread

from scrapy_dedup.plugin.crawl.engine_state import EngineState
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.workers.server import LeasedServer, WantedRequest
from scrapy_dedup.store.records.records import LeaseRecord

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.2
_PAUSE_SECONDS = 1.0
"""Between two tries of a server that is away: each of them holds the crawl up."""


class LeasedWork:
    """Follows the requests of one worker. Where the plugin is off, one is done when Scrapy has done with it."""

    def __init__(self, crawler: Crawler, server: LeasedServer, lease: timedelta) -> None:
        self._crawler = crawler
        self._server = server
        self._lease = lease
        self._runtime = Runtime.of_open(crawler)
        self._engine = EngineState(crawler)
        self._taken: dict[str, Request] = {}
        """By token; what Scrapy has not done with yet."""
        self._scraped: set[str] = set()
        """Scrapy has done with these; what says that they were seen is not written yet."""
        self._held: set[str] = set()
        """Of these, those that wait for a feed, or for the user's word."""
        self._done: list[str] = []
        self._lost: set[str] = set()
        """Of those that Scrapy has done with, what says so could not be written, ever."""
        self._unsent: deque[WantedRequest] = deque()
        """What the server, which is away, is to get."""
        self._reason = "shutdown"
        self._is_away = False
        self._asleep_until = 0.0
        self._has_ended = False
        self._has_renewed = False
        self._waits = False
        """The spider is idle, and others are not."""
        self._rests = False
        """No request is taken until what waits is written."""
        self._loops: list[Any] = []
        self._connect()

    def _connect(self) -> None:
        connect: Callable[..., None] = self._crawler.signals.connect
        connect(self._opened, signals.spider_opened)
        connect(self._idle, signals.spider_idle)
        connect(self._closed, signals.spider_closed)
        if self._runtime is None:
            connect(self.end, signals.engine_stopped)
        else:
            self._runtime.writer.give_back = self._written
            self._runtime.writer.gave_up = self._lost.update
            self._runtime.at_end = self.end

    def took(self, token: str, request: Request) -> None:
        """Note a request that was popped."""
        self._taken[token] = request
        self._waits = False

    def tried(self, call: Callable[[], Any]) -> Any:
        """Return what the server answers; None where it is away, which is told once, or was a moment ago."""
        if time.monotonic() < self._asleep_until:
            return None
        try:
            answer = call()
        except RedisError as error:
            self._asleep_until = time.monotonic() + _PAUSE_SECONDS
            self._count("errors")
            if not self._is_away:
                logger.warning("The queue's server fails; the crawl waits for it and loses nothing: %s", error)
            self._is_away = True
            return None
        if self._is_away:
            logger.info("The queue's server is back")
            self._is_away = False
        return answer

    # What is to be queued.

    @property
    def unsent(self) -> int:
        """How many requests wait here for a server that is away."""
        return len(self._unsent)

    def send(self, wanted: WantedRequest) -> None:
        """Queue a request, behind those that wait."""
        self._unsent.append(wanted)
        self.send_rest()

    def send_rest(self) -> None:
        """Queue what waits, as far as the server answers."""
        while self._unsent and self.tried(lambda: self._server.push(self._unsent[0])) is not None:
            self._unsent.popleft()

    # While it crawls.

    def _opened(self) -> None:
        self.renew()
        for seconds, call in ((_LOOK_SECONDS, self.look), (self._lease.total_seconds() / 3, self.renew)):
            loop = create_looping_call(call)
            loop.start(seconds, now=False)
            self._loops.append(loop)

    def look(self) -> None:
        """Give back what is done since the last look."""
        self.send_rest()
        in_progress = self._engine.in_progress()
        # What a page led to is to be queued before the page is done.
        if in_progress is not None and not self._unsent:
            ended = [token for token, request in self._taken.items() if request not in in_progress]
            for token in ended:
                del self._taken[token]
            self._settle(ended)
        waiting = [token for token in self._scraped - self._held if self._is_held(token)]
        if waiting and self.tried(lambda: self._server.hold(waiting)):
            self._held.update(waiting)
        self._tell()
        if self._rests and self._runtime is not None and not self._runtime.writer.is_behind:
            self._rests = False
            self._engine.look_again()
        # Something may wait that is lent only to a worker with empty hands.
        may_get = self.tried(self._has_news) if self._waits else not self._taken
        if may_get:
            self._engine.look_again()

    def _is_held(self, token: str) -> bool:
        """Say whether nobody need wait for a page: it waits until it is safe, or comes back when this worker ends."""
        return token in self._lost or (self._runtime is not None and self._runtime.done.lending.waits(token))

    def rests(self) -> bool:
        """Take no request while a whole batch waits to be written; say whether that is so.

        Several workers take turns to write. Without a bound each would be the further ahead, the longer that takes, and
        what is done and not written comes twice when its worker is killed.
        """
        runtime = self._runtime
        if runtime is None or not runtime.writer.is_behind:
            return False
        self._rests = True
        runtime.writer.begin()
        return True

    def _settle(self, tokens: Iterable[str]) -> None:
        """Note requests that Scrapy has done with: what they left is to be written first, a page or a redirect."""
        if self._runtime is None:
            self._done += tokens
            return
        for token in tokens:
            self._scraped.add(token)
            if not self._runtime.done.lending.gives_back(token):
                self._runtime.crawl.rows.append(LeaseRecord(token))

    def _written(self, tokens: list[str]) -> None:
        """Note that what says so was written: these pages were seen."""
        for token in tokens:
            self._taken.pop(token, None)
            self._scraped.discard(token)
            self._held.discard(token)
            self._lost.discard(token)
        if self._runtime is not None:
            self._runtime.done.lending.forget(tokens)
        self._done += tokens
        # At once: killed in between, a worker would leave what is done to be done again.
        self.send_rest()
        self._tell()

    def _tell(self) -> None:
        done = self._done
        if done and self.tried(lambda: self._server.done(done)):
            self._count("done", len(done))
            self._done = []

    def renew(self) -> None:
        """Say that this worker lives, and put back what dead ones had."""
        known = self.tried(self._server.renew)
        if known is False and self._has_renewed:
            self._count("thought_dead")
            logger.warning(
                "This worker was thought dead: it was not heard of for DEDUP_SHARED_LEASE=%g s;"
                " what it had in its hands may be fetched twice",
                self._lease.total_seconds(),
            )
        self._has_renewed = self._has_renewed or known is not None
        self.reclaim()
        self._recover()

    def reclaim(self) -> None:
        """Put back what dead workers had in their hands."""
        found = self.tried(self._server.reclaim)
        if found is None:
            return
        back, given_up = found
        if back:
            self._count("reclaimed", back)
            logger.warning("%d requests of a worker that died are in the queue again", back)
        for body in given_up:
            self._count("given_up")
            logger.error("A request is given up: every worker that had it died: %.500r", body)

    def _recover(self) -> None:
        """Put back what was lent by answers that got lost: nobody would ever say that it is done."""
        known = {*self._taken, *self._scraped, *self._done}
        if back := self.tried(lambda: self._server.recover(known)):
            self._count("recovered", back)
            logger.warning("%d requests were lent by answers that got lost, and are in the queue again", back)

    def _has_news(self) -> bool:
        state = self._server.state()
        return bool(state.waiting) or state.is_over

    def _idle(self) -> None:
        """Wait for the others: what they fetch brings links, and what they leave comes back."""
        self.reclaim()
        self._recover()
        state = self.tried(self._server.state)
        self._waits = state is None or not state.is_over
        if self._waits:
            raise DontCloseSpider

    # The end.

    def _closed(self, reason: str) -> None:
        self._reason = reason
        # Before all that is noted is written for the last time.
        self.look()

    async def end(self) -> int:
        """Give back what is done, put back what is not, and return how much is not safe, here or with others.

        Called when all that could be written is; a server that is away is waited for, as long as a worker may be
        silent.
        """
        if self._has_ended:
            return 0
        self._has_ended = True
        for loop in self._loops:
            if loop.running:
                loop.stop()
        until = time.monotonic() + self._lease.total_seconds()
        while (left := self._left()) is None and time.monotonic() < until:
            await run_in_thread(time.sleep, _PAUSE_SECONDS)
        back, held = left or (0, 0)
        if left is None:
            logger.error("The queue's server is away: what this worker had comes back when its lease is over")
        if self._unsent:
            self._count("unsent", len(self._unsent))
            logger.error("%d requests could not be queued; their pages are asked for again", len(self._unsent))
        if back:
            self._count("put_back", back)
            logger.warning(
                "%d requests of this worker are not safe and go back to the queue: other workers, or the next crawl"
                " of this job, ask for them again",
                back,
            )
        return back + held + len(self._unsent)

    def _left(self) -> tuple[int, int] | None:
        """Leave the queue; return what went back and what others hold, None while the server is away."""
        self.look()
        if self._unsent:
            return None
        left: tuple[int, int] | None = self.tried(lambda: self._server.leave(finished=self._reason == "finished"))
        return left

    def _count(self, what: str, n: int = 1) -> None:
        self._crawler.stats.inc_value(f"dedup/queue/{what}", n)
