"""Imports of what stays until the process ends, and how often the garbage collector looks for what does not."""

import gc
import sys
from importlib import import_module
from types import ModuleType
from typing import Final

# So many new objects start the garbage collector: after Python's 700 (or 2,000) it would look at each page many times.
# Next to none are garbage in cycles (5,000 in 1,000 pages); after 10,000 it took 0.8 ms of a page's CPU, now 0.2.
_OBJECTS: Final = 25_000


def imported(module: str) -> ModuleType:
    """Import a module, whose objects the garbage collector then leaves alone: they stay until the process ends.

    To look at them again and again, while they are made and in each crawl, would take it a tenth of a crawl's CPU, and
    an eighth of that of `scrapy dedup clean`. What is unreachable and in a cycle at that moment stays, too: some
    kilobytes, once. From then on it runs after some pages instead of several times in each, unless it is off or told to
    wait longer already.
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
