"""Scrapy projects in a folder of their own, crawled by `scrapy crawl` in a subprocess, and what came of it."""

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.warm import WarmProcess, start_scrapy

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 180
"""A crawl of these tests takes seconds, and a minute where ten others want each processor; beyond it hangs."""

ADDON = {"ADDONS": {"scrapy_dedup.Addon": 700}}
BASE: dict[str, Any] = {
    "SPIDER_MODULES": ["tests.end_to_end.spiders"],
    "EXTENSIONS": {"tests.end_to_end.recorders.Ledger": 0},
    "ITEM_PIPELINES": {"tests.end_to_end.recorders.Storage": 800},
    "FEEDS": {"feed.jsonl": {"format": "jsonlines"}},
    "LOG_LEVEL": "INFO",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
}
Lines = list[dict[str, Any]]


def lines_of(path: Path) -> Lines:
    """Return what a ledger holds; one that is being written may end in half a line."""
    if not path.exists():
        return []
    whole = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
    return [json.loads(line) for line in whole]


def cut_half_line(path: Path) -> None:
    """Cut off what a killed crawl had begun to write, or the next crawl's first line would be joined to it."""
    if path.exists():
        written = path.read_bytes()
        os.truncate(path, written.rfind(b"\n") + 1)


@dataclass
class Crawled:
    """What one process left behind."""

    exit_code: int
    log: str
    yielded: list[str]
    stored: Lines
    fed: Lines
    dropped: Lines
    failed: list[str]
    stats: dict[str, Any]

    def count(self, name: str) -> int:
        """Return a stat of ours, 0 where it is not there."""
        return int(self.stats.get(f"dedup/{name}", 0))

    def sum(self, prefix: str) -> int:
        """Return the sum of all our stats under a prefix."""
        return sum(value for name, value in self.stats.items() if name.startswith(f"dedup/{prefix}"))

    @property
    def errors(self) -> list[str]:
        return re.findall("^(?:.* (?:ERROR|CRITICAL): (?s:.*)|Traceback (?s:.*))", self.log, re.MULTILINE)

    @property
    def stored_ids(self) -> list[str]:
        return [line["id"] for line in self.stored]

    @property
    def reports(self) -> dict[str, dict[str, Any]]:
        """What the storage found in the field `dedup`, by id."""
        return {line["id"]: line["report"] for line in self.stored}

    @property
    def items(self) -> dict[str, dict[str, Any]]:
        return {item.get("id") or item["url"]: item for item in self.fed}


@dataclass
class Project:
    """A Scrapy project; its store is `.scrapy/dedup.db`, as for every user."""

    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n", encoding="utf-8")

    def crawl(self, spider: str, *arguments: str, clean: bool = True, **settings: Any) -> Crawled:
        """Crawl to the end and return what this process did.

        Args:
            spider: its name.
            arguments: further ones for the command line.
            clean: whether the log must be free of errors, and every item accounted for.
            settings: over those of the project.
        """
        running = self.start(spider, *arguments, **settings)
        crawled = running.finish()
        if clean:
            assert crawled.errors == []
            assert crawled.exit_code == 0
            all_accounted_for(crawled)
        return crawled

    def start(self, spider: str, *arguments: str, **settings: Any) -> "Running":
        lines = [f"{name} = {value!r}" for name, value in {**BASE, **self.settings, **settings}.items()]
        (self.folder / "project_settings.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (self.folder / "stats.json").unlink(missing_ok=True)
        # Settings change faster than the clock of a file system, by which Python knows that byte code is old.
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        for name in _LEDGERS:
            cut_half_line(self.folder / f"{name}.jsonl")
        before = {name: len(lines_of(self.folder / f"{name}.jsonl")) for name in _LEDGERS}
        log = self.folder / "log.txt"
        log.unlink(missing_ok=True)
        process = start_scrapy(["crawl", spider, *arguments], self.folder, environment, stdout=log, stderr=log)
        return Running(self.folder, process, before)


_LEDGERS = ("yielded", "stored", "feed", "dropped", "failed")


@dataclass
class Running:
    """A crawl under way."""

    folder: Path
    process: WarmProcess
    before: dict[str, int]

    def send_when(self, number: signal.Signals, stored: int) -> None:
        """Send a signal when this process has stored some items."""
        self.wait_for(lambda: len(lines_of(self.folder / "stored.jsonl")) >= self.before["stored"] + stored)
        self.process.send_signal(number)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < until, f"waited in vain: {self.log()[-3000:]}"
            assert self.process.poll() is None, f"the crawl has ended: {self.log()[-3000:]}"
            time.sleep(0.01)

    def log(self) -> str:
        return (self.folder / "log.txt").read_text(encoding="utf-8", errors="replace")

    def finish(self) -> Crawled:
        """Wait for the end; a crawl that hangs is killed, and the test fails."""
        try:
            exit_code = self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the crawl hangs: {self.log()[-3000:]}") from None
        new = {name: lines_of(self.folder / f"{name}.jsonl")[skip:] for name, skip in self.before.items()}
        stats = self.folder / "stats.json"
        return Crawled(
            exit_code=exit_code,
            log=self.log(),
            yielded=[line["id"] for line in new["yielded"]],
            stored=new["stored"],
            fed=new["feed"],
            dropped=new["dropped"],
            failed=[line["id"] for line in new["failed"]],
            stats=json.loads(stats.read_text(encoding="utf-8")) if stats.exists() else {},
        )


def is_from_the_store(report: dict[str, Any]) -> bool:
    """Say whether an item with this report was made by the plugin."""
    return bool(report.get("refined")) or report.get("verdict") == "removed"


def all_accounted_for(crawled: Crawled) -> None:
    """Check the first rule: every item that a callback yielded was stored once, or dropped with a reason, or failed.

    Where kept outcomes stand in, more comes out than callbacks yielded.
    """
    made = [line["id"] for line in crawled.stored if not is_from_the_store(line["report"])]
    left = Counter(made) + Counter(line["id"] for line in crawled.dropped) + Counter(crawled.failed)
    left_out = Counter(crawled.yielded) - left
    if not crawled.count("reuse/callbacks_saved"):
        assert left - Counter(crawled.yielded) == Counter()
    assert left_out.total() == sum(crawled.count(f"{why}/items") for why in ("soft_404", "directives"))
    assert [line["id"] for line in crawled.dropped if not line["reason"]] == []
    if "dedup/items/in" in crawled.stats:
        went = crawled.count("items/out") + crawled.count("items/dropped") + crawled.sum("left/")
        went += crawled.count("items/tombstones")
        assert went + crawled.sum("errors/") == crawled.count("items/in")
    assert crawled.stats.get("left_behind", 0) == 0
    if crawled.fed:
        assert len(crawled.fed) == len(crawled.stored)
