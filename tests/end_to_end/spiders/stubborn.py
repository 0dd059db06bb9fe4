"""Spiders that do what a plugin's author did not think of."""

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response

from tests.end_to_end.recorders import note, sleep
from tests.end_to_end.spiders.pages import Pages, noted


class SeveralItems(Pages):
    """Gives five items of each page, four with a number."""

    name = "several-items"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        for output in super().parse(response, **kwargs):
            if isinstance(output, dict):
                for n in range(4):
                    yield noted({**output, "id": f"{response.url} {n}", "number": n})
            yield output


class CopiesMeta(Pages):
    """Hands meta on to every request."""

    name = "copies-meta"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        for output in super().parse(response, **kwargs):
            yield output.replace(meta=response.meta) if isinstance(output, scrapy.Request) else output


class StartsSlowly(Pages):
    """Asks for its next page once the one before was stored."""

    name = "starts-slowly"

    def stored(self) -> int:
        file = Path("stored.jsonl")
        return file.read_bytes().count(b"\n") if file.exists() else 0

    async def start(self) -> AsyncIterator[Any]:
        for number, url in enumerate(self.start_urls):
            for _ in range(400):
                if self.stored() >= number:
                    break
                await sleep(0.1)
            note("asks.jsonl", {"stored": self.stored()})
            yield scrapy.Request(url, dont_filter=True)


class NeverIdle(Pages):
    """Stays open when there is nothing to do, for a while."""

    name = "never-idle"
    until = 0.0

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> "NeverIdle":
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.until = time.monotonic() + 2
        crawler.signals.connect(spider.stay, signals.spider_idle)
        return spider

    def stay(self) -> None:
        if time.monotonic() < self.until:
            raise DontCloseSpider


class ListsAndDetails(Pages):
    """Gives an item with a summary for each link, and later one of the page itself, from its errback if it fails."""

    name = "lists-and-details"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        for link in response.css("main a::attr(href)").getall():
            yield noted({"id": f"summary {link}", "url": link, "content": f"Summary of {link}"})
            yield response.follow(link, self.detail, errback=self.failed)

    def detail(self, response: Response) -> Iterator[Any]:
        yield noted({"id": f"detail {response.url}", "url": response.url, "html": response.text})

    def failed(self, failure: Any) -> Iterator[Any]:
        url = failure.value.response.url
        yield noted({"id": f"failed {url}", "url": url, "content": "There is no such page"})
