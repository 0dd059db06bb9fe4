"""Scrapy plugin that turns a crawl into clean, unique, changed-only content.

The components resolve when they are asked for, so that `scrapy_dedup.core` can be used without Scrapy.
"""

import gc
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_dedup.plugin.addon import Addon
    from scrapy_dedup.plugin.chunk_items import ChunkItem
    from scrapy_dedup.plugin.downloader_middleware import DedupDownloaderMiddleware
    from scrapy_dedup.plugin.dupefilter import StoreDupeFilter
    from scrapy_dedup.plugin.extension import DedupExtension
    from scrapy_dedup.plugin.fingerprinter import Fingerprinter
    from scrapy_dedup.plugin.heartbeat import Heartbeat
    from scrapy_dedup.plugin.item_pipeline import DedupPipeline, DuplicateItem
    from scrapy_dedup.plugin.items import PageItem
    from scrapy_dedup.plugin.leased_queue import LeasedDupeFilter, LeasedQueue
    from scrapy_dedup.plugin.memo import memo
    from scrapy_dedup.plugin.resilience_extension import ResilienceExtension
    from scrapy_dedup.plugin.revalidation import RevalidationMiddleware
    from scrapy_dedup.plugin.runtime import acknowledge
    from scrapy_dedup.plugin.spider_middleware import DedupSpiderMiddleware
    from scrapy_dedup.plugin.stall_monitor import StallMonitor

_HOMES = {
    "Addon": "addon",
    "ChunkItem": "chunk_items",
    "DedupDownloaderMiddleware": "downloader_middleware",
    "DedupExtension": "extension",
    "DedupPipeline": "item_pipeline",
    "DedupSpiderMiddleware": "spider_middleware",
    "DuplicateItem": "item_pipeline",
    "Fingerprinter": "fingerprinter",
    "Heartbeat": "heartbeat",
    "LeasedDupeFilter": "leased_queue",
    "LeasedQueue": "leased_queue",
    "PageItem": "items",
    "ResilienceExtension": "resilience_extension",
    "RevalidationMiddleware": "revalidation",
    "StallMonitor": "stall_monitor",
    "StoreDupeFilter": "dupefilter",
    "acknowledge": "runtime",
    "memo": "memo",
}

__all__ = [
    "Addon",
    "ChunkItem",
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
    "memo",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_imported(f"{__name__}.plugin.{_HOMES[name]}"), name)


def _imported(module: str) -> ModuleType:
    """Import a module, whose objects the garbage collector then leaves alone: they stay until the process ends.

    To look at them again and again, while they are made and in each crawl, would take it a tenth of a crawl's CPU.
    """
    if module in sys.modules:
        return sys.modules[module]
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        gc.freeze()
        if collects:
            gc.enable()
