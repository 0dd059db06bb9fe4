"""A Scrapy extension that leaves a crawl's figures in a file, and how its memory grew."""

import json
from pathlib import Path
from typing import Self

import psutil
from scrapy import signals
from scrapy.crawler import Crawler


class StatsFile:
    """Writes STATS_FILE at the end; notes resident memory every 1,000 items."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._items = 0
        self._memory: list[tuple[int, int]] = []
        self._process = psutil.Process()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.item_scraped, signals.item_scraped)
        crawler.signals.connect(extension.engine_stopped, signals.engine_stopped)
        return extension

    def item_scraped(self) -> None:
        self._items += 1
        if self._items % 1000 == 0:
            self._memory.append((self._items, self._process.memory_info().rss))

    def engine_stopped(self) -> None:
        stats = {key: value for key, value in self._crawler.stats.get_stats().items() if isinstance(value, int | str)}
        Path(self._crawler.settings["STATS_FILE"]).write_text(json.dumps(stats | {"memory": self._memory}))
