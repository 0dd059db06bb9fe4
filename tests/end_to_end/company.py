"""Pipelines, middlewares and extensions of others, before, after and around ours."""

import os
import signal
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Request, Response

from scrapy_dedup.plugin.runtime import Runtime
from tests.end_to_end.recorders import OfCrawler, note


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


class Counting(OfCrawler):
    """An extension that counts what Scrapy tells of requests."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        for told in (signals.request_scheduled, signals.request_dropped):
            crawler.signals.connect(self.count, told)

    def count(self, signal: object) -> None:
        self._crawler.stats.inc_value("told/scheduled" if signal is signals.request_scheduled else "told/dropped")


class Deadly(OfCrawler):
    """A downloader middleware: the answer for the URL in the setting DEADLY ends the process."""

    def process_response(self, request: Request, response: Response) -> Response:
        if request.url == self._crawler.settings["DEADLY"]:
            os.kill(os.getpid(), signal.SIGKILL)
        return response


STAT = "test/most_rows"


class MostRows(OfCrawler):
    """Looks at each response."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        crawler.signals.connect(self._came, signals.response_received)

    def _came(self) -> None:
        self._crawler.stats.max_value(STAT, len(Runtime.of(self._crawler).crawl.rows))


class Watcher:
    """Writes down status and headers of each response, as the middlewares above the downloader see them."""

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002 - Scrapy's signature
        headers: dict[str, Any] = {
            name.decode().lower(): [value.decode() for value in values] for name, values in response.headers.items()
        }
        note("watched.jsonl", {"url": response.url, "status": response.status, "headers": headers})
        return response


class Maker:
    """Answers some requests itself, as no server would."""

    def process_request(self, request: Request) -> Response | None:
        if not request.url.endswith("/p1"):
            return None
        return HtmlResponse(request.url, headers={"ETag": '"made"'}, body=b"<b class=price>99</b>", encoding="utf-8")
