"""The next part of a listing is asked for once, as long as parts bring something new."""

from collections import Counter
from collections.abc import Iterator

from scrapy import Request
from scrapy.http import Response

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.pagination import PageLinks, listing_part, next_parts
from scrapy_dedup.plugin.marks import LINEAGE
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.signposts import SignpostReader
from scrapy_dedup.plugin.traps import TrapGuard
from scrapy_dedup.plugin.visits import Visit

# What a request has gone through is no part of a new one.
_NOT_COPIED = ("redirect_", "retry_", "download_latency", "is_start_request", "cached_", "dedup_")
_MOST_LISTINGS = 10_000
_MOST_OFFSETS = 100


class NextParts:
    """Makes requests with the callback and the arguments of the page on which they were found."""

    def __init__(self, runtime: Runtime, guard: TrapGuard, signposts: SignpostReader) -> None:
        self._runtime = runtime
        self._guard = guard
        self._signposts = signposts
        self._tried: Counter[str] = Counter()
        self._offsets: dict[str, dict[int, None]] = {}
        """By listing, numbers of parts that came."""

    def requests(self, response: Response, visit: Visit) -> Iterator[Request]:
        """Yield requests for what may come next."""
        request = response.request
        if request is None or not self._guard.was_news(response) or _is_replayed(visit):
            return
        page = visit.page(self._runtime.limits)
        if not isinstance(page, Page):
            return
        own = listing_part(response.url)
        offsets = self._offsets.setdefault(own.place, {}) if own is not None and own.is_offset else {}
        if own is not None and len(offsets) < _MOST_OFFSETS:
            offsets[own.number] = None
        links = PageLinks(page.links, self._signposts.next_href(response, visit), list(offsets))
        for url in next_parts(response.url, links):
            part = listing_part(url)
            place = part.place if part is not None else url.partition("?")[0]
            if self._tried[place] >= self._runtime.settings.pagination_max_pages or (
                place not in self._tried and len(self._tried) >= _MOST_LISTINGS
            ):
                self._runtime.count("pagination/at_limit")
                continue
            self._tried[place] += 1
            self._runtime.count("pagination/tried")
            meta = {key: value for key, value in request.meta.items() if not key.startswith(_NOT_COPIED)}
            if LINEAGE in request.meta:
                meta[LINEAGE] = request.meta[LINEAGE]
            yield request.replace(url=url, meta=meta, dont_filter=False)


def _is_replayed(visit: Visit) -> bool:
    return visit.judgement is not None and visit.judgement.replays
