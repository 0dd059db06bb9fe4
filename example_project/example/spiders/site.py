"""Any site: scrapy crawl site -a start=https://example.com/ -O pages.jsonl."""

import ipaddress
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

from scrapy import Request, Selector, Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import IGNORED_EXTENSIONS
from scrapy.utils.gz import gunzip, gzip_magic_number
from twisted.python.failure import Failure

# Scrapy's list of what is rarely worth a fetch, less the one kind that holds text.
NOT_FOLLOWED = tuple(f".{extension}" for extension in IGNORED_EXTENSIONS if extension != "pdf")
LARGEST_SITEMAP = 60_000_000  # bytes when unpacked; the protocol allows 50 MB


class SiteSpider(Spider):
    """Follows a site's links, within its host and port.

    Arguments (-a name=value):
        start: the first page; its host and port bound the crawl.
        prefix: follow only paths that begin like this, such as /docs/.
        pages: stop after this many responses; 0 means no cap.
        seconds: stop after this time; 0 means no budget.
        sitemap: 1 for the site's /sitemap.xml, or the URL of a sitemap.
    """

    name = "site"

    def __init__(self, *, start: str = "", prefix: str = "/", sitemap: str = "", **kwargs: Any) -> None:
        """Check the start URL.

        Raises:
            ValueError: there is no start, or it is no http(s) URL.
        """
        super().__init__(**kwargs)
        self.start_url = start if "://" in start or not start else f"https://{start}"
        if not _place(self.start_url):
            raise ValueError(f"start={start!r}: needs a URL, such as -a start=https://example.com/")
        self.prefix = prefix
        self.sitemap = urljoin(self.start_url, "/sitemap.xml") if sitemap == "1" else sitemap
        # host:port and not allowed_domains, which knows no ports: two servers on one machine are two sites.
        self.places = {_place(self.start_url)}

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, pages: str = "500", seconds: str = "0", **kwargs: Any) -> Self:
        """Make the spider and turn its arguments into settings; -s on the command line goes first."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        chosen = {"CLOSESPIDER_PAGECOUNT": int(pages), "CLOSESPIDER_TIMEOUT": float(seconds)}
        if _is_this_machine(spider.start_url):
            chosen |= {"DOWNLOAD_DELAY": 0, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
        crawler.settings.setdict(chosen, priority="spider")
        return spider

    async def start(self) -> AsyncIterator[Request]:
        """Yield the first page and, where asked for, the sitemap."""
        yield Request(self.start_url, self.parse, errback=self.failed)
        if self.sitemap:
            yield Request(self.sitemap, self.parse_sitemap, errback=self.failed)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page, and requests for all it links to."""
        self._follow_the_start(response)
        if not self.is_ours(response.url):
            self.logger.debug("redirected off the site: %s", response.url)
            return
        yield {"url": response.url}
        if isinstance(response, HtmlResponse):
            yield from self.links(response)

    def links(self, response: HtmlResponse) -> Iterator[Request]:
        """Yield a request for every link of a page that stays on the site."""
        for href in response.css("a::attr(href)").getall():
            try:
                url = response.urljoin(href.strip())
            except ValueError:  # such as http://[half-an-address
                continue
            if self.is_ours(url):
                yield self.request(url)

    def request(self, url: str) -> Request:
        """Return the request for one page; other spiders override what they need."""
        return Request(url, self.parse, errback=self.failed)

    def parse_sitemap(self, response: Response) -> Iterator[Request]:
        """Yield the pages of a sitemap; an index leads to further sitemaps."""
        body = response.body
        if gzip_magic_number(response):
            body = gunzip(body, max_size=LARGEST_SITEMAP)
        entries = Selector(body=body, type="xml")
        for url in entries.xpath("//*[local-name()='sitemap']/*[local-name()='loc']/text()").getall():
            if _place(url.strip()) in self.places:
                yield Request(url.strip(), self.parse_sitemap, errback=self.failed)
        for url in entries.xpath("//*[local-name()='url']/*[local-name()='loc']/text()").getall():
            if self.is_ours(url.strip()):
                yield self.request(url.strip())

    def failed(self, failure: Failure) -> None:
        """Say which page could not be fetched; the crawl goes on."""
        url = failure.request.url  # type: ignore[attr-defined] # Scrapy sets it
        level = "error" if url == self.start_url else "warning"
        getattr(self.logger, level)("not fetched: %s: %s", url, failure.getErrorMessage() or failure.type)
        if self.crawler.stats:
            self.crawler.stats.inc_value("site/not_fetched")

    def is_ours(self, url: str) -> bool:
        """Whether a URL is on the site and worth a fetch."""
        path = urlsplit(url).path or "/"
        return _place(url) in self.places and path.startswith(self.prefix) and not path.lower().endswith(NOT_FOLLOWED)

    def _follow_the_start(self, response: Response) -> None:
        # example.com often answers from www.example.com: that is then the site.
        if response.meta.get("redirect_urls", [None])[0] == self.start_url:
            self.places.add(_place(response.url))


def _place(url: str) -> str:
    """Return host and port of an http(s) URL, "" of anything else."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts.netloc.lower() if parts.scheme in ("http", "https") else ""


def _is_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
