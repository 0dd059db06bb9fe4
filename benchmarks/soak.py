"""Does anything grow while a site that changes is crawled again and again, by one process, in one store?

After each crawl: memory (RSS), descriptors, size of the store, pages by a second of CPU. The slope of memory is that of
the straight line through all crawls but those of the first quarter, in which libraries and caches fill.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import linear_regression
from typing import Any

from benchmarks import results
from benchmarks.changing_site import ChangingSite, serving

WARM = 0.25
VERSIONS = 4


@dataclass(frozen=True, slots=True)
class Trial:
    """How long which site is crawled, and what fixes its changes."""

    minutes: float = 60
    pages: int = 200
    seed: int = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    usual = Trial()
    parser.add_argument("--minutes", type=float, default=usual.minutes)
    parser.add_argument("--pages", type=int, default=usual.pages)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures = measure(Trial(args.minutes, args.pages, args.seed))
    for name, value in figures.items():
        if name != "crawls":
            print(f"{name}: {value:,.2f}")
    results.write(args.json, figures)
    sys.exit(1 if figures["errors"] else 0)


def measure(trial: Trial) -> dict[str, Any]:
    """Crawl for so long; return the figures of each crawl, and of all."""
    site, chosen = ChangingSite(trial.pages, etags=False, versions=VERSIONS), Random(trial.seed)
    crawls: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, serving(site):
        command = [sys.executable, "-m", "benchmarks.soaked", site.start, folder]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            began = time.monotonic()
            while time.monotonic() - began < 60 * trial.minutes:
                site.change(chosen)
                process.stdin.write("crawl\n")
                process.stdin.flush()
                line = process.stdout.readline()
                if not line:
                    raise RuntimeError("the crawls have ended: see the traceback above")
                crawls.append({"minutes": (time.monotonic() - began) / 60, **json.loads(line)})
            process.stdin.close()
    return {"crawls": crawls, **summary(crawls)}


def summary(crawls: list[dict[str, float]]) -> dict[str, float]:
    """Return what came of them."""
    warm = crawls[int(len(crawls) * WARM) :]
    hours = [one["minutes"] / 60 for one in warm]
    halves = warm[: len(warm) // 2], warm[len(warm) // 2 :]
    pace = [sum(one["pages"] for one in half) / sum(one["cpu_seconds"] for one in half) for half in halves]
    return {
        "number": len(crawls),
        "minutes": crawls[-1]["minutes"],
        "pages": sum(one["pages"] for one in crawls),
        "changed": sum(one["changed"] for one in crawls),
        "errors": sum(one["ERROR"] + one["errors"] for one in crawls),
        "memory_mb": crawls[-1]["memory_mb"],
        "memory_mb_an_hour": linear_regression(hours, [one["memory_mb"] for one in warm]).slope,
        "descriptors_first": crawls[0]["descriptors"],
        "descriptors_last": crawls[-1]["descriptors"],
        "store_mb": crawls[-1]["store_mb"],
        "store_kb_a_crawl": 1000 * (warm[-1]["store_mb"] - warm[0]["store_mb"]) / max(1, len(warm) - 1),
        "pace_last_half_to_first": pace[1] / pace[0],
    }


if __name__ == "__main__":
    main()
