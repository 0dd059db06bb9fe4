"""Spiders for crawls in subprocesses. Each writes down what its callbacks yield, before it yields."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.exceptions import CloseSpider
from scrapy.http import Response, TextResponse
from scrapy_redis.spiders import RedisSpider

from tests.end_to_end.recorders import name_of, note


def noted(item: Any) -> Any:
    note("yielded.jsonl", {"id": name_of(item)})
    return item


class FromStart(scrapy.Spider):
    """Asks for the pages that `-a start=` names."""

    start_urls: list[str]

    def __init__(self, start: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = start.split()


class Filtered(FromStart):
    """Unlike with Scrapy's own start, a link back to one of these pages brings no second visit."""

    async def start(self) -> AsyncIterator[Any]:
        for url in self.start_urls:
            yield scrapy.Request(url)


class Pages(Filtered):
    """Follows every link and yields every page that is no hub.

    `-a close_after=N` stops in a callback, `-a break_on=NAME` breaks that of a page, `-a section=NAME` is a field.
    """

    name = "pages"

    def __init__(self, close_after: str = "0", break_on: str = "", section: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.fields = {"section": section} if section else {}
        self.close_after = int(close_after)
        self.break_on = break_on
        self.pages = 0

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        if self.break_on and response.url.endswith(f"/{self.break_on}"):
            raise RuntimeError("broken")
        if not response.url.endswith("/hub"):
            yield noted({"url": response.url, "html": response.text, **self.fields})
        for link in response.css("main a::attr(href)").getall():
            yield response.follow(link)
        self.pages += 1
        if self.pages == self.close_after:
            raise CloseSpider("enough")


class Priced(Pages):
    """Reads a price that no reader sees."""

    name = "priced"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted({"url": response.url, "html": response.text, "price": response.css("main::attr(data-price)").get()})


class Offers(Pages):
    """Yields an item for each offer of a page, and no text."""

    name = "offers"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        for price in response.css("[data-price]::attr(data-price)").getall():
            yield noted({"url": response.url, "price": price})


class InOrder(scrapy.Spider):
    """Asks for one page after the other and follows no links."""

    name = "in-order"

    def __init__(self, start: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.waiting = start.split()[::-1]

    async def start(self) -> Any:
        yield scrapy.Request(self.waiting.pop())

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted({"url": response.url, "html": response.text})
        if self.waiting:
            yield scrapy.Request(self.waiting.pop())


class Everything(Filtered):
    """Yields every page and follows every link; `-a links=CSS` follows some."""

    name = "everything"

    def __init__(self, links: str = "a", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.links = links

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        if isinstance(response, TextResponse):
            yield noted({"url": response.url, "html": response.text})
            yield from (response.follow(link) for link in response.css(f"{self.links}::attr(href)").getall())


class Hospital(Filtered):
    """Yields an item for each response; what it contains is left to the plugin."""

    name = "hospital"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted({"url": response.url})


class Fed(RedisSpider):  # type: ignore[misc]
    """Yields every page that is no hub and follows its links, until nobody feeds it for two seconds."""

    name = "fed"
    max_idle_time = 2

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        if not response.url.endswith("/hub"):
            yield noted({"url": response.url, "html": response.text})
        for link in response.css("main a::attr(href)").getall():
            yield response.follow(link)
