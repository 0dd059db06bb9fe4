"""The site spider of example_project, which counts how often its callback ran, or crawls several sites."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from example.spiders.site import SiteSpider  # type: ignore[import-not-found] # found in the folder that is crawled from
from scrapy import Request
from scrapy.http import HtmlResponse, Response


class CountedSpider(SiteSpider):  # type: ignore[misc] # see above
    """Leaves the count in the stats."""

    name = "counted"

    def parse(self, response: Response) -> Iterator[Any]:
        """Count, and do what the site spider does."""
        self.crawler.stats.inc_value("callbacks")
        return super().parse(response)  # type: ignore[no-any-return] # see above


class RealSpider(SiteSpider):  # type: ignore[misc] # see above
    """Reads all links of each page, and follows those to pages that there are: -a start=URL,URL,..."""

    name = "real"

    def __init__(self, *, start: str, **kwargs: Any) -> None:
        self.starts = start.split(",")
        super().__init__(start=self.starts[0], **kwargs)
        self.known: set[str] = set()

    async def start(self) -> AsyncIterator[Request]:
        """Yield the list of each site."""
        for url in self.starts:
            yield Request(url, self.parse_list)

    def parse_list(self, response: Response) -> Iterator[Request]:
        """Yield the first page; the others are found by links, or come last."""
        listed = [self.request(response.urljoin(href)) for href in response.css("a::attr(href)").getall()]
        self.known.update(request.url for request in listed)
        yield from listed

    def is_ours(self, url: str) -> bool:
        """Whether there is such a page."""
        return url in self.known

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page, and requests for all it links to."""
        yield {"url": response.url}
        if isinstance(response, HtmlResponse):
            yield from self.links(response)
