"""What the duplicate filter would say of a link, before there is a request.

Most links of a page are in every other page's menu, too. The duplicate filter drops their requests at the end of a way
through middlewares, signals and scheduler that costs more than all layers of this package together.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request, signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import RFPDupeFilter
from scrapy.http import Response

from scrapy_dedup.core.urls.seen import key_of
from scrapy_dedup.plugin.crawl.engine_state import EngineState
from scrapy_dedup.plugin.crawl.outcomes import Links
from scrapy_dedup.plugin.crawl.request_meta import is_known_component
from scrapy_dedup.plugin.dupefilter import StoreDupeFilter, is_hash
from scrapy_dedup.plugin.fingerprinter import Fingerprinter
from scrapy_dedup.service.seen_urls import SeenUrls


class RepeatedLinks:
    """Asks the duplicate filter, Scrapy's or ours, what it would say; silent where anybody could tell the difference.

    That is: with another duplicate filter, scheduler or fingerprinter than are known here, with DUPEFILTER_DEBUG or
    DEPTH_STATS_VERBOSE, with a receiver of `request_dropped` or `request_scheduled`, and with a spider middleware that
    is not Scrapy's own, which may make another request of this one.
    """

    def __init__(self, crawler: Crawler, *, makes_all: bool = False) -> None:
        self._crawler = crawler
        self._makes_all = makes_all
        self._fingerprinter = crawler.request_fingerprinter
        self._seen: SeenUrls | set[Any] | None = None
        self._key_of: Callable[[bytes], Any] = bytes  # makes the filter's key of a fingerprint
        self._looked = False
        # Scrapy ends deeper ones before the duplicate filter sees them.
        self._deepest = crawler.settings.getint("DEPTH_LIMIT")

    def holds(self, request: Request, response: Response) -> bool:
        """Say whether the duplicate filter would drop a request of a response's callback now."""
        if request.dont_filter or "depth_reset" in request.meta:
            return False
        seen = self._asked(response)
        return seen is not None and self._key_of(self._fingerprinter.fingerprint(request)) in seen

    def left_of(self, output: Sequence[Any], response: Response) -> Iterator[Any]:
        """Yield what a callback yielded once, less links that the duplicate filter would drop now: most of a page's."""
        ours = self._fingerprinter if isinstance(self._fingerprinter, Fingerprinter) else None
        seen = None if self._makes_all else self._asked(response)
        dropped = 0
        try:
            for one in output:
                if not isinstance(one, Links):
                    yield one
                    continue
                for url in one.urls:
                    if ours and seen and self._key_of(ours.fingerprint_link(url)) in seen:
                        dropped += 1
                    else:
                        yield Request(url, callback=one.callback, errback=one.errback)
        finally:
            if dropped:
                self.count(dropped, response)

    def _asked(self, response: Response) -> SeenUrls | set[Any] | None:
        """Return what the filter knows; None where that is not known, or a response's requests do not come as far."""
        if self._deepest and response.meta.get("depth", 0) >= self._deepest:
            return None
        if not self._looked:
            self._look()
        return self._seen

    def count(self, dropped: int, response: Response) -> None:
        """Count them as the duplicate filter does, and before it who counts depths."""
        self._crawler.stats.inc_value("dupefilter/filtered", dropped)
        if "depth" in response.meta:
            self._crawler.stats.max_value("request_depth_max", response.meta["depth"] + 1)

    def _look(self) -> None:
        """Find the filter's memory: Scrapy's is a set of bytes since 2.19, of hexadecimal text before."""
        self._looked = True
        if self._crawler.settings.getbool("DEPTH_STATS_VERBOSE"):
            return
        engine = EngineState(self._crawler)
        scheduler, duplicates = engine.scheduler(), engine.duplicate_filter()
        if type(scheduler) is not Scheduler or not isinstance(duplicates, RFPDupeFilter) or duplicates.debug:
            return
        if type(duplicates) not in (RFPDupeFilter, StoreDupeFilter):
            return
        # A fingerprint must stay what it is when later middlewares set headers.
        if self._somebody_listens() or self._somebody_comes_after() or not is_hash(self._fingerprinter):
            return
        if isinstance(duplicates, StoreDupeFilter):
            self._seen, self._key_of = duplicates.seen, partial(key_of, is_hash=True)
            return
        attributes = vars(duplicates)
        seen = attributes.get("_fingerprints", attributes.get("fingerprints"))
        if isinstance(seen, set):
            self._seen = seen
            if "_fingerprints" not in attributes:
                self._key_of = bytes.hex

    def _somebody_listens(self) -> bool:
        sent = (signals.request_dropped, signals.request_scheduled)
        receivers = [one for signal in sent for one in liveReceivers(getAllReceivers(self._crawler, signal))]
        return not all(is_known_component(getattr(receiver, "__self__", receiver)) for receiver in receivers)

    def _somebody_comes_after(self) -> bool:
        manager = getattr(getattr(self._crawler.engine, "scraper", None), "spidermw", None)
        middlewares = getattr(manager, "middlewares", None)
        return middlewares is None or not all(map(is_known_component, middlewares))
