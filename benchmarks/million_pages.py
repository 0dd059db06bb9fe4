"""Does a crawl of a million pages stay as fast as it began, within its memory, and its store small?

A whole Scrapy crawl with the add-on, but without a network: a download handler makes the pages
(benchmarks/made_pages.py), and each page leads to the next of its domain, so that the queue is as short as there are
domains. Without bodies in the
store (DEDUP_KEEP_PAGES=none, and no outcomes unless `--outcomes`: an outcome holds its items, and they their texts),
and without a feed. Memory is that of the whole process: Scrapy's own duplicate filter takes some 110 bytes a page of
it, `--seen-in-store` the plugin's instead.
"""

import argparse
import os
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.http import HtmlResponse, Response

from benchmarks import results
from benchmarks.made_pages import MadePage

MB = 1_000_000
_PARTS = 10
_STEPS = 10
"""Lines that are printed of each tenth."""
_MADE_FOR_COST = 2_000


@dataclass(frozen=True, slots=True)
class Part:
    """One tenth of the crawl."""

    pages: int
    seconds: float
    cpu_seconds: float
    resident_mb: float

    @property
    def pages_a_cpu_second(self) -> float:
        """How many pages one core does in a second: other processes change the wall's clock, not this."""
        return self.pages / self.cpu_seconds


class MadePages(BaseDownloadHandler):
    """Answers requests from memory."""

    lazy = False

    async def download_request(self, request: Request) -> Response:
        """Return the page that a request is for."""
        page = MadePage(request.meta["domain"], request.meta["number"])
        body = page.html().encode()
        return HtmlResponse(request.url, headers={"Content-Type": "text/html; charset=utf-8"}, body=body)


