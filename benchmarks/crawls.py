"""Whole crawls of example_project in processes of their own, measured from outside."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

EXAMPLE_PROJECT = Path(__file__).parent.parent / "example_project"
ON: dict[str, str] = {}
BARE = {"ADDONS": "{}"}
URL_AND_CANONICAL = {"DEDUP_BOILERPLATE_ENABLED": "False", "DEDUP_ATTACH_RESPONSE": "False"}


@dataclass(frozen=True, slots=True)
class Measured:
    """One crawl."""

    cpu_seconds: float
    peak_bytes: int
    pages: int

    @property
    def cpu_ms_a_page(self) -> float:
        """CPU milliseconds of the crawler's process, start and end included, for each page."""
        return 1000 * self.cpu_seconds / self.pages


def crawl(start: str, settings: dict[str, str], *, spider: str = "site") -> Measured:
    """Crawl in a new folder with a new store; return what the process used.

    Raises:
        RuntimeError: the crawl failed or fetched nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        stats = Path(folder) / "stats.json"
        settings = {
            "LOG_LEVEL": "WARNING",
            "ROBOTSTXT_OBEY": "False",
            "CONCURRENT_REQUESTS_PER_DOMAIN": "16",
            "DEDUP_DATABASE_URL": f"sqlite:///{folder}/dedup.db",
            "EXTENSIONS": json.dumps({"benchmarks.stats_file.StatsFile": 0}),
            "STATS_FILE": str(stats),
        } | settings
        if "ADDONS" in settings:
            settings = {name: value for name, value in settings.items() if not name.startswith("DEDUP_")}
        command = [sys.executable, "-m", "scrapy", "crawl", spider, "-a", f"start={start}", "-a", "pages=0"]
        for name, value in settings.items():
            command += ["-s", f"{name}={value}"]
        environment = os.environ | {"PYTHONPATH": str(EXAMPLE_PROJECT.parent)}
        process = subprocess.Popen(command, cwd=EXAMPLE_PROJECT, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode or not stats.exists():
            raise RuntimeError(f"the crawl failed with exit code {process.returncode}")
        return _measured(usage, json.loads(stats.read_text()))


def _measured(usage: resource.struct_rusage, stats: dict[str, int]) -> Measured:
    pages = stats.get("item_scraped_count", 0)
    if not pages:
        raise RuntimeError(f"the crawl gave no items: {stats}")
    return Measured(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, pages)
