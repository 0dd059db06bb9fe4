"""One of many crawlers, as a process: `python -m benchmarks.shared_spider SETTINGS.json`."""

import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.http import HtmlResponse, Response

from scrapy_dedup.core.pages.fingerprints import content_hash

_LINK = re.compile(r'<a href="([^"]*)"')
_NUMBER = re.compile(r'data-number="(\d+)"')


class SharedSpider(Spider):
    """Crawls `benchmarks.shared_site`: -a start=URL."""

    name = "shared"

    def __init__(self, *, start: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._start = start

    async def start(self) -> AsyncIterator[Any]:
        """Ask for the first page as for any other: the menu of each page leads to it."""
        yield Request(self._start)

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        """Yield the page with its number, and its links."""
        if isinstance(response, HtmlResponse) and (number := _NUMBER.search(response.text)):
            yield {"url": response.url, "number": int(number[1])}
            for href in _LINK.findall(response.text):
                yield Request(response.urljoin(href))


class Appends:
    """A pipeline that has every item in the file ARRIVED before it goes on."""

    def __init__(self, crawler: Crawler) -> None:
        self._file = os.open(crawler.settings["ARRIVED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        line = {
            "url": item["url"],
            "number": item["number"],
            "page_key": item["dedup"]["page_key"],
            "text": content_hash(item["cleaned_content"]).hex(),
            "at": time.time(),
        }
        # A line that a kill has cut off must not spoil the next.
        os.write(self._file, f"\n{json.dumps(line)}\n".encode())
        return item


def main() -> None:
    """Crawl as the file says, and end with 1 where the crawl could not begin."""
    chosen = json.loads(Path(sys.argv[1]).read_text())
    process = CrawlerProcess(chosen["settings"])
    process.crawl(SharedSpider, start=chosen["start"])
    process.start()
    sys.exit(int(process.bootstrap_failed))


if __name__ == "__main__":
    main()
