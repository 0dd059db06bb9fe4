"""A Scrapy extension that leaves in a file what a page costs: CPU by step, statements of SQL, garbage collection."""

import asyncio
import atexit
import gc
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from sqlalchemy import Engine, event
from twisted.internet.task import LoopingCall

from scrapy_dedup.core.duplicates import shingles
from scrapy_dedup.core.metadata import metadata_of
from scrapy_dedup.core.pages.blocks import parse_page
from scrapy_dedup.core.pages.declared import read_declared
from scrapy_dedup.core.pages.gather import Gatherer
from scrapy_dedup.core.pages.render import render
from scrapy_dedup.core.recrawl.verdicts import page_keys
from scrapy_dedup.core.templates.templates import cut
from scrapy_dedup.plugin.spider_middleware import DedupSpiderMiddleware
from scrapy_dedup.service.crawl.commits import commit
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.service.crawl.drafts import provenance
from scrapy_dedup.service.cut.site_cleaning import cut_page
from scrapy_dedup.service.duplicates.chunking import divide
from scrapy_dedup.service.duplicates.index import DuplicateIndex
from scrapy_dedup.service.duplicates.page_facts import facts_of
from scrapy_dedup.service.learning import SiteLearner
from scrapy_dedup.service.templates.site_knowledge import learn_sample
from scrapy_dedup.store.records.batch import pack
from scrapy_dedup.store.writer import ProjectStore

# Steps within others stand two spaces to the right: their time is in that of the step above, too.
STEPS: dict[str, Callable[..., Any]] = {
    "parse": parse_page,
    "  blocks": Gatherer.over,
    "  what it declares": read_declared,
    "compare with the last visit": page_keys,
    "take in to learn": SiteLearner.see,
    "learn a site": learn_sample,
    "cut": cut_page,
    "  template": cut,
    "  draw": render,
    "  metadata": metadata_of,
    "facts": facts_of,
    "  shingles": shingles,
    "  chunks": divide,
    "ask the store": DuplicateIndex.ask,
    "compare with others": Crawl.compare,
    "provenance": provenance,
    "commit": commit,
    "write": ProjectStore.write,
    "  pack": pack,
    "requests of callbacks": DedupSpiderMiddleware._passed,  # noqa: SLF001
}
_PACKAGE = "scrapy_dedup."
_TICK_SECONDS = 0.01


class Budget:
    """Writes BUDGET_FILE when the process ends; its own clock adds some tenths of a microsecond to each call."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._calls: Counter[str] = Counter()
        self._collecting = 0.0
        for step, function in STEPS.items():
            self._watch(step, function)
        event.listen(Engine, "before_cursor_execute", lambda *_: self._calls.update(["statements"]))
        event.listen(Engine, "commit", lambda *_: self._calls.update(["commits"]))
        gc.callbacks.append(self._collected)
        self._on_reactor: list[float] = []
        """CPU seconds of each of its turns, Scrapy's and the spider's work included."""
        self._late: list[float] = []
        """Seconds by which each call of a timer comes late."""
        self._ticked = time.perf_counter()
        asyncio.Handle._run = self._on_turn(asyncio.Handle._run)  # type: ignore[method-assign,assignment] # noqa: SLF001
        atexit.register(self._write)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        budget = cls(Path(crawler.settings["BUDGET_FILE"]))
        crawler.signals.connect(budget.opened, signals.spider_opened)
        return budget

    def opened(self) -> None:
        """Start the timer."""
        self._ticked = time.perf_counter()
        LoopingCall(self._tick).start(_TICK_SECONDS, now=False)

    def _tick(self) -> None:
        now = time.perf_counter()
        self._late.append(now - self._ticked - _TICK_SECONDS)
        self._ticked = now

    def _on_turn(self, run: Callable[[asyncio.Handle], None]) -> Callable[[asyncio.Handle], None]:
        def timed(handle: asyncio.Handle) -> None:
            begun = time.thread_time()
            run(handle)
            self._on_reactor.append(time.thread_time() - begun)

        return timed

    def _watch(self, step: str, function: Callable[..., Any]) -> None:
        """Count a function's time, wherever it was imported to, or a method's."""
        timed = self._timed(step, function)
        kind, _, name = function.__qualname__.rpartition(".")
        if kind:
            setattr(getattr(sys.modules[function.__module__], kind), name, timed)
            return
        for module_name, loaded in list(sys.modules.items()):
            if module_name.startswith(_PACKAGE) and vars(loaded).get(name) is function:
                setattr(loaded, name, timed)

    def _timed(self, step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            begun = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self._seconds[step] += time.thread_time() - begun
                self._calls[step] += 1

        return timed

    def _collected(self, phase: str, _: dict[str, int]) -> None:
        self._collecting += time.thread_time() * (-1 if phase == "start" else 1)

    def _write(self) -> None:
        steps = {step: (self._seconds[step], self._calls[step]) for step in STEPS}
        totals = {
            "process": time.process_time(),
            "reactor's thread": time.thread_time(),
            "garbage collector": self._collecting,
        }
        counts = {name: self._calls[name] for name in ("statements", "commits")}
        longest = {"turn of the reactor, CPU": _longest(self._on_reactor), "timer late by": _longest(self._late)}
        self._file.write_text(json.dumps({"steps": steps, "totals": totals, "counts": counts, "longest": longest}))


def _longest(seconds: list[float]) -> tuple[float, float]:
    """Return the 99.9th percentile, and the most."""
    ordered = sorted(seconds) or [0.0]
    return ordered[int(0.999 * (len(ordered) - 1))], ordered[-1]
