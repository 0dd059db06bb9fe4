"""Scrapy plugin that turns a crawl into clean, unique, changed-only content.

The components resolve when they are asked for, so that `scrapy_dedup.core` can be used without Scrapy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_dedup.plugin.addon import Addon, DedupExtension, Heartbeat
    from scrapy_dedup.plugin.downloader_middleware import DedupDownloaderMiddleware, RevalidationMiddleware
    from scrapy_dedup.plugin.dupefilter import Fingerprinter, StoreDupeFilter
    from scrapy_dedup.plugin.item_pipeline import DedupPipeline
    from scrapy_dedup.plugin.items import ChunkItem, DuplicateItem, PageItem
    from scrapy_dedup.plugin.memo import memo
    from scrapy_dedup.plugin.resilience.extension import ResilienceExtension
    from scrapy_dedup.plugin.resilience.stall_monitor import StallMonitor
    from scrapy_dedup.plugin.runtime import acknowledge
    from scrapy_dedup.plugin.spider_middleware import DedupSpiderMiddleware
    from scrapy_dedup.plugin.workers.queue import LeasedDupeFilter, LeasedQueue
    from scrapy_dedup.service.cleaner import Cleaner, clean

_NAMES = {
    "plugin.addon": "Addon DedupExtension Heartbeat",
    "plugin.downloader_middleware": "DedupDownloaderMiddleware RevalidationMiddleware",
    "plugin.dupefilter": "Fingerprinter StoreDupeFilter",
    "plugin.item_pipeline": "DedupPipeline",
    "plugin.items": "ChunkItem DuplicateItem PageItem",
    "plugin.memo": "memo",
    "plugin.resilience.extension": "ResilienceExtension",
    "plugin.resilience.stall_monitor": "StallMonitor",
    "plugin.runtime": "acknowledge",
    "plugin.spider_middleware": "DedupSpiderMiddleware",
    "plugin.workers.queue": "LeasedDupeFilter LeasedQueue",
    "service.cleaner": "Cleaner clean",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Addon",
    "ChunkItem",
    "Cleaner",
    "DedupDownloaderMiddleware",
    "DedupExtension",
    "DedupPipeline",
    "DedupSpiderMiddleware",
    "DuplicateItem",
    "Fingerprinter",
    "Heartbeat",
    "LeasedDupeFilter",
    "LeasedQueue",
    "PageItem",
    "ResilienceExtension",
    "RevalidationMiddleware",
    "StallMonitor",
    "StoreDupeFilter",
    "acknowledge",
    "clean",
    "memo",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"{__name__}.{_HOMES[name]}"
    if name == "Addon":
        # It comes first of all, before there is a crawl; what is imported later may find pages on their way.
        from scrapy_dedup.core.imports import imported  # noqa: PLC0415

        return imported(module).Addon
    return getattr(import_module(module), name)
