"""Pipelines and middlewares of others, before and after ours."""

from collections.abc import AsyncIterator
from itertools import count
from typing import Any, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import Response

from tests.end_to_end.recorders import note, sleep


class Replacing:
    """Hands on a new object."""

    def process_item(self, item: Any) -> Any:
        return dict(item)


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


class Dropping(Every):
    """Drops every third item."""

    def process_item(self, item: Any) -> Any:
        if self.is_third():
            raise DropItem("every third one")
        return item


class Raising(Every):
    """Fails at every third item."""

    def process_item(self, item: Any) -> Any:
        if self.is_third():
            raise ValueError("every third one")
        return item


class Slow:
    """Takes its time."""

    async def process_item(self, item: Any) -> Any:
        await sleep(0.2)
        return item


class Filtering(Every):
    """A spider middleware between ours and the engine, which keeps every third item to itself."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:  # noqa: ARG002 - Scrapy's signature
        async for output in result:
            if isinstance(output, dict) and self.is_third():
                note("dropped.jsonl", {"id": output["url"], "kind": "Filtered", "reason": "every third one"})
            else:
                yield output


class Rewriting:
    """A downloader middleware that hands on another response than it was given."""

    def process_response(self, request: Any, response: Response) -> Response:  # noqa: ARG002 - Scrapy's signature
        return response.replace(body=response.body.replace(b"</main>", b"<p>rewritten</p></main>"))


class Renewing:
    """A spider middleware between ours and the engine, which has every link of a hub fetched anew."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in result:
            is_again = isinstance(output, Request) and response.url.endswith("/hub") and response.meta.get("depth") == 1
            yield output.replace(dont_filter=True) if is_again else output


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
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value("told/scheduled" if signal is signals.request_scheduled else "told/dropped")
