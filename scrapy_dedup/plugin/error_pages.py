"""Soft 404: what a host gives for a URL that nobody made up is its error page, also with status 200."""

import logging
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.soft404 import ErrorPage, judge_page, probe_url
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.sites import Site
from scrapy_dedup.plugin.visits import is_html

logger = logging.getLogger(__name__)

_PROBE_SECONDS = 30
_MOST_HOSTS = 10_000


class _Host:
    """What is known of one host's answers."""

    __slots__ = ("error", "first", "probe", "waiting")

    def __init__(self, first: str) -> None:
        self.first = first
        self.probe: str | None = None
        self.error: Page | None = None
        self.waiting: list[Deferred[None]] | None = None


class ErrorPages:
    """Asks each host once, when its second page comes: a host with one page costs no more than that."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._hosts: dict[str, _Host] = {}

    async def is_one(self, response: Response, page: Page, site: Site) -> bool:
        """Say whether a page is its host's error page."""
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(response.url))
        host = self._hosts.get(origin)
        if host is None:
            if len(self._hosts) < _MOST_HOSTS:
                self._hosts[origin] = _Host(response.url)
            return False
        if host.probe is None and host.first != response.url:
            await self._ask(host, response.url)
        if host.error is None or host.probe is None:
            return False
        repeats = site.versions.repeats
        return isinstance(judge_page(response.url, page, host.probe, host.error, repeats), ErrorPage)

    async def _ask(self, host: _Host, url: str) -> None:
        if host.waiting is not None:
            answer: Deferred[None] = Deferred()
            host.waiting.append(answer)
            await maybe_deferred_to_future(answer)
            return
        host.waiting = []
        probe = probe_url(url, str(self._runtime.crawl.run.id))
        try:
            host.error = await self._error_page(probe)
        finally:
            host.probe = probe
            waiting, host.waiting = host.waiting, None
            for one in waiting:
                one.callback(None)

    async def _error_page(self, probe: str) -> Page | None:
        """Return what the host gives for a URL that does not exist, where it gives it with 200."""
        request = Request(
            probe,
            callback=NO_CALLBACK,
            dont_filter=True,
            meta={"download_timeout": _PROBE_SECONDS, "dont_retry": True, "dont_redirect": True, "dont_cache": True},
        )
        self._runtime.count("soft_404/probes")
        try:
            response = await self._runtime.crawler.engine.download_async(request)
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
