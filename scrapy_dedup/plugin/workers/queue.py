"""The queue of several workers in Redis, and its duplicate filter, for scrapy-redis.

Its own queues lose what a worker had in flight when it is killed. Here a request that is popped is lent: it is
forgotten when its page's items are safe, and comes back when its worker dies. Its own filter has fingerprints of its
own, and notes a URL before its request is queued.
"""

import json
import logging
import sys
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable
from datetime import timedelta
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, Self

from redis.exceptions import RedisError
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.request import request_from_dict

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.recrawl.values import KeepLimits, Unkeepable, decode, encode
from scrapy_dedup.core.urls.seen import Latest
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.overrides import settings_of
from scrapy_dedup.plugin.requests import LEASE, LENT_URL, MethodNames, callback_name, is_known_component
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.waiting import Loops
from scrapy_dedup.plugin.workers.server import LeasedServer, WantedRequest
from scrapy_dedup.store.records.records import LeaseRecord

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.2
_PAUSE_SECONDS = 1.0
"""Between two tries of a server that is away: each of them holds the crawl up."""
_MOST_BEHIND = 64
"""Pages that a worker has fetched and not done with: such as wait for what they claim, or for their turn."""


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
        self.unsent: deque[WantedRequest] = deque()
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
        self._most_in_work = crawler.settings.getint("CONCURRENT_REQUESTS") + _MOST_BEHIND
        self._loops = Loops()
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
            self.count("errors")
            if not self._is_away:
                logger.warning("The queue's server fails; the crawl waits for it and loses nothing: %s", error)
            self._is_away = True
            return None
        if self._is_away:
            logger.info("The queue's server is back")
            self._is_away = False
        return answer

    # What is to be queued.

    def send(self, wanted: WantedRequest) -> None:
        """Queue a request, behind those that wait."""
        self.unsent.append(wanted)
        self.send_rest()

    def send_rest(self) -> None:
        """Queue what waits, as far as the server answers."""
        while self.unsent and self.tried(lambda: self._server.push(self.unsent[0])) is not None:
            self.unsent.popleft()

    # While it crawls.

    def _opened(self) -> None:
        self.renew()
        self._loops.every(_LOOK_SECONDS, self.look)
        self._loops.every(self._lease.total_seconds() / 3, self.renew)

    def look(self) -> None:
        """Give back what is done since the last look."""
        self.send_rest()
        in_progress = self._engine.in_progress()
        # What a page led to is to be queued before the page is done.
        if in_progress is not None and not self.unsent:
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
        return token in self._lost or (self._runtime is not None and self._runtime.done.leases.waits(token))

    def rests(self) -> bool:
        """Take no request while a whole batch waits to be written, or many pages are in work; say whether that is so.

        Several workers take turns to write. Without a bound each would be the further ahead, the longer that takes, and
        what is done and not written comes twice when its worker is killed.
        """
        runtime = self._runtime
        if runtime is None:
            return False
        if runtime.writer.is_behind:
            self._rests = True
            runtime.writer.begin()
            return True
        # Pages that wait for their site to be learned wait for more of them.
        return len(self._engine.in_progress() or ()) - len(runtime.lot) > self._most_in_work

    def _settle(self, tokens: Iterable[str]) -> None:
        """Note requests that Scrapy has done with: what they left is to be written first, a page or a redirect."""
        if self._runtime is None:
            self._done += tokens
            return
        for token in tokens:
            self._scraped.add(token)
            if not self._runtime.done.leases.gives_back(token):
                self._runtime.crawl.rows.append(LeaseRecord(token))

    def _written(self, tokens: list[str]) -> None:
        """Note that what says so was written: these pages were seen."""
        for token in tokens:
            self._taken.pop(token, None)
            self._scraped.discard(token)
            self._held.discard(token)
            self._lost.discard(token)
        if self._runtime is not None:
            self._runtime.done.leases.forget(tokens)
        self._done += tokens
        # At once: killed in between, a worker would leave what is done to be done again.
        self.send_rest()
        self._tell()

    def _tell(self) -> None:
        done = self._done
        if done and self.tried(lambda: self._server.done(done)):
            self.count("done", len(done))
            self._done = []

    def renew(self) -> None:
        """Say that this worker lives, and put back what dead ones had."""
        known = self.tried(self._server.renew)
        if known is False and self._has_renewed:
            self.count("thought_dead")
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
            self.count("reclaimed", back)
            logger.warning("%d requests of a worker that died are in the queue again", back)
        for body in given_up:
            self.count("given_up")
            logger.error("A request is given up: every worker that had it died: %.500r", body)

    def _recover(self) -> None:
        """Put back what was lent by answers that got lost: nobody would ever say that it is done."""
        known = {*self._taken, *self._scraped, *self._done}
        if back := self.tried(lambda: self._server.recover(known)):
            self.count("recovered", back)
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
        self._loops.stop()
        until = time.monotonic() + self._lease.total_seconds()
        while (left := self._left()) is None and time.monotonic() < until:
            await run_in_thread(time.sleep, _PAUSE_SECONDS)
        back, held = left or (0, 0)
        if left is None:
            logger.error("The queue's server is away: what this worker had comes back when its lease is over")
        if self.unsent:
            self.count("unsent", len(self.unsent))
            logger.error("%d requests could not be queued; their pages are asked for again", len(self.unsent))
        if back:
            self.count("put_back", back)
            logger.warning(
                "%d requests of this worker are not safe and go back to the queue: other workers, or the next crawl"
                " of this job, ask for them again",
                back,
            )
        return back + held + len(self.unsent)

    def _left(self) -> tuple[int, int] | None:
        """Leave the queue; return what went back and what others hold, None while the server is away."""
        self.look()
        if self.unsent:
            return None
        left: tuple[int, int] | None = self.tried(lambda: self._server.leave(finished=self._reason == "finished"))
        return left

    def count(self, what: str, n: int = 1) -> None:
        """Add to the stat `dedup/queue/<what>`."""
        self._crawler.stats.inc_value(f"dedup/queue/{what}", n)


