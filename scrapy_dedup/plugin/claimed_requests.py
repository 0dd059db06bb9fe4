"""Requests as claims: of a page that several workers of a run come to, one asks for it."""

import logging
from collections.abc import Iterable

from scrapy import Request
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.urls import UrlRules, page_key
from scrapy_dedup.plugin.claiming import Claims
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.marks import CLAIM, READMITTED, callback_name, is_unfiltered, redirected_from
from scrapy_dedup.plugin.outcomes import Recorder, kept_requests
from scrapy_dedup.plugin.overrides import with_request
from scrapy_dedup.plugin.visits import Visit
from scrapy_dedup.service.claims import lost_of, page_claim
from scrapy_dedup.service.commits import Recorded
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.claim_records import LeftPage, Wanted
from scrapy_dedup.store.codec import Packer, to_json, unpack_json
from scrapy_dedup.store.errors import DamagedError

logger = logging.getLogger(__name__)

_START = "is_start_request"


class TakenByOther(IgnoreRequest):
    """Another worker of the run has the page."""


class ClaimedRequests:
    """Claims pages before they are fetched, and says when nothing more is to come of them."""

    def __init__(self, crawler: Crawler, claims: Claims, settings: Settings, rules: UrlRules) -> None:
        self._crawler = crawler
        self._claims = claims
        self._settings = settings
        self._rules = rules
        self._packer = Packer()
        self._recorder: Recorder | None = None
        self._own_queue: bool | None = None

    async def before(self, request: Request) -> None:
        """Claim a request's page.

        Raises:
            TakenByOther: another worker has it.
        """
        if not self._applies(request):
            return
        wanted = self._wanted(request)
        if lost_of(await self._claims.ask([wanted])):
            self.led_to_known(request)
            raise TakenByOther("dedup: another worker of this run has this page")

    def led_to_known(self, request: Request) -> None:
        """Note that redirects have come to their end, since somebody has the page that they led to."""
        self._claims.over(self._of_urls(request, redirected_from(request)))

    def note(self, request: Request, *, is_first: bool = False) -> None:
        """Note a request that goes into this worker's own queue: with the worker the queue would be lost.

        Args:
            request: as the spider made it.
            is_first: it comes from no response; Scrapy says so in its meta later on.
        """
        if not self.has_own_queue():
            return
        if is_first:
            request = request.replace(meta={**request.meta, _START: True})
        if self._applies(request):
            self._claims.note(self._wanted(request))

    def began(self, request: Request, visit: Visit) -> None:
        """Note that a request brought a response: what it claimed is done when the visit is."""
        if self._applies(request):
            visit.claims |= {one.claim_key: one.owner for one in self._all_of(request)}

    def gave_nothing(self, request: Request) -> None:
        """Note that nothing comes of a request."""
        if self._applies(request):
            self._claims.over(self._all_of(request))

    def again(self, left: LeftPage) -> Request | None:
        """Return the request for a page that a dead worker left; None where it cannot be made."""
        spider = self._crawler.spider
        try:
            if left.request is None or spider is None:
                return None
            request = next(iter(kept_requests([unpack_json(left.request)], spider)), None)
        except (DamagedError, DedupError, LookupError, TypeError, ValueError) as error:
            logger.warning("A page of a worker that died cannot be asked for: %s", str(error)[:500])
            return None
        if request is None:
            return None
        claim = [request.url, left.claim.key.hex()]
        return request.replace(dont_filter=True, meta={**request.meta, READMITTED: True, CLAIM: claim})

    def given_up(self, left: LeftPage) -> None:
        """Note that a page is not asked for."""
        self._claims.over([Wanted(left.claim.kind, left.claim.key, left.owner)])

    def _applies(self, request: Request) -> bool:
        if request.method != "GET" or request.callback is NO_CALLBACK:
            return False
        settings = with_request(self._settings, request)
        if settings is None or not settings.acts("url"):
            return False
        # All workers have the same first requests, whatever else these ask for.
        return _START in request.meta or not is_unfiltered(request)

    def _all_of(self, request: Request) -> list[Wanted]:
        return [*self._of_urls(request, [request.url]), *self._of_urls(request, redirected_from(request))]

    def _of_urls(self, request: Request, urls: Iterable[str]) -> list[Wanted]:
        own_part, callback = _own_part(request), callback_name(request)
        left_url, left_key = request.meta.get(CLAIM, ("", ""))
        found = []
        for url in urls:
            key = page_key(url, self._rules)
            claim = page_claim(key, callback, own_part)
            found.append(Wanted(claim.kind, bytes.fromhex(left_key) if url == left_url else claim.key, key))
        return found

    def _wanted(self, request: Request) -> Wanted:
        [wanted] = self._of_urls(request, [request.url])
        return Wanted(wanted.kind, wanted.key, wanted.owner, self._kept(request))

    def _kept(self, request: Request) -> bytes | None:
        """Return a request as another worker can make it again; None where it cannot."""
        if self._recorder is None and self._crawler.spider is not None:
            self._recorder = Recorder(self._crawler.spider)
        recorded = Recorded("", {}, "")
        if self._recorder is not None:
            self._recorder.request(request, recorded)
        if not recorded.requests:
            return None
        try:
            return self._packer.plain_json(recorded.requests[0])
        except TypeError:
            return None

    def has_own_queue(self) -> bool:
        """Say whether this worker's requests wait where no other sees them."""
        if self._own_queue is None:
            queue = EngineState(self._crawler).scheduler()
            if queue is None:
                return True
            self._own_queue = type(queue) is Scheduler
        return self._own_queue


def _own_part(request: Request) -> bytes:
    """Return what tells a first request from others for the same page."""
    if _START not in request.meta or not is_unfiltered(request):
        return b""
    said = [request.headers.to_unicode_dict(), request.cookies, request.cb_kwargs]
    return to_json(said).encode("utf-8", "surrogatepass")
