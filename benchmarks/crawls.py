"""Whole crawls of example_project in processes of their own, measured from outside."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
ON: dict[str, str] = {}
BARE = {"ADDONS": "{}"}
# Items that are not to be cleaned, so that nothing is left but knowing pages by their addresses.
URL_AND_CANONICAL = {"DEDUP_LAYERS": '{"boilerplate": false}', "DEDUP_ATTACH_RESPONSE": "False"}
_QUIET = {
    "LOG_LEVEL": "WARNING",
    "ROBOTSTXT_OBEY": "False",
    "DOWNLOAD_DELAY": "0",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "16",
    "EXTENSIONS": json.dumps({"benchmarks.stats_file.StatsFile": 0}),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One crawl."""

    cpu_seconds: float
    peak_bytes: int
    pages: int
    memory: list[tuple[int, int]] = field(default_factory=list)
    """(items so far, resident bytes)."""
    stats: dict[str, Any] = field(default_factory=dict)
    """Scrapy's, as far as they are numbers and texts."""

    @property
    def cpu_ms_a_page(self) -> float:
        """CPU milliseconds of the crawler's process, start and end included, for each page."""
        return 1000 * self.cpu_seconds / self.pages


def crawl(start: str, settings: dict[str, str], *, spider: str = "site") -> Measured:
    """Crawl in a new folder with a new store; return what the process used.

    Pages are those that gave an item.

    Raises:
        RuntimeError: the crawl failed or fetched nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        measured = crawl_in(Path(folder), start, settings, spider=spider)
    items = measured.stats.get("item_scraped_count")
    if not items:
        raise RuntimeError(f"the crawl gave no items: {measured.stats}")
    return replace(measured, pages=items)


def environment(**more: str) -> dict[str, str]:
    """Return the variables of a user's crawl, which compiles nothing: pip has done that."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | more


def crawl_in(folder: Path, start: str, settings: dict[str, str], *, spider: str = "site") -> Measured:
    """Crawl with the store of a folder, which may be there; return what the process used.

    Pages are those that were received, or that the server said were the same.

    Raises:
        RuntimeError: the crawl failed.
    """
    stats = folder / "stats.json"
    stats.unlink(missing_ok=True)
    chosen = _QUIET | {"STATS_FILE": str(stats)} | settings
    if "ADDONS" not in settings:
        chosen["DEDUP_DATABASE_URL"] = f"sqlite:///{folder}/dedup.db"
    command = [sys.executable, "-m", "scrapy", "crawl", spider, "-a", f"start={start}", "-a", "pages=0"]
    for name, value in chosen.items():
        command += ["-s", f"{name}={value}"]
    process = subprocess.Popen(command, cwd=ROOT / "example_project", env=environment(PYTHONPATH=str(ROOT)))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or not stats.exists():
        raise RuntimeError(f"the crawl failed with exit code {process.returncode}")
    figures = json.loads(stats.read_text())
    pages = sum(figures.get(f"downloader/response_status_count/{status}", 0) for status in (200, 304))
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return Measured(cpu_seconds, usage.ru_maxrss * 1024, pages, figures.pop("memory"), figures)
