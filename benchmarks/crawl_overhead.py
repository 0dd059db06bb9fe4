"""How much CPU does the plugin cost a crawl?

One local site, or a folder of real ones, is crawled bare and with the add-on in turn; the figure is the median ratio of
the pairs.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from benchmarks import real_site, results
from benchmarks.crawls import BARE, ON, URL_AND_CANONICAL, Measured, crawl
from benchmarks.local_site import page, serving

_SPARED = ("patterns", "title", "duplicate", "near_duplicate", "chunk")


def _with(*layers: str) -> dict[str, str]:
    """Return settings with these layers of those that can be spared, and all others on."""
    return {"DEDUP_LAYERS": json.dumps({layer: layer in layers for layer in _SPARED})}


LANGUAGE = {"DEDUP_LANGUAGES": "en"}
# Each with one layer more than the one before; the first is the whole.
WAYS = {
    "all layers": ON | LANGUAGE,
    "url and canonical": URL_AND_CANONICAL,
    "and boilerplate": _with(),
    "and patterns": _with("patterns"),
    "and title, duplicate": _with("patterns", "title", "duplicate"),
    "and near_duplicate": _with("patterns", "title", "duplicate", "near_duplicate"),
    "and chunk: the default": ON,
}

SPIDERS = {"SPIDER_MODULES": "benchmarks.counted_spider"}
_SECONDS = "dedup/seconds/"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=1000, help="of the site, or at most of each real one")
    parser.add_argument("--folder", type=Path, help="of sites, each with manifest.json")
    parser.add_argument("--nonce", action="store_true", help="another number in each page at each fetch")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", choices=WAYS)
    parser.add_argument("--profile", action="store_true", help="say what a page costs by steps, and nothing else")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures = {}
    served = real_site.serving(args.folder, args.pages) if args.folder else serving(args.pages, nonce=args.nonce)
    spider = "real" if args.folder else "counted"
    with served as starts:
        start = ",".join(starts)
        if args.profile:
            _print_budget(start, SPIDERS | WAYS[args.only or "and chunk: the default"], spider)
            return
        made = f"{len(page(1, args.pages, 32)) / 1000:.0f} kB"
        print(f"{args.pages} pages of {args.folder or made}, {args.pairs} pairs")
        for way, settings in WAYS.items():
            if args.only in (None, way):
                figures[way] = _compare(way, start, settings, args.pairs, spider)
    results.write(args.json, {"pages": args.pages, "ways": figures})


def _compare(way: str, start: str, settings: dict[str, str], pairs: int, spider: str) -> dict[str, list[float]]:
    bare, ours, ratios = [], [], []
    for _ in range(pairs):
        one, other = (crawl(start, SPIDERS | chosen, spider=spider) for chosen in (BARE, settings))
        if one.pages != other.pages:
            raise RuntimeError(f"bare gave {one.pages} pages, {way} {other.pages}")
        bare.append(one.cpu_ms_a_page)
        ours.append(other.cpu_ms_a_page)
        ratios.append(other.cpu_ms_a_page / one.cpu_ms_a_page)
    print(f"{way}: bare {results.spread(bare)} ms a page, with {results.spread(ours)}; ratio {results.spread(ratios)}")
    layers = _by_layer(other)
    print("  layers by themselves: " + ", ".join(f"{name} {ms:.1f}" for name, ms in layers.items()))
    return {"bare_ms": bare, "with_ms": ours, "ratio": ratios, "median_ratio": [statistics.median(ratios)]} | {
        f"layer_{name}_ms": [ms] for name, ms in layers.items()
    }


def _print_budget(start: str, settings: dict[str, str], spider: str) -> None:
    """Print what a page costs, by steps."""
    extensions = json.dumps({"benchmarks.stats_file.StatsFile": 0, "benchmarks.budget.Budget": 0})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "budget.json"
        measured = crawl(start, settings | {"EXTENSIONS": extensions, "BUDGET_FILE": str(file)}, spider=spider)
        budget = json.loads(file.read_text())
    print("| step | µs CPU a page | calls a page |\n| --- | --- | --- |")
    for step, (seconds, calls) in budget["steps"].items():
        shown = step.replace("  ", "&nbsp; ")
        print(f"| {shown} | {1e6 * seconds / measured.pages:,.0f} | {calls / measured.pages:.2f} |")
    for name, seconds in budget["totals"].items():
        print(f"| *{name}* | {1e6 * seconds / measured.pages:,.0f} | |")
    for name, number in budget["counts"].items():
        print(f"| *{name} of SQL* | | {number / measured.pages:.2f} |")
    for name, (usual, most) in budget["longest"].items():
        print(f"\n{name}: {1000 * usual:.1f} ms at the 99.9th percentile, {1000 * most:.1f} ms at most")


def _by_layer(measured: Measured) -> dict[str, float]:
    """Return the CPU milliseconds a page that the layers counted for themselves in the last crawl."""
    seconds = {
        name.removeprefix(_SECONDS): value for name, value in measured.stats.items() if name.startswith(_SECONDS)
    }
    return {name: 1000 * value / measured.pages for name, value in sorted(seconds.items())}


if __name__ == "__main__":
    main()
