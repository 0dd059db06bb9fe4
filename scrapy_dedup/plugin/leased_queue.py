"""The queue of several workers in Redis: SCHEDULER_QUEUE_CLASS = "scrapy_dedup.LeasedQueue" for scrapy-redis.

Its own queues lose what a worker had in flight when it is killed. Here a request that is popped is lent: it is
forgotten when its page's items are safe, and comes back when its worker dies.
"""

import logging
import uuid
from heapq import heappop, heappush
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from scrapy import Request, Spider
from scrapy.crawler import Crawler

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.plugin.leased_requests import LeasedRequests
from scrapy_dedup.plugin.leased_server import LeasedServer
from scrapy_dedup.plugin.leased_warnings import warn_of_losses
from scrapy_dedup.plugin.leased_work import LeasedWork
from scrapy_dedup.plugin.marks import LEASE, is_known_component
from scrapy_dedup.plugin.overrides import settings_of
from scrapy_dedup.plugin.runtime import Runtime

logger = logging.getLogger(__name__)

_queues: WeakKeyDictionary[Crawler, "LeasedQueue"] = WeakKeyDictionary()


class LeasedQueue:
    """Best priority first, then first come, first served.

    Named after the run where DEDUP_SHARED_JOB is set: a job that begins anew begins with an empty queue, and one that
    goes on, with what is left in it.
    """

    brings_back = True
    """What a dead worker had comes out of it again: nobody else need ask for it."""

    def __init__(self, server: Any, spider: Spider, key: str, serializer: Any = None) -> None:
        """Take what scrapy-redis gives a queue; *serializer* is ours where SCHEDULER_SERIALIZER is not set."""
        crawler = spider.crawler
        settings, runtime = settings_of(crawler), Runtime.of_open(crawler)
        run = runtime.crawl.run if runtime is not None and settings.shared_job else None
        name = key if run is None else f"{key}:{run.id}"
        worker = str((run.worker if run is not None else None) or uuid.uuid4())
        self._crawler = crawler
        self._server = LeasedServer(server, name, worker, settings.shared_lease)
        self._requests = LeasedRequests(spider, serializer)
        self._work = LeasedWork(crawler, self._server, settings.shared_lease)
        self._own: list[tuple[int, int, Request]] = []
        """Requests that no other worker could read."""
        self._own_seen: set[bytes] = set()
        self._numbers = count()
        self._told = False
        self.filters = False
        """Our filter is in use, which leaves it to the queue to note what is seen."""
        _queues[crawler] = self
        warn_of_losses(crawler.settings, settings, server)

    @classmethod
    def of(cls, crawler: Crawler) -> "LeasedQueue | None":
        """Return a crawler's queue."""
        return _queues.get(crawler)

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
            request.meta[LEASE] = token
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
            request = request.replace(meta={key: value for key, value in request.meta.items() if key != LEASE})
        heappush(self._own, (-request.priority, next(self._numbers), request))

    def _count(self, what: str) -> None:
        self._crawler.stats.inc_value(f"dedup/queue/{what}")