# What a plain request has where nothing else was said; Scrapy makes it again.
_PLAIN: dict[str, Any] = {"method": "GET", "encoding": "utf-8"}
# A request has at most a form's body; what is larger belongs in a file or a table that the request names.
_LIMITS = KeepLimits(depth=50, values=100_000, characters=4_000_000)


class UnwritableRequestError(DedupError, ValueError):
    """A request has no form that another process can read."""


class LeasedRequests:
    """Of one spider."""

    def __init__(self, spider: Spider) -> None:
        self._spider = spider
        self._names = MethodNames(spider)
        self._brought: Counter[bytes] = Counter()
        """First requests, and how often each was brought."""

    def wanted(self, request: Request, *, filters: bool) -> WantedRequest:
        """Return what is queued for a request as Scrapy hands it to its scheduler.

        Where the queue *filters* one that was seen is dropped, unless it says `dont_filter`.

        Raises:
            ValueError: something in it cannot be written, its callback is no method of the spider among them.
        """
        body = _dumps(self._written(request))
        is_start = bool(request.meta.get("is_start_request")) and request.dont_filter
        if not is_start and (request.dont_filter or not filters):
            return WantedRequest(body, request.priority)
        page, callback = self.fingerprint(request), callback_name(request)
        if not is_start:
            return WantedRequest(body, request.priority, "link", page, callback)
        # A retry or a redirect has been lent; whoever reads its first requests from Redis has each of them alone.
        is_brought_by_all = LEASE not in request.meta and not hasattr(self._spider, "redis_key")
        identity = self._identity(body) if is_brought_by_all else b""
        return WantedRequest(body, request.priority, "first", page, callback, identity)

    def _identity(self, body: bytes) -> bytes:
        """Return what every worker calls a first request: one that each of them brings twice is two."""
        digest = blake2b(body, digest_size=16).digest()
        self._brought[digest] += 1
        return b"start|%b|%d" % (digest, self._brought[digest])

    def fingerprint(self, request: Request) -> bytes:
        """Return what says that two requests are for the same page: the crawl's own fingerprinter says it."""
        return self._spider.crawler.request_fingerprinter.fingerprint(request)

    def read(self, body: bytes | str) -> Request:
        """Return the request.

        Raises:
            DedupError: it is damaged, or the spider has no such callback.
        """
        try:
            written = _loads(body)
            _check_class(written.get("_class"), self._spider)
            return request_from_dict(written, spider=self._spider)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise DedupError(f"a request in the queue cannot be made again ({error}): {body[:200]!r}") from error

    def _written(self, request: Request) -> dict[str, Any]:
        try:
            names = {"callback": self._names.of(request.callback), "errback": self._names.of(request.errback)}
        except LookupError:
            written = request.to_dict(spider=self._spider)
        else:
            written = {name: getattr(request, name) for name in request.attributes}
            written |= {**names, "headers": dict(request.headers)}
            if type(request) is Request:
                written = {name: value for name, value in written.items() if value and value != _PLAIN.get(name)}
            else:
                written["_class"] = f"{type(request).__module__}.{type(request).__name__}"
        if LEASE in request.meta:
            written["meta"] = without_lease(request.meta)
        return written


def without_lease(meta: dict[str, Any]) -> dict[str, Any]:
    """Return a request's meta without what tells of the request that was lent."""
    return {name: value for name, value in meta.items() if name not in (LEASE, LENT_URL)}


