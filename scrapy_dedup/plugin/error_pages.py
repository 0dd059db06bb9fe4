"""Error pages that come with 200: what each host gives for URLs that do not exist tells them."""

import logging

from msgspec import Struct, field
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import DeferredLock

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.resilience.soft404 import ErrorPage, judge_page, probe_url
from scrapy_dedup.plugin.domains import Site
from scrapy_dedup.plugin.requests import origin_of
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.visits import is_html

_PROBE_SECONDS = 30
_MOST_HOSTS = 10_000

logger = logging.getLogger(__name__)


class _Host(Struct):
    """What is known of one host's answers."""

    first: str
    probes: dict[str, Page] | None = None
    """What it gives for URLs that do not exist, with 200; None: it was not asked."""
    asking: DeferredLock = field(default_factory=DeferredLock)


class ErrorPages:
    """Asks each host twice, when its second page comes: a host with one page costs no more than that."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._hosts: dict[str, _Host] = {}

    async def is_one(self, request: Request, response: Response, page: Page, site: Site) -> bool:
        """Say whether a page is its host's error page."""
        origin = origin_of(response.url)
        host = self._hosts.get(origin)
        if host is None:
            if len(self._hosts) < _MOST_HOSTS:
                self._hosts[origin] = _Host(response.url)
            return False
        if host.probes is None and host.first != response.url:
            await self._ask(host, request, response.url)
        if not host.probes:
            return False
        repeats = site.versions.repeats
        return isinstance(judge_page(response.url, page, host.probes, repeats), ErrorPage)

    async def _ask(self, host: _Host, request: Request, url: str) -> None:
        await maybe_deferred_to_future(host.asking.acquire())
        try:
            if host.probes is None:
                host.probes = await self._probes(request, url)
        finally:
            host.asking.release()

    async def _probes(self, request: Request, url: str) -> dict[str, Page]:
        probes: dict[str, Page] = {}
        # Two: what differs between them is no word of the error page.
        for seed in range(2):
            probe = probe_url(url, f"{self._runtime.crawl.run.id} {seed}")
            error = await self._error_page(request, probe)
            if error is None:
                return {}
            probes[probe] = error
        return probes

    async def _error_page(self, asked: Request, probe: str) -> Page | None:
        """Return what the host gives for a URL that does not exist, where it gives it with 200."""
        alone = {"download_timeout": _PROBE_SECONDS, "dont_retry": True, "dont_redirect": True, "dont_cache": True}
        request = Request(probe, NO_CALLBACK, meta=alone, dont_filter=True)
        self._runtime.count("soft_404/probes")
        try:
            response = await self._runtime.crawler.engine.download_async(self._runtime.ways.of(asked).lead(request))
        except IgnoreRequest:
            # robots.txt does not allow it: nobody is judged.
            return None
        except Exception as error:  # noqa: BLE001 - whatever a download handler raises: there is no answer
            logger.debug("The probe %s failed: %s", probe, error)
            return None
        if response.status != 200 or not isinstance(response, TextResponse) or not is_html(response):
            return None
        page = parse_page(response.text, self._runtime.limits)
        return page if isinstance(page, Page) else None
