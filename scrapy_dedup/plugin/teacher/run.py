"""A Scrapy run of our own in which a few pages are asked for, and shown to a browser with what they need for that."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from itertools import islice, takewhile
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.settings import Settings as ScrapySettings
from scrapy.utils.response import get_meta_refresh

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.plugin.overrides import settings_of_command
from scrapy_dedup.plugin.requests import Ways
from scrapy_dedup.plugin.teacher.teaching import SubResources
from scrapy_dedup.service.policies import parse_limits, url_rules
from scrapy_dedup.service.teacher.teaching import PageToShow
from scrapy_dedup.service.templates.site_knowledge import REST
from scrapy_dedup.settings import Settings
from scrapy_dedup.teacher import NotShown, RenderedPage, Showing
from scrapy_dedup.teacher.browser import Browser

SPIDER: Final = "dedup-learn"

# It gives no items.
_OF_THE_RUN: Final[Mapping[str, Any]] = {
    "FEEDS": {},
    "ITEM_PIPELINES": {},
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

    def __init__(self, spider: Spider, settings: Settings) -> None:
        self._engine = spider.crawler.engine
        self._settings = spider.crawler.settings
        self._resources = SubResources(spider.crawler, settings, Ways(spider.crawler.settings))

    async def show(self, browser: Browser, showing: Showing) -> RenderedPage | NotShown:
        """Return what a page looks like in a browser, which gets by Scrapy what the page needs."""
        return await asyncio.wrap_future(browser.show(showing, self._resources.fetch))

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
    our_settings: Settings
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


def run_errand(errand: Errand, settings: ScrapySettings, ours: Settings) -> None:
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


def _settings(settings: ScrapySettings) -> ScrapySettings:
    chosen = settings_of_command(settings, _OF_THE_RUN, log_level="ERROR")
    # Who looks at somebody's page by hand is polite, too, unless the project says otherwise.
    if (chosen.getpriority("ROBOTSTXT_OBEY") or 0) <= SETTINGS_PRIORITIES["default"]:
        chosen.set("ROBOTSTXT_OBEY", True, priority="cmdline")
    return chosen


SIBLINGS: Final = 12


async def page_and_siblings(web: Web, url: str, domain: str, settings: Settings) -> AsyncIterator[PageToShow]:
    """Iterate over a page and at most SIBLINGS that it links to on its host; one that does not come is passed over.

    Raises:
        PageError: the page itself did not come.
    """
    limits, rules = parse_limits(settings), url_rules(settings)
    waiting, known = [url], set[bytes]()
    while waiting and len(known) <= SIBLINGS:
        asked = waiting.pop(0)
        try:
            response = await web.page(asked)
        except PageError:
            if asked == url:
                raise
            continue
        key, page = page_key(response.url, rules), parse_page(response.text, limits)
        if not isinstance(page, Page) or key in known:
            continue
        known.add(key)
        if asked == url:
            # Some of them do not come, or are one page.
            waiting = list(islice(siblings(response.url, page), 2 * SIBLINGS))
        yield PageToShow(domain, REST, key, response.url, response.text, page)


def siblings(url: str, page: Page) -> Iterator[str]:
    """Iterate over links of a page to others on its host, the most similar addresses first."""
    here = urlsplit(url)
    steps = here.path.split("/")
    found: dict[str, tuple[int, int]] = {}
    for href in page.links:
        try:
            link = urljoin(urljoin(url, page.base or ""), href).partition("#")[0]
            parts = urlsplit(link)
        except ValueError:
            continue
        if (parts.scheme, parts.netloc) == (here.scheme, here.netloc) and link != url:
            others = parts.path.split("/")
            alike = takewhile(lambda pair: pair[0] == pair[1], zip(steps, others, strict=False))
            found.setdefault(link, (abs(len(steps) - len(others)), -sum(1 for _ in alike)))
    # Sorting keeps the order of the page where addresses are equally similar.
    yield from sorted(found, key=lambda link: found[link])
