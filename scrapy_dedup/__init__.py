"""Scrapy plugin that turns a crawl into clean, unique, changed-only content.

The components resolve when they are asked for, so that `scrapy_dedup.core` can be used without Scrapy.
"""

import gc
import sys
from importlib import import_module
from types import ModuleType
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

# So many new objects start the garbage collector: after Python's 700 (or 2,000) it would look at each page many times.
# Next to none are garbage in cycles (5,000 in 1,000 pages); after 10,000 it took 0.8 ms of a page's CPU, now 0.2.
_OBJECTS = 25_000
_HOMES = {
    "Addon": "plugin.addon",
    "ChunkItem": "plugin.items",
    "Cleaner": "service.cleaner",
    "DedupDownloaderMiddleware": "plugin.downloader_middleware",
    "DedupExtension": "plugin.addon",
    "DedupPipeline": "plugin.item_pipeline",
    "DedupSpiderMiddleware": "plugin.spider_middleware",
    "DuplicateItem": "plugin.items",
    "Fingerprinter": "plugin.dupefilter",
    "Heartbeat": "plugin.addon",
    "LeasedDupeFilter": "plugin.workers.queue",
    "LeasedQueue": "plugin.workers.queue",
    "PageItem": "plugin.items",
    "ResilienceExtension": "plugin.resilience.extension",
    "RevalidationMiddleware": "plugin.downloader_middleware",
    "StallMonitor": "plugin.resilience.stall_monitor",
    "StoreDupeFilter": "plugin.dupefilter",
    "acknowledge": "plugin.runtime",
    "clean": "service.cleaner",
    "memo": "plugin.memo",
}

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
    # The add-on comes first of all, before there is a crawl; what is imported later may find pages on their way.
    return getattr(_imported(module) if name == "Addon" else import_module(module), name)


def _imported(module: str) -> ModuleType:
    """Import a module, whose objects the garbage collector then leaves alone: they stay until the process ends.

    To look at them again and again, while they are made and in each crawl, would take it a tenth of a crawl's CPU. What
    is unreachable and in a cycle at that moment stays, too: some kilobytes, once. From then on it runs after some pages
    instead of several times in each, unless it is off or told to wait longer already.
    """
    if module in sys.modules:
        return sys.modules[module]
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        gc.freeze()
        young, *older = gc.get_threshold()
        if young:
            gc.set_threshold(max(young, _OBJECTS), *older)
        if collects:
            gc.enable()
