"""A Scrapy extension that leaves in a file what a page costs: CPU by step, statements of SQL, garbage collection."""

import atexit
import gc
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from scrapy.crawler import Crawler
from sqlalchemy import Engine, event

# Steps within others stand two spaces to the right: their time is in that of the step above, too.
STEPS = {
    "parse": "core.blocks.parse_page",
    "  blocks": "core.gather.Gatherer.over",
    "  what it declares": "core.metadata_declared.read_declared",
    "compare with the last visit": "core.passages.page_keys",
    "take in to learn": "service.site_learner.SiteLearner.see",
    "learn a site": "service.site_learning.learn_sample",
    "cut": "service.site_cleaning.cut_page",
    "  template": "core.templates.cut",
    "  draw": "core.render.render",
    "  metadata": "core.metadata.metadata_of",
    "facts": "service.page_facts.facts_of",
    "  shingles": "core.neardup.shingles",
    "  chunks": "service.chunking.divide",
    "ask the store": "service.others.Others.ask",
    "compare with others": "service.crawl.Crawl.compare",
    "provenance": "service.provenance.provenance",
    "commit": "service.commits.commit",
    "write": "store.writer.ProjectStore.write",
    "  pack": "store.batch.pack",
    "requests of callbacks": "plugin.spider_middleware.DedupSpiderMiddleware._passed",
}
_PACKAGE = "scrapy_dedup."


class Budget:
    """Writes BUDGET_FILE when the process ends; its own clock adds some tenths of a microsecond to each call."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._calls: Counter[str] = Counter()
        self._collecting = 0.0
        for step, path in STEPS.items():
            self._watch(step, path)
        event.listen(Engine, "before_cursor_execute", lambda *_: self._calls.update(["statements"]))
        event.listen(Engine, "commit", lambda *_: self._calls.update(["commits"]))
        gc.callbacks.append(self._collected)
        atexit.register(self._write)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Path(crawler.settings["BUDGET_FILE"]))

    def _watch(self, step: str, path: str) -> None:
        """Count a function's time, wherever it was imported to, or a method's."""
        place, _, name = (_PACKAGE + path).rpartition(".")
        module, _, kind = place.rpartition(".")
        if kind[0].isupper():
            owner = getattr(import_module(module), kind)
            setattr(owner, name, self._timed(step, getattr(owner, name)))
            return
        function = getattr(import_module(place), name)
        timed = self._timed(step, function)
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
        self._file.write_text(json.dumps({"steps": steps, "totals": totals, "counts": counts}))
