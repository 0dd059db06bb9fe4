"""A Scrapy run of our own in which a few pages are asked for, and what a browser needs to show them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import urljoin

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.settings import SETTINGS_PRIORITIES, Settings
from scrapy.utils.response import get_meta_refresh

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.plugin.crawl.ways import Ways
from scrapy_dedup.plugin.teacher.subresources import SubResources
from scrapy_dedup.settings import Settings as OurSettings
from scrapy_dedup.teacher.values import Fetch

SPIDER: Final = "dedup-learn"

# This is no crawl of ours to be recorded, nor one to be resumed, and gives no items.
_OF_THE_RUN: Final[Mapping[str, Any]] = {
    "DEDUP_ENABLED": False,
    "JOBDIR": None,
    "FEEDS": {},
    "ITEM_PIPELINES": {},
    "SPIDER_MIDDLEWARES": {},
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
    "TELNETCONSOLE_ENABLED": False,
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "TWISTED_REACTOR_ENABLED": True,
    "CLOSESPIDER_TIMEOUT": 0,
    "CLOSESPIDER_TIMEOUT_NO_ITEM": 0,
}
_HTML: Final = ("text/html", "application/xhtml+xml")
_LONGEST_CAUSE: Final = 200
_MOST_REDIRECTS: Final = 5


class PageError(DedupError):
    """A page that was asked for did not come; the message says why, and what to do."""


class Web:
    """What may be asked for in such a run: by Scrapy, with the project's settings, delays and robots.txt."""

    def __init__(self, spider: Spider, settings: OurSettings) -> None:
        self._engine = spider.crawler.engine
        self._settings = spider.crawler.settings
        self._resources = SubResources(spider.crawler, settings, Ways(spider.crawler.settings))

    @property
    def fetch(self) -> Fetch:
        """Get what a page needs in a browser; called from any thread."""
        return self._resources.fetch

    async def page(self, url: str) -> TextResponse:
        """Return a page, by redirects of its server and of its own, which lead to no private address but the page's.

        Raises:
            PageError: it did not come, leads to where nobody asked for, or is no page of HTML.
        """
        at = url
        for _ in range(_MOST_REDIRECTS + 1):
            response = await self._download(at, url)
            target = self._target(response)
            if target is None:
                return _checked(url, response)
            if not await self._resources.may_fetch(target, url):
                break
            at = target
        raise PageError(f"{url}: it leads to {target!r:.300}, which it may not, or too far: name the address itself")

    def _target(self, response: Response) -> str | None:
        """Return where an answer leads to; None where it is the page."""
        location = response.headers.get("Location")
        if 300 <= response.status < 400 and location is not None:
            return urljoin(response.url, location.decode("latin-1").strip())
        if not isinstance(response, HtmlResponse) or not self._settings.getbool("METAREFRESH_ENABLED"):
            return None
        seconds, target = get_meta_refresh(response, ignore_tags=self._settings.getlist("METAREFRESH_IGNORE_TAGS"))
        # News reload themselves.
        is_soon = seconds is not None and seconds < self._settings.getint("METAREFRESH_MAXDELAY")
        return target if is_soon and target != response.url else None

    async def _download(self, url: str, page_url: str) -> Response:
        assert self._engine is not None
        try:
            # Each step is asked about anew.
            response = await self._engine.download_async(Request(url, dont_filter=True, meta={"dont_redirect": True}))
        except IgnoreRequest as error:
            raise PageError(f"{url}: robots.txt forbids it; set ROBOTSTXT_OBEY = False to look all the same") from error
        except Exception as error:
            cause = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_CAUSE]
            raise PageError(f"{url} cannot be fetched ({cause}): check the address, and the network") from error
        if not self._resources.came_from(response, page_url):
            raise PageError(f"{url}: its host has a private address by now: name the address itself")
        return response


def _checked(url: str, response: Response) -> TextResponse:
    kind = (response.headers.get("Content-Type") or b"").decode("latin-1").partition(";")[0].strip().lower()
    if response.status != 200:
        raise PageError(f"{url}: the server answered with {response.status}; a page needs 200")
    if not isinstance(response, TextResponse) or (kind and kind not in _HTML):
        raise PageError(f"{url}: its content is {kind or 'unknown'}; only pages of HTML have a layout")
    return response


Errand = Callable[[Web], Awaitable[None]]


class TeachingSpider(Spider):
    """Runs one errand."""

    name = SPIDER
    errand: Errand
    our_settings: OurSettings
    failures: list[BaseException]

    async def start(self) -> AsyncIterator[Request]:
        """Ask for an empty page of our own: what its callback does holds the run open."""
        yield Request("data:,", callback=self.run_errand, dont_filter=True)

    async def run_errand(self, response: Response) -> None:  # noqa: ARG002 (Scrapy's signature)
        """Run the errand to its end."""
        try:
            await self.errand(Web(self, self.our_settings))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 (it is raised again outside of the run)
            self.failures.append(error)


def run_errand(errand: Errand, settings: Settings, ours: OurSettings) -> None:
    """Run an errand to its end with the project's settings; blocks, and can be done once in a process.

    Raises:
        DedupError: the run did not begin.
        Exception: whatever the errand raises.
    """
    failures: list[BaseException] = []
    begun = False

    async def noted(web: Web) -> None:
        nonlocal begun
        begun = True
        await errand(web)

    process = AsyncCrawlerProcess(_settings(settings))
    if process.settings["LOG_LEVEL"] == "ERROR":
        # Of a page that does not come the errand tells, in one line.
        logging.getLogger("scrapy.downloadermiddlewares").setLevel(logging.CRITICAL)
    process.crawl(TeachingSpider, errand=noted, our_settings=ours, failures=failures)
    process.start()
    if failures:
        raise failures[0]
    if not begun:
        raise DedupError("the Scrapy run did not begin; -L ERROR shows why")


def _settings(settings: Settings) -> Settings:
    chosen = settings.copy()
    for name, value in _OF_THE_RUN.items():
        chosen.set(name, value, priority="cmdline")
    # Who looks at somebody's page by hand is polite, too, unless the project says otherwise.
    if (chosen.getpriority("ROBOTSTXT_OBEY") or 0) <= SETTINGS_PRIORITIES["default"]:
        chosen.set("ROBOTSTXT_OBEY", True, priority="cmdline")
    # A command is silent, but what goes wrong has to be seen.
    if (chosen.getpriority("LOG_ENABLED") or 0) <= SETTINGS_PRIORITIES["command"]:
        chosen.set("LOG_ENABLED", True, priority="cmdline")
        chosen.set("LOG_LEVEL", "ERROR", priority="cmdline")
    return chosen
