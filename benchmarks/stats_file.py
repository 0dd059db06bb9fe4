"""A Scrapy extension that leaves a crawl's figures in a file, and how its memory grew."""

import json
import os
from pathlib import Path
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler

ITEMS_BETWEEN_LOOKS = 500


class StatsFile:
    """Writes STATS_FILE at the end; notes resident memory as items come."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._items = 0
        self._memory: list[tuple[int, int]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.item_scraped, signals.item_scraped)
        crawler.signals.connect(extension.engine_stopped, signals.engine_stopped)
        return extension

    def item_scraped(self) -> None:
        self._items += 1
        if self._items % ITEMS_BETWEEN_LOOKS == 0:
            self._memory.append((self._items, _resident_bytes()))

    def engine_stopped(self) -> None:
        stats = {
            key: value for key, value in self._crawler.stats.get_stats().items() if isinstance(value, int | float | str)
        }
        Path(self._crawler.settings["STATS_FILE"]).write_text(json.dumps(stats | {"memory": self._memory}))


def _resident_bytes() -> int:
    """Linux only, as the benchmark that reads it."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
