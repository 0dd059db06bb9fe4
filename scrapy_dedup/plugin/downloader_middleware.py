"""Responses become visits here; repeated requests end here where the duplicate filter does not know them as such."""

import logging
import re
from typing import Final, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import run_in_thread

from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.layouts import skeleton_of
from scrapy_dedup.core.numbering import Numbered, numbered
from scrapy_dedup.core.urls import extract_domain
from scrapy_dedup.plugin.domain_guard import RefusedDomain
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.fingerprinter import request_url
from scrapy_dedup.plugin.marks import redirected_from
from scrapy_dedup.plugin.outcomes import RUNNING
from scrapy_dedup.plugin.overrides import is_left_alone, with_request
from scrapy_dedup.plugin.recrawl import Recrawl
from scrapy_dedup.plugin.resilience import LeadsNowhere
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.visits import is_html
from scrapy_dedup.service.crawl import load
from scrapy_dedup.service.layout_figures import name_of
from scrapy_dedup.service.run_pages import Names
from scrapy_dedup.service.site_knowledge import SiteKnowledge
from scrapy_dedup.service.teaching import NEARLY_EMPTY
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.errors import StoreError
from scrapy_dedup.teacher.values import NotShown, Showing

logger = logging.getLogger(__name__)


RENDERED: Final = "dedup_rendered"
"""The flag of a response whose scripts were run."""


class _Repeated(IgnoreRequest):
    """The page was asked for in this run."""


class DedupDownloaderMiddleware:
    """The beginning of every visit, and the `url` layer where our fingerprinter is not in use.

    A repeat is what the project's own duplicate filter takes for one after the tracking parameters are removed.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._runtime = Runtime.of(crawler)
        self._recrawl = Recrawl(self._runtime)
        self._rendering = Rendering(self._runtime)
        self._failures: set[type[Exception]] = set()
        self._requested = Names()
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
        """Begin a visit, and judge what became of the page."""
        runtime = self._runtime
        settings = self._settings(request)
        await runtime.items_first.turn()
        if settings is None:
            if runtime.resilience is not None:
                runtime.resilience.after(request, response, None)
            if is_left_alone(runtime.settings, request):
                runtime.begin_visit(request, response, None)
            return response
        answer = await self._rendering.of(response)
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
            if self._requested.has(fingerprint):
                runtime.count("shadow/url/requests")
            self._requested.add(fingerprint)
        elif fingerprint != fingerprint_of(request) and duplicates.request_seen(meant):
            runtime.count("url/dropped")
            runtime.note_redirects(redirected_from(request), request.url)
            raise _Repeated("dedup: this page was asked for in this run")

    def _settings(self, request: Request) -> Settings | None:
        """Return what holds for a request; None for those that are left alone."""
        if request.method != "GET" or request.callback is NO_CALLBACK:
            return None
        return with_request(self._runtime.settings, request)


class Rendering:
    """Asks the teacher's browser, which reaches no network but through Scrapy."""

    def __init__(self, runtime: "Runtime") -> None:
        self._runtime = runtime
        self._is_on = runtime.settings.render_enabled and runtime.settings.teacher != "off"
        self._told: set[tuple[str, int]] = set()

    async def of(self, response: Response) -> Response:
        """Return a response as its scripts leave it, if its layout needs that; else as it is."""
        if not self._is_on:
            return response
        domain = extract_domain(response.url, self._runtime.settings.domain_scope) or ""
        known = await self._known(domain)
        layouts = known.need_rendering if known is not None else frozenset()
        if known is None or not layouts:
            return response
        if response.status != 200 or not isinstance(response, TextResponse) or not is_html(response):
            return response
        page = parse_page(response.text, self._runtime.limits)
        layout = known.layout_of(skeleton_of(page)) if isinstance(page, Page) else None
        if not isinstance(page, Page) or layout not in layouts or page.chars >= NEARLY_EMPTY:
            return response
        self._tell(domain, layout)
        return await self._rendered(response, page)

    async def _known(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain; the store is asked once, before the domain's first item."""
        crawl = self._runtime.crawl
        learner = crawl.learner(domain, "template")
        if learner is None and domain:
            try:
                stored = await run_in_thread(load, crawl.store, domain)
            except StoreError:
                return None
            learner = crawl.learner(domain, "template") or crawl.meet(domain, "template", stored)
        return learner.site.knowledge if learner is not None and learner.site is not None else None

    def _tell(self, domain: str, layout: int) -> None:
        if (domain, layout) not in self._told:
            self._told.add((domain, layout))
            logger.info("Pages of layout %s of %s are rendered: their text is made by scripts", name_of(layout), domain)

    async def _rendered(self, response: TextResponse, page: Page) -> Response:
        count = self._runtime.count
        with_numbers = await run_in_thread(numbered, response.text, page)
        if with_numbers is None:
            count("teacher/not_rendered/too_large")
            return response
        answer = await self._runtime.teaching.show(Showing(response.url, with_numbers, scripts=True))
        if isinstance(answer, NotShown) or answer.html is None:
            count(f"teacher/not_rendered/{answer.reason if isinstance(answer, NotShown) else 'failed'}")
            return response
        count("teacher/rendered")
        body = _without_numbers(answer.html, with_numbers).encode("utf-8", "replace")
        return response.replace(body=body, encoding="utf-8", flags=[*response.flags, RENDERED])


def _without_numbers(html: str, page: Numbered) -> str:
    return re.sub(rf' {page.attribute}="\d+"', "", html)
