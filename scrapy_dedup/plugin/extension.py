"""Opens the runtime, and tells how it stands: a console by figures, a supervisor by a file that is touched."""

import logging
import os
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import call_later

from scrapy_dedup.plugin.crawl.overrides import settings_of
from scrapy_dedup.plugin.runtime import Runtime


class DedupExtension:
    """`crawler.get_extension(DedupExtension).status()` is for consoles and other extensions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the store before the first request; raises NotConfigured where the plugin is off."""
        return cls(Runtime.of(crawler))

    def status(self) -> dict[str, Any]:
        """Return figures of the running crawl."""
        runtime = self._runtime
        return {
            "project": runtime.crawl.store.name,
            "run": str(runtime.crawl.run.id),
            "pages": len(runtime.crawl.given),
            "parked_pages": len(runtime.lot),
            "parked_bytes": runtime.lot.size_bytes,
            "known_domains": sorted({learner.domain for learner in runtime.crawl.learners.values() if learner.known}),
            "rows_waiting": len(runtime.crawl.rows),
        }


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
