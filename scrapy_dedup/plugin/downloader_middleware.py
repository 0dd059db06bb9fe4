"""Responses become visits here; repeated requests end here where the duplicate filter does not know them as such."""

import logging
from typing import TYPE_CHECKING, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.core.urls.seen import KeyTable
from scrapy_dedup.plugin.domains import RefusedDomain
from scrapy_dedup.plugin.dupefilter import request_url
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.overrides import is_left_alone, with_request
from scrapy_dedup.plugin.recrawl.reuse import RUNNING
from scrapy_dedup.plugin.requests import redirected_from
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.unchanged import Unchanged
from scrapy_dedup.plugin.visits import LeadsNowhere
from scrapy_dedup.settings import Settings

if TYPE_CHECKING:
    from scrapy_dedup.plugin.teacher.teaching import Rendering

logger = logging.getLogger(__name__)


class _Repeated(IgnoreRequest):
    """The page was asked for in this run."""


class DedupDownloaderMiddleware:
    """The beginning of every visit, and the `url` layer where our fingerprinter is not in use.

    A repeat is what the project's own duplicate filter takes for one after the tracking parameters are removed.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._runtime = Runtime.of(crawler)
        self._recrawl = Unchanged(self._runtime)
        self._rendering = _rendering(self._runtime)
        self._failures: set[type[Exception]] = set()
        self._requested = KeyTable("B")
        """Fingerprints of all requests, where the layer is in the shadow."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where the plugin is off."""
        return cls(crawler)

    async def process_request(self, request: Request) -> Response | None:
        """Drop a request for a page that was asked for before; answer what need not be asked.

        First of all for domains that are not asked: whoever made the request, and whatever for.
        """
        if self._runtime.guard is not None:
            self._runtime.guard.check(request)
        if (awaiting := RUNNING.get()) is not None:
            awaiting.unkeepable = "a page that the callback waits for"
        settings = self._settings(request)
        if settings is None:
            return None
        await self._runtime.writer.room()
        if self._runtime.resilience is not None:
            await self._runtime.resilience.before(request)
        if settings.url_enabled and not request.dont_filter:
            self._look_for_repeat(request, in_shadow=settings.shadows("url"))
        try:
            return await self._recrawl.before(request, settings)
        except Exception as error:  # noqa: BLE001 - whatever fails in there, the page is asked for
            self._failed(error)
            return None

    async def process_response(self, request: Request, response: Response) -> Response:
        """Begin a visit, judge what became of the page, and let it go on in its turn."""
        answer = await self._begin_visit(request, response)
        # Last of all: who waits for items looks whether any are still to come of the pages that went on.
        await self._runtime.items_first.turn(request)
        return answer

    async def _begin_visit(self, request: Request, response: Response) -> Response:
        runtime = self._runtime
        settings = self._settings(request)
        if settings is None:
            if runtime.resilience is not None:
                runtime.resilience.after(request, response, None)
            if is_left_alone(runtime.settings, request):
                runtime.begin_visit(request, response, None)
            return response
        answer = await self._rendering.of(response) if self._rendering is not None else response
        await self._judge(request, answer, settings)
        visit = runtime.visits.of_response(answer)
        if visit is not None and (request.dont_filter or not runtime.fingerprints):
            runtime.note_redirects(visit.redirected_from, visit.url)
        if runtime.resilience is not None:
            runtime.resilience.after(request, answer, visit)
        return answer

    async def _judge(self, request: Request, response: Response, settings: Settings) -> None:
        try:
            await self._recrawl.after(request, response, settings)
        except Exception as error:  # noqa: BLE001 - whatever fails in there, the page goes on to the spider
            self._failed(error)
            self._runtime.begin_visit(request, response, settings)

    def _failed(self, error: Exception) -> None:
        """Note a defect of ours, with one traceback a kind."""
        kind = type(error)
        self._runtime.count(f"unchanged/errors/{kind.__name__}")
        if kind not in self._failures:
            self._failures.add(kind)
            logger.error("A page counts as new because of a defect in scrapy_dedup", exc_info=error)

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Note a fetch that failed for good: what was known of the page stays."""
        if isinstance(exception, LeadsNowhere):
            return
        if self._runtime.resilience is not None:
            # A redirect to a domain that is not asked ends what led there, too.
            self._runtime.resilience.ended(request)
        if not isinstance(exception, _Repeated | RefusedDomain) and self._settings(request) is not None:
            self._runtime.registry.met(extract_domain(request.url, self._runtime.settings.domain_scope))
            self._recrawl.gave_nothing(request)

    def _look_for_repeat(self, request: Request, *, in_shadow: bool) -> None:
        """Ask the duplicate filter about the page that a request means, where it was asked about the URL alone."""
        runtime = self._runtime
        duplicates = EngineState(runtime.crawler).duplicate_filter()
        if duplicates is None or type(duplicates) is BaseDupeFilter or (runtime.fingerprints and not in_shadow):
            return
        meant = request.replace(url=request_url(request.url, runtime.rules))
        fingerprint_of = runtime.crawler.request_fingerprinter.fingerprint
        fingerprint = fingerprint_of(meant)
        if in_shadow:
            key = parts_hash(fingerprint)
            if key in self._requested:
                runtime.count("shadow/url/requests")
            self._requested.put(key, 0)
        elif fingerprint != fingerprint_of(request) and duplicates.request_seen(meant):
            runtime.count("url/dropped")
            runtime.note_redirects(redirected_from(request), request.url)
            raise _Repeated("dedup: this page was asked for in this run")

    def _settings(self, request: Request) -> Settings | None:
        """Return what holds for a request; None for those that are left alone."""
        if request.method != "GET" or request.callback is NO_CALLBACK:
            return None
        return with_request(self._runtime.settings, request)


def _rendering(runtime: Runtime) -> "Rendering | None":
    """Return what renders pages; None where none are to be."""
    if runtime.teaching is None or not runtime.settings.render_enabled:
        return None
    from scrapy_dedup.plugin.teacher.teaching import Rendering  # noqa: PLC0415 (few crawls render pages)

    return Rendering(runtime.crawl, runtime.limits, runtime.teaching)
