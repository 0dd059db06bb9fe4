"""Responses become visits here; requests for pages that this run has already fetched end here."""

from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from scrapy_dedup.core.urls import page_key
from scrapy_dedup.plugin.fingerprinter import Fingerprinter
from scrapy_dedup.plugin.overrides import with_request
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.settings import Settings


class DedupDownloaderMiddleware:
    """The `url` layer where the duplicate filter cannot act, and the beginning of every visit.

    Start requests bypass the duplicate filter, which therefore lets the same page pass once more. And where our
    fingerprinter is not in use, keys are compared here.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._runtime = Runtime.of(crawler)
        self._crawler = crawler
        self._fetched: set[tuple[bytes, str]] = set()
        """(page key, callback) of pages that were fetched past the duplicate filter."""
        self._requested: set[bytes] | None = None
        """Keys of all requests, where the duplicate filter does not know them."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where the plugin is off."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Drop a request for a page that was fetched before, with the same callback."""
        settings = self._settings(request)
        if settings is None or not settings.url_enabled or self._is_unfiltered(request):
            return
        key = page_key(request.url, self._runtime.rules)
        if (key, _callback_name(request)) in self._fetched or self._was_requested(key, request):
            self._runtime.count("url/dropped")
            self._runtime.note_redirects(tuple(request.meta.get("redirect_urls", ())), request.url)
            raise IgnoreRequest("dedup: this page was fetched in this run")

    def process_response(self, request: Request, response: Response) -> Response:
        """Begin a visit."""
        settings = self._settings(request)
        if settings is None:
            return response
        runtime = self._runtime
        unfiltered = self._is_unfiltered(request)
        visit = runtime.visits.begin(request, response, settings, unfiltered=unfiltered)
        if visit is not None:
            runtime.note_redirects(visit.redirected_from, visit.url)
            if request.dont_filter and 200 <= response.status < 300:
                self._fetched.add((visit.page_key, _callback_name(request)))
        return response

    def _settings(self, request: Request) -> Settings | None:
        """Return what holds for a request; None for those that are left alone."""
        if request.method != "GET" or request.callback is NO_CALLBACK:
            return None
        return with_request(self._runtime.settings, request)

    def _is_unfiltered(self, request: Request) -> bool:
        """Say whether the spider itself wants the page whether or not it was seen.

        Scrapy sets `dont_filter` on start requests and on retries, too, and we do after a kill.
        """
        if not request.dont_filter:
            return False
        return not any(key in request.meta for key in ("is_start_request", "retry_times", READMITTED))

    def _was_requested(self, key: bytes, request: Request) -> bool:
        if self._requested is None:
            ours = isinstance(self._crawler.request_fingerprinter, Fingerprinter)
            self._requested = set()
            self._compares = not ours
        if not self._compares or request.dont_filter:
            return False
        known = key in self._requested
        self._requested.add(key)
        return known


READMITTED = "dedup_readmitted"
"""Key in a request's meta: let past the duplicate filter after a kill."""


def _callback_name(request: Request) -> str:
    callback: Any = request.callback
    return getattr(callback, "__name__", "parse") if callback is not None else "parse"
