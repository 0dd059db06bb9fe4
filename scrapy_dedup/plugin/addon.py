"""The one line in a project's settings, ADDONS = {"scrapy_dedup.Addon": 700}, and the extensions that it switches on.

One opens the store, one lets a supervisor know that the crawl lives, by a file that is touched.
"""

# Before all of ours: it looks through every loaded module for each class that it declares deprecated.
import scrapy.core.downloader.contextfactory  # noqa: F401

# isort: split
import logging
import os
from pathlib import Path
from typing import Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import call_later

from scrapy_dedup.plugin.downloader_middleware import DedupDownloaderMiddleware, RevalidationMiddleware
from scrapy_dedup.plugin.dupefilter import Fingerprinter
from scrapy_dedup.plugin.item_pipeline import DedupPipeline
from scrapy_dedup.plugin.overrides import only_shows, settings_of, told
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.spider_middleware import DedupSpiderMiddleware
from scrapy_dedup.settings import Settings


class DedupExtension:
    """Opens the store before the first request."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open it; raises NotConfigured where the plugin is off."""
        Runtime.of(crawler)
        return cls()


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
        try:
            self._file.touch()
        except OSError as error:
            logger.warning("The supervisor's file cannot be touched, it will take this crawl for hung: %s", error)
        else:
            call_later(BEAT_SECONDS, self.beat)


# Below decompression (590), redirects (600) and retries (550): the response is final there.
DOWNLOADER_MIDDLEWARE_ORDER = 545
# Next to the downloader, above the HTTP cache's 900: what others see is a page, never a 304.
REVALIDATION_ORDER = 950
# Next to the spider: it sees the requests of a callback before depth and referer are added.
SPIDER_MIDDLEWARE_ORDER = 950
# After validation, before storage.
ITEM_PIPELINE_ORDER = 350
EXTENSION_ORDER = 100
RESILIENCE_ORDER = 110
STALL_MONITOR_ORDER = 120
# Before all else: its first beat is the first thing that a spider's opening does.
HEARTBEAT_ORDER = 1


class Addon:
    """Switches all components on; each of them can also be set by hand."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components where the project has not placed them itself."""
        with told():
            ours = Settings.read(settings)
        if not ours.enabled or only_shows():
            return
        components: list[tuple[str, type, int]] = [
            ("DOWNLOADER_MIDDLEWARES", DedupDownloaderMiddleware, DOWNLOADER_MIDDLEWARE_ORDER),
            ("DOWNLOADER_MIDDLEWARES", RevalidationMiddleware, REVALIDATION_ORDER),
            ("SPIDER_MIDDLEWARES", DedupSpiderMiddleware, SPIDER_MIDDLEWARE_ORDER),
            ("ITEM_PIPELINES", DedupPipeline, ITEM_PIPELINE_ORDER),
            ("EXTENSIONS", DedupExtension, EXTENSION_ORDER),
            ("EXTENSIONS", Heartbeat, HEARTBEAT_ORDER),
        ]
        if ours.resilience_enabled:
            from scrapy_dedup.plugin.resilience.extension import ResilienceExtension  # noqa: PLC0415 (few crawls)
            from scrapy_dedup.plugin.resilience.stall_monitor import StallMonitor  # noqa: PLC0415

            components.append(("EXTENSIONS", ResilienceExtension, RESILIENCE_ORDER))
            components.append(("EXTENSIONS", StallMonitor, STALL_MONITOR_ORDER))
        for setting, component, order in components:
            settings.setdefault_in_component_priority_dict(setting, component, order)
        replaced = settings.get("REQUEST_FINGERPRINTER_CLASS")
        if replaced not in (Fingerprinter, "scrapy_dedup.Fingerprinter"):
            settings.set("DEDUP_FALLBACK_REQUEST_FINGERPRINTER_CLASS", replaced, priority="addon")
            # In the place of the one that the user or an add-on set.
            priority = max(_ADDON_PRIORITY, settings.getpriority("REQUEST_FINGERPRINTER_CLASS") or 0)
            settings.set("REQUEST_FINGERPRINTER_CLASS", Fingerprinter, priority=priority)


_ADDON_PRIORITY = 15
