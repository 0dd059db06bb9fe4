"""What is killed: a spider, and its user's two ways to keep items."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response


class KilledSpider(Spider):
    """Crawls a site that is made for this: -a start=URL."""

    name = "killed"

    def __init__(self, *, start: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [start]

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        """Yield the page with its version, and its links."""
        if not isinstance(response, HtmlResponse):
            return
        links = [Request(response.urljoin(href)) for href in response.css(".link a::attr(href)").getall()]
        # A callback may yield them in any order.
        yield from links[:1]
        yield {"url": response.url, "version": int(response.css("meta[name=version]::attr(content)").get("-1"))}
        yield from links[1:]


class WritesThrough:
    """A pipeline that has every item on the disk before it goes on, in the file ARRIVED."""

    def __init__(self, crawler: Crawler) -> None:
        self._seconds = crawler.settings.getfloat("ARRIVING_SECONDS")
        self._file = os.open(crawler.settings["ARRIVED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(self._seconds)
        # A line that a kill has cut off must not spoil the next.
        os.write(self._file, f"\n{json.dumps(item)}\n".encode())
        os.fsync(self._file)
        return item


class StoredFeeds:
    """Writes down which feeds were stored, in the file STORED_FEEDS: only what is in these has arrived."""

    def __init__(self, crawler: Crawler) -> None:
        self._path = Path(crawler.settings["STORED_FEEDS"])
        crawler.signals.connect(self.feed_slot_closed, signals.feed_slot_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def feed_slot_closed(self, slot: Any) -> None:
        with self._path.open("a") as lines:
            lines.write(slot.storage.path + "\n")
