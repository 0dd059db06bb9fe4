"""What does a re-crawl cost when nothing has changed?

One local site is crawled bare, then three times with the add-on and one store: the second and third crawl meet a site
that has not changed. Once with a server that gives ETags, once with one that gives no validators.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.crawls import BARE, ON, Measured, crawl_in
from benchmarks.local_site import serving

COUNTED = {"SPIDER_MODULES": "benchmarks.counted_spider"}
SERVERS = {"ETags": True, "no validators": False}
TARGETS = {"ETags": 0.8, "no validators": 1.0}
"""CPU a page against a bare crawl, at most."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=SERVERS)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    print(f"{args.pages} pages, {args.rounds} rounds of a bare crawl and three with the add-on")
    figures = {}
    for name, etags in SERVERS.items():
        if args.only in (None, name):
            with serving(args.pages, etags=etags) as (start,):
                figures[name] = _summary(name, [_round(start, args.pages) for _ in range(args.rounds)])
    results.write(args.json, {"pages": args.pages, "servers": figures})


def _round(start: str, pages: int) -> dict[str, Measured]:
    with tempfile.TemporaryDirectory() as folder:
        crawls = {"bare": _crawl(Path(folder), start, BARE)}
        crawls |= {name: _crawl(Path(folder), start, ON) for name in ("first", "second", "third")}
    for name, crawl in crawls.items():
        if crawl.pages != pages:
            raise RuntimeError(f"the {name} crawl reached {crawl.pages} of {pages} pages: {crawl.stats}")
    return crawls


def _crawl(folder: Path, start: str, settings: dict[str, str]) -> Measured:
    return crawl_in(folder, start, COUNTED | settings, spider="counted")


def _summary(server: str, rounds: list[dict[str, Measured]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    print(f"{server}:")
    for name in rounds[0]:
        crawls = [one[name] for one in rounds]
        ratios = [one[name].cpu_ms_a_page / one["bare"].cpu_ms_a_page for one in rounds]
        found[name] = {
            "cpu_ms_a_page": [crawl.cpu_ms_a_page for crawl in crawls],
            "ratio": ratios,
            "median_ratio": statistics.median(ratios),
            "callbacks": max(_stat(crawl, "callbacks") for crawl in crawls),
            "items": max(_stat(crawl, "item_scraped_count") for crawl in crawls),
            "pages": min(crawl.pages for crawl in crawls),
            "not_modified": min(_stat(crawl, "downloader/response_status_count/304") for crawl in crawls),
            "bytes": max(_stat(crawl, "downloader/response_bytes") for crawl in crawls),
        }
        print("  " + _line(name, found[name], found["first"]["bytes"] if "first" in found else 0))
    print(f"  target of the second and third: a ratio of at most {TARGETS[server]}, no callbacks")
    return found


def _line(name: str, figures: dict[str, Any], first_bytes: int) -> str:
    share = f", {figures['bytes'] / first_bytes:.1%} of the first" if name in ("second", "third") else ""
    return (
        f"{name:7}{results.spread(figures['cpu_ms_a_page'])} ms a page, ratio {results.spread(figures['ratio'])}; "
        f"{figures['callbacks']} callbacks, {figures['items']} items, {figures['pages']} pages, "
        f"{figures['not_modified']} by 304, {figures['bytes'] / 1_000_000:.2f} MB{share}"
    )


def _stat(crawl: Measured, name: str) -> int:
    return int(crawl.stats.get(name, 0))


if __name__ == "__main__":
    main()
