"""Pipelines and middlewares of others, before and after ours."""

from collections.abc import AsyncIterator
from itertools import count
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from tests.end_to_end.recorders import note


class Renaming:
    """Changes the URL by which an item was known."""

    def process_item(self, item: Any) -> Any:
        item["id"] = item["url"]
        item["url"] = "changed"
        return item


class Every:
    def __init__(self) -> None:
        self._numbers = count()

    def is_third(self) -> bool:
        return next(self._numbers) % 3 == 0


class Filtering(Every):
    """A spider middleware between ours and the engine, which keeps every third item to itself."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:  # noqa: ARG002 - Scrapy's signature
        async for output in result:
            if isinstance(output, dict) and self.is_third():
                note("dropped.jsonl", {"id": output["url"], "kind": "Filtered", "reason": "every third one"})
            else:
                yield output


class Counting:
    """An extension that counts what Scrapy tells of requests."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        for signal in (signals.request_scheduled, signals.request_dropped):
            crawler.signals.connect(self.count, signal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def count(self, signal: object) -> None:
        self._crawler.stats.inc_value("told/scheduled" if signal is signals.request_scheduled else "told/dropped")