class MadeSpider(Spider):
    """Follows each domain's pages, one after the other."""

    name = "made"
    domains: int
    pages: int

    async def start(self) -> AsyncIterator[Request]:
        """Yield the first page of each domain."""
        for domain in range(self.domains):
            yield self.asked(domain, 0)

    def asked(self, domain: int, number: int) -> Request:
        """Return a request for a page."""
        return Request(MadePage(domain, number).url, meta={"domain": domain, "number": number})

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page, and a request for the one behind it."""
        domain, number = response.meta["domain"], response.meta["number"] + 1
        yield {"url": response.url}
        if number < self.pages // self.domains:
            yield self.asked(domain, number)


class Progress:
    """Notes time and memory at each tenth of the pages."""

    def __init__(self, crawler: Crawler, pages: int) -> None:
        self._steps: list[Part] = []
        self._pages = pages
        self._received = 0
        self._at = (0, time.monotonic(), time.process_time())
        crawler.signals.connect(self._came, signals.response_received)

    def parts(self) -> list[Part]:
        """Return the tenths that are complete."""
        return [_joined(self._steps[at : at + _STEPS]) for at in range(0, len(self._steps) - _STEPS + 1, _STEPS)]

    def _came(self) -> None:
        self._received += 1
        if self._received % max(1, self._pages // (_PARTS * _STEPS)):
            return
        now = (self._received, time.monotonic(), time.process_time())
        pages, seconds, cpu_seconds = (new - old for new, old in zip(now, self._at, strict=True))
        self._at = now
        part = Part(int(pages), seconds, cpu_seconds, status_mb("VmRSS"))
        self._steps.append(part)
        print(
            f"{self._received:>9} pages: {1000 * cpu_seconds / pages:.2f} ms CPU a page, {pages / seconds:.0f} pages/s,"
            f" {part.resident_mb:.0f} MB",
            flush=True,
        )


def _joined(steps: list[Part]) -> Part:
    """Return some parts as one."""
    return Part(
        sum(part.pages for part in steps),
        sum(part.seconds for part in steps),
        sum(part.cpu_seconds for part in steps),
        steps[-1].resident_mb,
    )


def main() -> None:
    args = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        store = (args.folder or Path(folder)) / "dedup.db"
        cost_ms = _cost_of_making()
        print(f"making a page takes {cost_ms:.2f} ms of all that follows", flush=True)
        progress, stats = _crawl(args, store)
        pages = sum(part.pages for part in progress.parts())
        tables = _bytes_by_table(store, pages)
    first, second, last = progress.parts()[0], progress.parts()[1], progress.parts()[-1]
    figures = {
        "pages": stats.get("response_received_count"),
        "items": stats.get("item_scraped_count"),
        "domains": args.domains,
        "parts": [asdict(part) for part in progress.parts()],
        "last_tenth_to_first_by_cpu": last.pages_a_cpu_second / first.pages_a_cpu_second,
        # The first tenth learns the domains; the second does not.
        "last_tenth_to_second_by_cpu": last.pages_a_cpu_second / second.pages_a_cpu_second,
        "last_tenth_to_first_by_wall": (last.pages / last.seconds) / (first.pages / first.seconds),
        "cpu_ms_a_page": 1000 * sum(part.cpu_seconds for part in progress.parts()) / pages,
        "cpu_ms_of_making_a_page": cost_ms,
        "peak_mb": status_mb("VmHWM"),
        "store_bytes_a_page": sum(tables.values()),
        "store_bytes_a_page_by_table": tables,
        "dedup": {name: value for name, value in sorted(stats.items()) if str(name).startswith("dedup/")},
    }
    _print(figures)
    results.write(args.json, figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--domains", type=int, default=100)
    parser.add_argument("--outcomes", action="store_true", help="keep what callbacks made of pages")
    parser.add_argument("--seen-in-store", action="store_true", help="with the plugin's duplicate filter")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="any other setting")
    parser.add_argument("--folder", type=Path, help="an empty folder for the store, which is kept there")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _crawl(args: argparse.Namespace, store: Path) -> tuple[Progress, dict[str, Any]]:
    settings: dict[str, Any] = {
        "ADDONS": {"scrapy_dedup.Addon": 700},
        "DOWNLOAD_HANDLERS": {"https": MadePages},
        "DEDUP_DATABASE_URL": f"sqlite:///{store}",
        "DEDUP_KEEP_PAGES": "none",
        "CONCURRENT_REQUESTS": 32,
        # Of each response Scrapy starts so many tasks, though it gives one item: with its 100 they are a fifth of all.
        "CONCURRENT_ITEMS": 4,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
    }
    if not args.outcomes:
        settings["DEDUP_KEEP"] = {"extractions": 0}
    if args.seen_in_store:
        settings["DUPEFILTER_CLASS"] = "scrapy_dedup.StoreDupeFilter"
    settings |= dict(one.split("=", 1) for one in args.set)
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(MadeSpider)
    progress = Progress(crawler, args.pages)
    process.crawl(crawler, domains=args.domains, pages=args.pages)
    process.start()
    return progress, crawler.stats.get_stats() if crawler.stats else {}


def _cost_of_making() -> float:
    """Return the CPU milliseconds that a page and its URL take to be made."""
    began = time.process_time()
    for number in range(_MADE_FOR_COST):
        page = MadePage(number % 10, number)
        page.html().encode()
        _ = page.url
    return 1000 * (time.process_time() - began) / _MADE_FOR_COST


def status_mb(name: str) -> float:
    """Return a figure of this process's memory; Linux only."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024 / MB
    return 0.0


def _bytes_by_table(store: Path, pages: int) -> dict[str, float]:
    """Return the bytes a page of each table and index, the largest first."""
    if not store.exists():
        return {}
    whole = store.stat().st_size
    with sqlite3.connect(store) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try:
            rows = connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall()
        except sqlite3.OperationalError:
            return {"all": whole / pages}
    return {str(name): size / pages for name, size in sorted(rows, key=lambda row: -row[1]) if size > pages}


def _print(figures: dict[str, Any]) -> None:
    print(f"{figures['pages']} pages, {figures['items']} items, {os.cpu_count()} cores")
    print(f"CPU a page {figures['cpu_ms_a_page']:.2f} ms, of which {figures['cpu_ms_of_making_a_page']:.2f} to make it")
    by_cpu, by_wall = figures["last_tenth_to_first_by_cpu"], figures["last_tenth_to_first_by_wall"]
    print(f"last tenth to first: {by_cpu:.2f} by CPU, {by_wall:.2f} by the wall's clock (target 0.90)")
    print(f"peak {figures['peak_mb']:.0f} MB (target 600)")
    given_up = figures["dedup"].get("dedup/store/rows_given_up", 0)
    print(f"store {figures['store_bytes_a_page']:.0f} bytes a page (target 6,000), rows that are not in it: {given_up}")
    for name, size in figures["store_bytes_a_page_by_table"].items():
        print(f"  {name:<45} {size:>8.0f}")


if __name__ == "__main__":
    main()
