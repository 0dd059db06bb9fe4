"""The duplicate filter of a shared queue: DUPEFILTER_CLASS = "scrapy_dedup.LeasedDupeFilter".

That of scrapy-redis has fingerprints of its own, and notes a URL before its request is queued.
"""

from typing import Self

from scrapy import Request, Spider
from scrapy.dupefilters import BaseDupeFilter

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.plugin.leased_queue import LeasedQueue

# Nine of ten links stand on every page. Two generations of so many fingerprints take 12 MB at most.
_REMEMBERED = 50_000


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