def _check_class(path: object, spider: Spider) -> None:
    """Refuse a class of requests that is none: a queue says nothing that makes us import a module.

    Raises:
        ValueError: it is none.
    """
    if path is None:
        return
    module, _, name = str(path).rpartition(".")
    known = sys.modules.get(module)
    # The spider's own package may not be read whole yet.
    if known is None and module.partition(".")[0] == type(spider).__module__.partition(".")[0]:
        return
    kind = getattr(known, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Request)):
        raise ValueError(f"{path} is no class of requests in this crawl")  # noqa: TRY004 - a text is wrong, not its type


def _dumps(written: dict[str, Any]) -> bytes:
    """Return a request's dict as JSON: bytes, dates, tuples and sets come back as they were.

    Raises:
        UnwritableRequestError: something in it has no such form.
    """
    kept = {name: encode(value, _LIMITS) for name, value in written.items()}
    for name, value in kept.items():
        if isinstance(value, Unkeepable):
            way_out = "use texts, numbers, lists and dicts" if value.reason == "type" else "keep it elsewhere"
            raise UnwritableRequestError(
                f"{written.get('url', '')!s:.200}: its {name} cannot be shared with other workers"
                f" ({value.reason}: {value.detail}); {way_out}"
            )
    return json.dumps(kept, separators=(",", ":")).encode()


def _loads(text: bytes | str) -> dict[str, Any]:
    """Return a request's dict.

    Raises:
        DedupError: it is not what `_dumps` wrote.
    """
    try:
        kept = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DedupError(f"a request in the queue is damaged: {text[:80]!r}") from error
    if not isinstance(kept, dict):
        raise DedupError(f"a request in the queue is damaged: {text[:80]!r}")
    return {name: decode(value) for name, value in kept.items()}


# Nine of ten links stand on every page. So many fingerprints take 10 MB.
_REMEMBERED = 50_000
_FILTERS = ("scrapy_dedup.LeasedDupeFilter", "scrapy_dedup.plugin.workers.queue.LeasedDupeFilter")

# Kept on the crawler: in a weak table of the module a value that knows its crawler would keep it for ever.
_QUEUE: Final = "_scrapy_dedup_queue"


class LeasedQueue:
    """Best priority first, then first come, first served.

    Named after the run where DEDUP_SHARED_JOB is set: a job that begins anew begins with an empty queue, and one that
    goes on, with what is left in it.
    """

    def __init__(self, server: Any, spider: Spider, key: str, serializer: Any = None) -> None:  # noqa: ARG002 - part of scrapy-redis' form
        crawler = spider.crawler
        settings, runtime = settings_of(crawler), Runtime.of_open(crawler)
        run = runtime.crawl.run if runtime is not None else None
        is_shared = run is not None and run.worker is not None
        name = f"{key}:{run.id}" if run is not None and is_shared else key
        worker = str(run.worker if run is not None and is_shared else uuid.uuid4())
        self._server = LeasedServer(server, name, worker, settings.shared_lease)
        self._requests = LeasedRequests(spider)
        self._work = LeasedWork(crawler, self._server, settings.shared_lease)
        self._own: list[tuple[int, int, Request]] = []
        """Requests that no other worker could read."""
        self._own_seen: set[bytes] = set()
        self._numbers = count()
        self._told = False
        self.filters = False
        """Our filter is in use, which leaves it to the queue to note what is seen."""
        setattr(crawler, _QUEUE, self)
        _warn_of_losses(crawler, server)

    @classmethod
    def of(cls, crawler: Crawler) -> "LeasedQueue | None":
        """Return a crawler's queue."""
        queue: LeasedQueue | None = getattr(crawler, _QUEUE, None)
        return queue

    def __len__(self) -> int:
        """Return how many requests wait; one at least while the server is away: nobody knows."""
        waiting = self._work.tried(lambda: len(self._server))
        return len(self._own) + len(self._work.unsent) + (1 if waiting is None else waiting)

    def push(self, request: Request) -> None:
        """Queue a request; one that cannot be written stays with this worker."""
        try:
            wanted = self._requests.wanted(request, filters=self.filters)
        except ValueError as error:
            self._keep(request, error)
        else:
            self._work.send(wanted)

    def pop(self, timeout: float = 0) -> Request | None:  # noqa: ARG002 - part of scrapy-redis' form; waiting would hold up the crawl
        """Return the next request, lent to this worker; None where none waits."""
        if self._own:
            return heappop(self._own)[2]
        if self._work.rests():
            return None
        self._work.send_rest()
        while (found := self._work.tried(self._server.pop)) is not None:
            token, body = found
            try:
                request = self._requests.read(body)
            except DedupError as error:
                self._work.count("unreadable")
                logger.error("%s", error)  # noqa: TRY400 - it says all there is
                self._work.tried(lambda given=token: self._server.done([given]))  # type: ignore[misc]
                continue
            request.meta.update({LEASE: token, LENT_URL: request.url})
            self._work.took(token, request)
            return request
        return None

    def clear(self) -> None:
        """Forget everything, unless other workers are there: one that ends must not take the others' queue away."""
        if self._work.tried(self._server.clear) is False:
            logger.warning("The queue is left as it is: other workers are at it")

    # For the filter.

    def is_seen(self, fingerprint: bytes) -> bool:
        """Say whether a request was queued before; False while the server is away: the queue itself will say it."""
        return fingerprint in self._own_seen or bool(self._work.tried(lambda: self._server.is_seen(fingerprint)))

    def _keep(self, request: Request, error: ValueError) -> None:
        """Keep a request that only this worker can do: its callback is a function, or it carries an object."""
        # Our own ones (tombstones, items that are made anew) are this worker's business.
        if not is_known_component(getattr(request.callback, "__self__", request.callback)):
            self._work.count("unwritable")
            if not self._told:
                logger.error("A request stays with this worker, and is lost if it is killed: %s", error)
            self._told = True
        if not request.dont_filter:
            self._own_seen.add(self._requests.fingerprint(request))
        if LEASE in request.meta:
            request = request.replace(meta=without_lease(request.meta))
        heappush(self._own, (-request.priority, next(self._numbers), request))


