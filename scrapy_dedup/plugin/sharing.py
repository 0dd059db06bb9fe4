"""What a worker of a shared run has more than a crawl of its own; without DEDUP_SHARED_JOB there is none of it."""

from collections.abc import Awaitable, Callable

from scrapy.crawler import Crawler

from scrapy_dedup.core.urls import UrlRules
from scrapy_dedup.plugin.claimed_requests import ClaimedRequests
from scrapy_dedup.plugin.claiming import Claims
from scrapy_dedup.plugin.left_pages import LeftPages
from scrapy_dedup.service.crawl import Crawl
from scrapy_dedup.store.claim_records import Claimant


class SharedWork:
    """The claims of one worker."""

    def __init__(self, crawler: Crawler, crawl: Crawl, claimant: Claimant, rules: UrlRules) -> None:
        self.claims = Claims(crawl, claimant, crawl.count)
        self.requests = ClaimedRequests(crawler, self.claims, crawl.settings, rules)
        self._left = LeftPages(crawler, crawl, claimant, self.claims, self.requests)

    @classmethod
    def of(cls, crawler: Crawler, crawl: Crawl, rules: UrlRules) -> "SharedWork | None":
        """Return it; None where the run is nobody else's."""
        claimant = crawl.store.claimant
        return cls(crawler, crawl, claimant, rules) if claimant is not None else None

    @property
    def lost_some(self) -> bool:
        """Whether a page of a dead worker could not be asked for."""
        return self._left.lost_some

    def watch(self, written: Callable[[], Awaitable[object]]) -> None:
        """Begin to wait for idle moments; *written* waits until all that is noted is written, or cannot be."""
        self._left.watch(written)
