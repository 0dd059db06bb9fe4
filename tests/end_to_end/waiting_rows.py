"""An extension that notes how many rows wait for the store at most."""

from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler

from scrapy_dedup.plugin.runtime import Runtime

STAT = "test/most_rows"


class MostRows:
    """Looks at each response."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        crawler.signals.connect(self._came, signals.response_received)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _came(self) -> None:
        self._crawler.stats.max_value(STAT, len(Runtime.of(self._crawler).crawl.rows))
