"""Responses become visits here; requests for pages that this run has already fetched end here."""

import logging
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from scrapy_dedup.core.urls import extract_domain, page_key
from scrapy_dedup.plugin.domain_guard import RefusedDomain
from scrapy_dedup.plugin.marks import CONDITIONAL, asked_whole, callback_name, is_unfiltered, redirected_from
from scrapy_dedup.plugin.overrides import is_left_alone, with_request
from scrapy_dedup.plugin.recrawl import NOT_MODIFIED, Recrawl
from scrapy_dedup.plugin.rendering import Rendering
from scrapy_dedup.plugin.resilience import LeadsNowhere
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.service.run_pages import Names
from scrapy_dedup.settings import Settings

logger = logging.getLogger(__name__)


class _Repeated(IgnoreRequest):
    """The page was fetched in this run."""


class DedupDownloaderMiddleware:
    """The `url` layer where the duplicate filter cannot act, and the beginning of every visit.

    Start requests bypass the duplicate filter, which therefore lets the same page pass once more. And where our
    fingerprinter is not in use, keys are compared here.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._runtime = Runtime.of(crawler)
        self._recrawl = Recrawl(self._runtime)
        self._rendering = Rendering(self._runtime)
        self._failures: set[type[Exception]] = set()
        self._fetched = Names()
        """(page key, callback) of pages that were fetched past the duplicate filter."""
        self._requested = Names()
        """Keys of all requests, where the duplicate filter does not know them."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where the plugin is off."""
        return cls(crawler)

    async def process_request(self, request: Request) -> Response | None:
        """Drop a request for a page that was fetched before, with the same callback; answer what need not be asked.

        First of all for domains that are not asked: whoever made the request, and whatever for.
        """
        if self._runtime.guard is not None:
            self._runtime.guard.check(request)
        settings = self._settings(request)
        if settings is None:
            return None
        await self._runtime.writer.room()
        if self._runtime.resilience is not None:
            await self._runtime.resilience.before(request)
        if settings.url_enabled and not is_unfiltered(request):
            if settings.shadows("url"):
                self._count_repeated(request)
            else:
                self._drop_repeated(request)
        try:
            return await self._recrawl.before(request, settings)
        except Exception as error:  # noqa: BLE001 - whatever fails in there, the page is asked for
            self._failed(error)
            return None

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        """Begin a visit, and judge what became of the page."""
        runtime = self._runtime
        settings = self._settings(request)
        if settings is None:
            if runtime.resilience is not None:
                runtime.resilience.after(request, response, None)
            if is_left_alone(runtime.settings, request):
                runtime.begin_visit(request, response, None)
            return response
        came = await self._rendering.of(request, response)
        if isinstance(came, Request):
            return came
        answer = await self._judged(request, came, settings)
        visit = runtime.visits.of_response(answer) if isinstance(answer, Response) else None
        if visit is not None:
            if request.dont_filter or not runtime.fingerprints:
                runtime.note_redirects(visit.redirected_from, visit.url)
            if request.dont_filter and 200 <= visit.http_status < 400:
                self._fetched.add(visit.page_key, visit.callback.encode())
        if runtime.resilience is not None:
            runtime.resilience.after(request, answer if isinstance(answer, Response) else response, visit)
        return answer

    async def _judged(self, request: Request, response: Response, settings: Settings) -> Response | Request:
        try:
            return await self._recrawl.after(request, response, settings)
        except Exception as error:  # noqa: BLE001 - whatever fails in there, the page goes on to the spider
            self._failed(error)
            if response.status == NOT_MODIFIED and CONDITIONAL in request.meta:
                return asked_whole(request)
            self._runtime.begin_visit(request, response, settings)
            return response

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

    def _drop_repeated(self, request: Request) -> None:
        key = page_key(request.url, self._runtime.rules)
        if self._fetched.has(key, callback_name(request).encode()) or self._was_requested(key, request):
            self._runtime.count("url/dropped")
            self._runtime.note_redirects(redirected_from(request), request.url)
            raise _Repeated("dedup: this page was fetched in this run")

    def _count_repeated(self, request: Request) -> None:
        """Count a request that would have been dropped."""
        key = page_key(request.url, self._runtime.rules)
        if self._requested.has(key):
            self._runtime.count("shadow/url/requests")
        self._requested.add(key)

    def _settings(self, request: Request) -> Settings | None:
        """Return what holds for a request; None for those that are left alone."""
        if request.method != "GET" or request.callback is NO_CALLBACK:
            return None
        return with_request(self._runtime.settings, request)

    def _was_requested(self, key: bytes, request: Request) -> bool:
        if self._runtime.fingerprints or request.dont_filter:
            return False
        known = self._requested.has(key)
        self._requested.add(key)
        return known
