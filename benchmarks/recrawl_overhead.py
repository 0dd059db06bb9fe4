"""What does a re-crawl cost when nothing has changed?

One local site is crawled bare, then three times with the add-on and one store: the second and third crawl meet pages
that have not changed. They come by a server that gives ETags, by one that gives no validators, and by one that puts
another number into each page; as it is, and with kept outcomes in place of callbacks. Bytes are what the server sent.
"""

import argparse
import statistics
import tempfile
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from benchmarks import results
from benchmarks.crawls import BARE, ON, Measured, crawl_in
from benchmarks.local_site import serving

COUNTED = {"SPIDER_MODULES": "benchmarks.counted_spider"}
KINDS: dict[str, tuple[dict[str, bool], dict[str, str], float | None]] = {
    "ETags": ({"etags": True}, ON, 1.10),
    "no validators": ({}, ON, None),
    "another number each time": ({"nonce": True}, ON, None),
    "ETags, reuse by body": ({"etags": True}, {"DEDUP_REUSE": "body"}, 0.52),
    "no validators, reuse by body": ({}, {"DEDUP_REUSE": "body"}, 0.62),
    "another number, reuse by text": ({"nonce": True}, {"DEDUP_REUSE": "text"}, 0.75),
}
"""Server, settings, and CPU a page against a bare crawl that the second may take; None: no more than the first."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    print(f"{args.pages} pages, {args.rounds} rounds of a bare crawl and three with the add-on")
    figures = {}
    for name, (server, settings, _) in KINDS.items():
        if args.only in (None, name):
            with serving(args.pages, **server) as (start,):
                figures[name] = _summary(name, [_round(start, args.pages, settings) for _ in range(args.rounds)])
    results.write(args.json, {"pages": args.pages, "servers": figures})


def _round(start: str, pages: int, settings: dict[str, str]) -> dict[str, tuple[Measured, int]]:
    with tempfile.TemporaryDirectory() as folder:
        crawls = {"bare": _crawl(Path(folder), start, BARE)}
        crawls |= {name: _crawl(Path(folder), start, settings) for name in ("first", "second", "third")}
    for name, (crawl, _) in crawls.items():
        if crawl.pages != pages:
            raise RuntimeError(f"the {name} crawl reached {crawl.pages} of {pages} pages: {crawl.stats}")
    return crawls


def _crawl(folder: Path, start: str, settings: dict[str, str]) -> tuple[Measured, int]:
    """Return a crawl, and how many bytes the server sent for it."""
    crawl = crawl_in(folder, start, COUNTED | settings, spider="counted")
    with urllib.request.urlopen(urljoin(start, "/sent")) as answer:
        return crawl, int(answer.read())


def _summary(kind: str, rounds: list[dict[str, tuple[Measured, int]]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    print(f"{kind}:")
    for name in rounds[0]:
        crawls = [one[name][0] for one in rounds]
        ratios = [one[name][0].cpu_ms_a_page / one["bare"][0].cpu_ms_a_page for one in rounds]
        found[name] = {
            "cpu_ms_a_page": [crawl.cpu_ms_a_page for crawl in crawls],
            "ratio": ratios,
            "median_ratio": statistics.median(ratios),
            "callbacks": max(_stat(crawl, "callbacks") for crawl in crawls),
            "items": max(_stat(crawl, "item_scraped_count") for crawl in crawls),
            "pages": min(crawl.pages for crawl in crawls),
            "not_modified": min(_stat(crawl, "dedup/unchanged/not_modified") for crawl in crawls),
            "bytes": max(one[name][1] for one in rounds),
        }
        print("  " + _line(name, found[name], found["bare"]["bytes"]))
    most = KINDS[kind][2] or found["first"]["median_ratio"]
    print(f"  target of the second and third: a ratio of at most {most:.2f}")
    return found


def _line(name: str, figures: dict[str, Any], bare_bytes: int) -> str:
    return (
        f"{name:7}{results.spread(figures['cpu_ms_a_page'])} ms a page, ratio {results.spread(figures['ratio'])}; "
        f"{figures['callbacks']} callbacks, {figures['items']} items, {figures['pages']} pages, "
        f"{figures['not_modified']} by 304, {figures['bytes'] / 1_000_000:.2f} MB,"
        f" {figures['bytes'] / bare_bytes:.1%} of bare"
    )


def _stat(crawl: Measured, name: str) -> int:
    return int(crawl.stats.get(name, 0))


if __name__ == "__main__":
    main()
