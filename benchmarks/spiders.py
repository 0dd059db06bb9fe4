"""Spiders that only benchmarks need."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response


class ManySpider(Spider):
    """Crawls several hosts, all of their pages: -a start=URL,URL,..."""

    name = "many"

    def __init__(self, *, start: str, pages: str = "0", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.starts = start.split(",")
        self.pages = pages

    async def start(self) -> AsyncIterator[Request]:
        """Yield the first page of each host."""
        for url in self.starts:
            yield Request(url)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page and its links; all of them stay on their host."""
        yield {"url": response.url}
        if isinstance(response, HtmlResponse):
            for href in response.css("a::attr(href)").getall():
                yield Request(response.urljoin(href))


class ListedSpider(Spider):
    """Asks for pages in the order in which they are named, and follows no links: -a urls="URL URL"."""

    name = "listed"

    def __init__(self, *, urls: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = urls.split()

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        """Yield the page."""
        yield {"url": response.url}
