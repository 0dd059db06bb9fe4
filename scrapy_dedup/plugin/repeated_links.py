"""Links that were requested before end at the spider, where they cost least.

Most links of a page are in every other page's menu, too. The duplicate filter drops their requests at the end of a way
through middlewares, signals and scheduler that costs more than all layers of this package together.
"""

from collections.abc import Callable
from typing import Any

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request, signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import RFPDupeFilter

from scrapy_dedup.plugin.dupefilter import StoreDupeFilter, is_hash
from scrapy_dedup.plugin.marks import is_known_component
from scrapy_dedup.service.seen_urls import SeenUrls


class RepeatedLinks:
    """Asks the duplicate filter, Scrapy's or ours, what it would say; silent where anybody could tell the difference.

    That is: with another duplicate filter, scheduler or fingerprinter than are known here, with DUPEFILTER_DEBUG, with
    a receiver of `request_dropped` or `request_scheduled`, and with a spider middleware that is not Scrapy's own, which
    may make another request of this one.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._seen: SeenUrls | set[Any] | None = None
        self._key_of: Callable[[Request], Any] = crawler.request_fingerprinter.fingerprint
        self._looked = False

    def holds(self, request: Request) -> bool:
        """Say whether the duplicate filter would drop a request now."""
        if request.dont_filter:
            return False
        if not self._looked:
            self._look()
        return self._seen is not None and self._key_of(request) in self._seen

    def count(self, dropped: int) -> None:
        """Count them as the duplicate filter does."""
        self._crawler.stats.inc_value("dupefilter/filtered", dropped)

    def _look(self) -> None:
        """Find the filter's memory: Scrapy's is a set of bytes since 2.19, of hexadecimal text before."""
        self._looked = True
        scheduler = getattr(getattr(self._crawler.engine, "_slot", None), "scheduler", None)
        duplicates = getattr(scheduler, "df", None)
        if type(scheduler) is not Scheduler or not isinstance(duplicates, RFPDupeFilter) or duplicates.debug:
            return
        if type(duplicates) not in (RFPDupeFilter, StoreDupeFilter):
            return
        # A fingerprint must stay what it is when later middlewares set headers.
        fingerprinter = self._crawler.request_fingerprinter
        if self._somebody_listens() or self._somebody_comes_after() or not is_hash(fingerprinter):
            return
        if isinstance(duplicates, StoreDupeFilter):
            self._seen, self._key_of = duplicates.seen, duplicates.key_of
            return
        attributes = vars(duplicates)
        seen = attributes.get("_fingerprints", attributes.get("fingerprints"))
        if isinstance(seen, set):
            self._seen = seen
            if "_fingerprints" not in attributes:
                self._key_of = lambda request: fingerprinter.fingerprint(request).hex()

    def _somebody_listens(self) -> bool:
        sent = (signals.request_dropped, signals.request_scheduled)
        receivers = [one for signal in sent for one in liveReceivers(getAllReceivers(self._crawler, signal))]
        return not all(is_known_component(getattr(receiver, "__self__", receiver)) for receiver in receivers)

    def _somebody_comes_after(self) -> bool:
        manager = getattr(getattr(self._crawler.engine, "scraper", None), "spidermw", None)
        middlewares = getattr(manager, "middlewares", None)
        return middlewares is None or not all(map(is_known_component, middlewares))
