"""The one line in a project's settings: ADDONS = {"scrapy_dedup.Addon": 700}."""

# Before all of ours: it looks through every loaded module for each class that it declares deprecated.
import scrapy.core.downloader.contextfactory  # noqa: F401
from scrapy.settings import BaseSettings

from scrapy_dedup.plugin.crawl.overrides import only_shows, told
from scrapy_dedup.plugin.downloader_middleware import DedupDownloaderMiddleware
from scrapy_dedup.plugin.extension import DedupExtension, Heartbeat
from scrapy_dedup.plugin.fingerprinter import Fingerprinter
from scrapy_dedup.plugin.item_pipeline import DedupPipeline
from scrapy_dedup.plugin.revalidation import RevalidationMiddleware
from scrapy_dedup.plugin.spider_middleware import DedupSpiderMiddleware
from scrapy_dedup.settings import Settings

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
            settings.set("REQUEST_FINGERPRINTER_CLASS", Fingerprinter, priority=_priority(settings))


_ADDON_PRIORITY = 15


def _priority(settings: BaseSettings) -> int:
    """Return the priority with which the fingerprinter takes the place of the one that the user or an add-on set."""
    return max(_ADDON_PRIORITY, settings.getpriority("REQUEST_FINGERPRINTER_CLASS") or 0)
