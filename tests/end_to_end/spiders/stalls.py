import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response

from tests.end_to_end.spiders.pages import Pages
from tests.end_to_end.spiders.recrawls import Walker


class HeldOpen(Walker):
    """Waits for requests of somebody who never sends any."""

    name = "held-open"

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> "HeldOpen":
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        return spider

    def idle(self) -> None:
        raise DontCloseSpider


class HangsOnce(Pages):
    """Hangs for ever in a callback, once, as a file remembers."""

    name = "hangs-once"

    def __init__(self, at: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._at = at

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        flag = Path("has-hung")
        if response.url.endswith(self._at) and not flag.exists():
            flag.touch()
            while True:
                time.sleep(1)
        yield from super().parse(response, **kwargs)
