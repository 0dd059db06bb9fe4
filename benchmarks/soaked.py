"""The process of benchmarks.soak: a crawl for each line of standard input.

After each it prints a line of JSON: what it has cost, and what the process and its store are by then.
"""

import json
import resource
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.reactor import install_reactor
from twisted.python.failure import Failure

from benchmarks.killed_spider import KilledSpider


def main() -> None:
    """Crawl: the site's first page, and the folder of the store."""
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    start, folder = sys.argv[1], Path(sys.argv[2])
    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_dedup.Addon": 700},
            "BOT_NAME": "soak",
            "FEEDS": {str(folder / "feed.jsonl"): {"format": "jsonlines", "overwrite": True}},
            "LOG_FILE": str(folder / "log.txt"),
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "DEDUP_DATABASE_URL": f"sqlite:///{folder / 'dedup.db'}",
        }
    )

    # Only once it is installed.
    reactor: Any = import_module("twisted.internet.reactor")

    def over(found: Any) -> None:
        if isinstance(found, Failure):
            print(found.getTraceback(), file=sys.stderr)
        reactor.stop()

    def begin() -> None:
        deferred_from_coro(_crawl(process, start, folder)).addBoth(over)

    reactor.callWhenRunning(begin)
    process.start(stop_after_crawl=False)


async def _crawl(process: CrawlerProcess, start: str, folder: Path) -> None:
    while sys.stdin.readline():
        crawler = process.create_crawler(KilledSpider)
        began = time.monotonic(), time.process_time()
        await maybe_deferred_to_future(process.crawl(crawler, start=start))
        print(json.dumps(_figures(crawler, folder, began)), flush=True)


def _figures(crawler: Crawler, folder: Path, began: tuple[float, float]) -> dict[str, float]:
    stats = crawler.stats.get_stats() if crawler.stats else {}
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    names = ("item_scraped_count", "log_count/ERROR", "dedup/store/errors", "dedup/unchanged/changed")
    return {
        "pages": stats.get("response_received_count", 0),
        "seconds": time.monotonic() - began[0],
        "cpu_seconds": time.process_time() - began[1],
        "memory_mb": resident / 1e6,
        "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "store_mb": sum(path.stat().st_size for path in folder.glob("dedup.db*")) / 1e6,
        **{name.rpartition("/")[2]: stats.get(name, 0) for name in names},
    }


if __name__ == "__main__":
    main()
