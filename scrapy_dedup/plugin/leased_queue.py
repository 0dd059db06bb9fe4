"""The queue of several workers in Redis: SCHEDULER_QUEUE_CLASS = "scrapy_dedup.LeasedQueue" for scrapy-redis.

Its own queues lose what a worker had in flight when it is killed. Here a request that is popped is lent: it is
forgotten when its page's items are safe, and comes back when its worker dies.
"""

import logging
import time
import uuid
from collections import deque
from heapq import heappop, heappush
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from scrapy import Request, Spider
from scrapy.crawler import Crawler

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.plugin.leased_requests import LeasedRequests
from scrapy_dedup.plugin.leased_server import LeasedServer, Wanted
from scrapy_dedup.plugin.leased_warnings import warn_of_losses
from scrapy_dedup.plugin.leased_work import LeasedWork
from scrapy_dedup.plugin.marks import LEASE, is_known_component
from scrapy_dedup.plugin.overrides import settings_of
from scrapy_dedup.plugin.runtime import Runtime

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 1.0
"""Between two tries of a server that is away: each of them holds the crawl up."""

_queues: WeakKeyDictionary[Crawler, "LeasedQueue"] = WeakKeyDictionary()


class LeasedQueue:
    """Best priority first, then first come, first served.

    Named after the run where DEDUP_SHARED_JOB is set: a job that begins anew begins with an empty queue, and one that
    goes on, with what is left in it.
    """

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
        self._unsent: deque[Wanted] = deque()
        """What the server, which is away, is to get."""
        self._asleep_until = 0.0
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
        here = len(self._own) + len(self._unsent)
        waiting = None if self._sleeps() else self._work.tried(lambda: len(self._server))
        if waiting is None:
            self._pause()
        return here + (1 if waiting is None else waiting)

    def push(self, request: Request) -> None:
        """Queue a request; one that cannot be written stays with this worker."""
        try:
            wanted = self._requests.wanted(request, filters=self.filters)
        except ValueError as error:
            self._keep(request, error)
            return
        self._unsent.append(wanted)
        self._send()

    def pop(self, timeout: float = 0) -> Request | None:  # noqa: ARG002 - part of scrapy-redis' form; waiting would hold up the crawl
        """Return the next request, lent to this worker; None where none waits."""
        if self._own:
            return heappop(self._own)[2]
        if self._work.rests():
            return None
        self._send()
        while not self._sleeps():
            found = self._work.tried(self._server.pop)
            if found is None:
                if self._work.is_away:
                    self._pause()
                return None
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
        if self._sleeps():
            return False
        fingerprint = self._requests.fingerprint(request)
        return fingerprint in self._own_seen or bool(self._work.tried(lambda: self._server.is_seen(fingerprint)))

    def fingerprint(self, request: Request) -> bytes:
        """Return by what requests are compared."""
        return self._requests.fingerprint(request)

    def _send(self) -> None:
        """Send what waits to be sent."""
        while self._unsent and not self._sleeps():
            sent = self._work.tried(lambda: self._server.push(self._unsent[0]))
            if sent is None:
                self._pause()
                return
            self._unsent.popleft()

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

    def _sleeps(self) -> bool:
        return time.monotonic() < self._asleep_until

    def _pause(self) -> None:
        self._asleep_until = time.monotonic() + _PAUSE_SECONDS

    def _count(self, what: str) -> None:
        self._crawler.stats.inc_value(f"dedup/queue/{what}")
