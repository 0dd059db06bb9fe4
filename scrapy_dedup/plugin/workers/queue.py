"""The queue of several workers in Redis, and its duplicate filter, for scrapy-redis.

Its own queues lose what a worker had in flight when it is killed. Here a request that is popped is lent: it is
forgotten when its page's items are safe, and comes back when its worker dies. Its own filter has fingerprints of its
own, and notes a URL before its request is queued.
"""

import logging
import uuid
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, Self

from redis.exceptions import RedisError
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.plugin.crawl.marks import LEASE, LENT_URL, is_known_component
from scrapy_dedup.plugin.crawl.overrides import settings_of
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.workers.requests import LeasedRequests, without_lease
from scrapy_dedup.plugin.workers.server import LeasedServer
from scrapy_dedup.plugin.workers.work import LeasedWork

# Nine of ten links stand on every page. Two generations of so many fingerprints take 12 MB at most.
_REMEMBERED = 50_000
_FILTERS = ("scrapy_dedup.LeasedDupeFilter", "scrapy_dedup.plugin.workers.queue.LeasedDupeFilter")

logger = logging.getLogger(__name__)

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
        self._crawler = crawler
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
        return len(self._own) + self._work.unsent + (1 if waiting is None else waiting)

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
                self._count("unreadable")
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

    def is_seen(self, request: Request) -> bool:
        """Say whether a request was queued before; False while the server is away: the queue itself will say it."""
        fingerprint = self._requests.fingerprint(request)
        return fingerprint in self._own_seen or bool(self._work.tried(lambda: self._server.is_seen(fingerprint)))

    def fingerprint(self, request: Request) -> bytes:
        """Return by what requests are compared."""
        return self._requests.fingerprint(request)

    def _keep(self, request: Request, error: ValueError) -> None:
        """Keep a request that only this worker can do: its callback is a function, or it carries an object."""
        # Our own ones (tombstones, items that are made anew) are this worker's business.
        if not is_known_component(getattr(request.callback, "__self__", request.callback)):
            self._count("unwritable")
            if not self._told:
                logger.error("A request stays with this worker, and is lost if it is killed: %s", error)
            self._told = True
        if not request.dont_filter:
            self._own_seen.add(self._requests.fingerprint(request))
        if LEASE in request.meta:
            request = request.replace(meta=without_lease(request.meta))
        heappush(self._own, (-request.priority, next(self._numbers), request))

    def _count(self, what: str) -> None:
        self._crawler.stats.inc_value(f"dedup/queue/{what}")


class LeasedDupeFilter(BaseDupeFilter):
    """Asks by the crawl's own fingerprints; the queue notes them in the step in which it takes a request."""

    def __init__(self, queue: LeasedQueue, spider: Spider) -> None:
        self._queue = queue
        self._spider = spider
        self._recent: set[bytes] = set()
        self._older: set[bytes] = set()
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

    def request_seen(self, request: Request) -> bool:
        """Say whether a request was queued before."""
        fingerprint = self._queue.fingerprint(request)
        if fingerprint in self._recent or fingerprint in self._older:
            return True
        seen = self._queue.is_seen(request)
        self._recent.add(fingerprint)
        if len(self._recent) >= _REMEMBERED:
            self._older, self._recent = self._recent, set()
        return seen

    def log(self, request: Request, spider: Spider) -> None:  # noqa: ARG002 - Scrapy's signature
        """Count a request that is dropped."""
        self._spider.crawler.stats.inc_value("dupefilter/filtered")

    def clear(self) -> None:
        """Forget what was asked for; the queue forgets the rest."""
        self._recent.clear()
        self._older.clear()


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
