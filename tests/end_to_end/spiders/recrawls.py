from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.spiders import SitemapSpider

from tests.end_to_end.spiders.pages import Filtered, noted


class Walker(Filtered):
    """Follows every link, and yields every page; so that what it yielded tells which callbacks ran."""

    name = "walker"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted({"url": response.url})
        if isinstance(response, HtmlResponse):
            yield from response.follow_all(css="a")


class Insists(Walker):
    """Asks for every page with dont_filter, once."""

    name = "insists"

    async def start(self) -> AsyncIterator[Any]:
        for url in self.start_urls:
            yield scrapy.Request(url, dont_filter=True, headers={"X-Insists": "1"})

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        is_home = response.url.endswith("/")
        for output in super().parse(response, **kwargs):
            if not isinstance(output, scrapy.Request):
                yield output
            elif is_home and not output.url.endswith("/"):
                yield output.replace(dont_filter=True)


class Posts(Walker):
    """Sends a form for each link."""

    name = "posts"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        for output in super().parse(response, **kwargs):
            if isinstance(output, scrapy.Request):
                yield scrapy.FormRequest(output.url, formdata={"q": "boats"}, callback=self.result)
            else:
                yield output

    def result(self, response: Response) -> Iterator[Any]:
        yield noted({"id": f"result of {response.url}", "url": response.url})


class ByLambda(Walker):
    """Has a callback that has no name: nobody could find it again."""

    name = "by-lambda"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        for output in super().parse(response, **kwargs):
            if isinstance(output, scrapy.Request):
                yield output.replace(callback=lambda response: (yield from self.parse(response)))
            else:
                yield output


class TwoSteps(Walker):
    """Hands on arguments from page to page, and has an errback."""

    name = "two-steps"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        assert isinstance(response, TextResponse)
        for number, link in enumerate(response.css("main a")):
            arguments = {"number": number, "seen": ("a", {"b": 1.5})}
            yield response.follow(link, self.detail, errback=self.failed, cb_kwargs=arguments, priority=number)

    def detail(self, response: Response, number: int, seen: Any) -> Iterator[Any]:
        yield noted({"url": response.url, "number": number, "seen": repr(seen)})

    def failed(self, failure: Any) -> Iterator[Any]:
        yield noted({"id": f"failed {failure.request.url}", "content": "There is no such page"})


class NoItems(Walker):
    """Follows links, and yields nothing else."""

    name = "no-items"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        assert isinstance(response, HtmlResponse)
        yield from response.follow_all(css="a")


class TwoItems(Walker):
    """Yields two items of each page."""

    name = "two-items"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        for output in super().parse(response, **kwargs):
            if isinstance(output, scrapy.Request):
                yield output
            else:
                yield {**output, "part": "a"}
                yield noted({"id": f"b of {response.url}", **output, "part": "b"})


class Breaks(Walker):
    """Raises on a page that says so, after its item."""

    name = "breaks"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield from super().parse(response, **kwargs)
        if b"break here" in response.body:
            raise ValueError("as it says")


class BreaksAtOnce(Walker):
    """Raises on each page that the setting BREAKS names, before it follows anything."""

    name = "breaks-at-once"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        if response.url.rpartition("/")[2] in self.settings.getlist("BREAKS"):
            raise ValueError("as it is told")
        yield from super().parse(response, **kwargs)


class Browses(Walker):
    """Asks for every page by a browser."""

    name = "browses"

    async def start(self) -> AsyncIterator[Any]:
        for url in self.start_urls:
            yield scrapy.Request(url, meta={"playwright": True}, dont_filter=True)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        for output in super().parse(response, **kwargs):
            is_request = isinstance(output, scrapy.Request)
            yield output.replace(meta={"playwright": True}) if is_request else output


class OfSitemap(SitemapSpider):
    """Yields every page of a sitemap."""

    name = "of-sitemap"
    sitemap_rules = [("", "parse_page")]  # noqa: RUF012 - as Scrapy declares it

    def __init__(self, start: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sitemap_urls = start.split()

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield noted({"url": response.url})