class LeasedDupeFilter(BaseDupeFilter):
    """Asks by the crawl's own fingerprints; the queue notes them in the step in which it takes a request."""

    def __init__(self, queue: LeasedQueue, spider: Spider) -> None:
        self._queue = queue
        self._spider = spider
        self._recent: Latest[bytes, None] = Latest(_REMEMBERED)
        """What was asked for is queued, and stays seen."""
        queue.filters = True

    @classmethod
    def from_spider(cls, spider: Spider) -> Self:
        """Make it, as scrapy-redis does once its queue is there.

        Raises:
            DedupError: the queue is another one.
        """
        queue = LeasedQueue.of(spider.crawler)
        if queue is None:
            raise DedupError(
                "DUPEFILTER_CLASS='scrapy_dedup.LeasedDupeFilter': needs SCHEDULER = 'scrapy_redis.scheduler.Scheduler'"
                " and SCHEDULER_QUEUE_CLASS = 'scrapy_dedup.LeasedQueue'"
            )
        return cls(queue, spider)

    def __contains__(self, fingerprint: bytes) -> bool:
        """Say whether this worker knows that a request was queued before."""
        return self._recent.meet(fingerprint)

    def request_seen(self, request: Request) -> bool:
        """Say whether a request was queued before."""
        fingerprint = self._spider.crawler.request_fingerprinter.fingerprint(request)
        if self._recent.meet(fingerprint):
            return True
        seen = self._queue.is_seen(fingerprint)
        self._recent[fingerprint] = None
        return seen

    def log(self, request: Request, spider: Spider) -> None:  # noqa: ARG002 - Scrapy's signature
        """Count a request that is dropped."""
        self._spider.crawler.stats.inc_value("dupefilter/filtered")

    def clear(self) -> None:
        """Forget what was asked for; the queue forgets the rest."""
        self._recent.clear()


def _warn_of_losses(crawler: Crawler, client: Any) -> None:
    """Warn of settings with which several workers lose requests, with the line to write instead."""
    if not crawler.settings.getbool("SCHEDULER_PERSIST"):
        logger.warning("A crawl that is stopped empties its queue. Write SCHEDULER_PERSIST = True")
    given = crawler.settings.get("DUPEFILTER_CLASS")
    path = given if isinstance(given, str) else f"{given.__module__}.{given.__qualname__}"
    if path not in _FILTERS:
        logger.warning(
            "With DUPEFILTER_CLASS = %r a URL is noted before its request is queued: a worker that is killed in between"
            " loses it. Write DUPEFILTER_CLASS = %r",
            path,
            _FILTERS[0],
        )
    if not settings_of(crawler).shared_job:
        logger.warning(
            "The queue is shared, and the store does not know of it: each worker is a run of its own."
            " Write DEDUP_SHARED_JOB = 'a name for this crawl'"
        )
    _warn_of_eviction(client)


def _warn_of_eviction(client: Any) -> None:
    """Warn of a server that throws keys away when its memory is full."""
    try:
        memory = client.info("memory")
    except RedisError:
        return
    policy = str(memory.get("maxmemory_policy", "noeviction"))
    if memory.get("maxmemory") and policy != "noeviction":
        logger.warning(
            "Redis throws keys away when its memory is full (maxmemory-policy %s), queues among them."
            " Write maxmemory-policy noeviction",
            policy,
        )
