"""Shows a supervisor that the reactor turns: a file that is touched every second."""

import logging
import os
from pathlib import Path
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import call_later

from scrapy_dedup.plugin.crawl.overrides import settings_of

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
VARIABLE = "DEDUP_HEARTBEAT"
"""Of the environment; `scrapy dedup supervise` sets it."""


class Heartbeat:
    """Beats from the reactor, so that one that hangs is silent; to the end of the process, which may take its time."""

    def __init__(self, crawler: Crawler, file: Path) -> None:
        self._file = file
        # The supervisor counts from the first beat on: a store that takes its time to open must not look hung.
        crawler.signals.connect(self.beat, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where there is no supervisor, or the plugin is off."""
        file = os.environ.get(VARIABLE)
        if not file or not settings_of(crawler).enabled:
            raise NotConfigured
        return cls(crawler, Path(file))

    def beat(self) -> None:
        """Touch the file now and every second."""
        if self._touch():
            call_later(BEAT_SECONDS, self.beat)

    def _touch(self) -> bool:
        try:
            self._file.touch()
        except OSError as error:
            logger.warning("The supervisor's file cannot be touched, it will take this crawl for hung: %s", error)
            return False
        return True
