"""Is anything lost when crawls are killed?

Small crawls of a site that changes are killed (`kill -9`) at random moments, and crawled again to the end: half of
them with a pipeline that writes every item through, half with a JSON lines feed, in batches or not; some with a
JOBDIR. After each crawl what arrived is compared with what was served, and with what the store believes.
"""

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks import results
from benchmarks.changing_site import ChangingSite, serving
from benchmarks.forked_crawls import forking
from benchmarks.killed_world import BATCHES, FEED, PIPELINE, Findings, World

# Half write through, half feed.
KINDS = (PIPELINE, FEED, PIPELINE, BATCHES)
KILLS_IN_A_WORLD = 6
ATTEMPTS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="crawls at once")
    parser.add_argument(
        "--undone", type=float, default=0.0, help="odds that a change is undone once a crawl was killed"
    )
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    words = TextColumn("kills"), TextColumn("{task.description}")
    with Progress(
        words[0], BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), words[1], console=Console(stderr=True)
    ) as bar:
        task = bar.add_task("", total=args.kills)

        def tell(found: Findings) -> None:
            wrong = f"{len(found.lost)} lost, {len(found.wrongly_seen)} wrongly seen, {len(found.failed)} failed"
            bar.update(task, completed=found.kills, description=wrong)

        found = run(args.kills, seed=args.seed, pages=args.pages, jobs=args.jobs, undone=args.undone, tell=tell)
    _print(found)
    results.write(args.json, {"pages": args.pages, "seed": args.seed, **_figures(found)})
    sys.exit(0 if found.are_good else 1)


def run(
    kills: int,
    *,
    seed: int = 1,
    pages: int = 40,
    jobs: int = 2,
    undone: float = 0.0,
    tell: Callable[[Findings], None] = lambda _: None,
) -> Findings:
    """Kill so many crawls; return what came of it.

    The seed fixes what is crawled, how, and when it is killed; not how far a crawl has come by then.
    """
    total, lock = Findings(), threading.Lock()

    def crawl(number: int) -> None:
        for found in _world(number, min(KILLS_IN_A_WORLD, kills - number * KILLS_IN_A_WORLD), seed, pages, undone):
            with lock:
                total.add(found)
                tell(total)

    with ThreadPoolExecutor(jobs) as workers:
        for done in [workers.submit(crawl, number) for number in range(-(-kills // KILLS_IN_A_WORLD))]:
            done.result()
    return total


def _world(number: int, kills: int, seed: int, pages: int, undone: float) -> Iterator[Findings]:
    """Kill and crawl again in a new world; give the findings of each kill."""
    chosen = Random(f"{seed} {number}")
    site = ChangingSite(pages, etags=number // len(KINDS) % 2 == 0)
    with tempfile.TemporaryDirectory(prefix=f"world-{number}-") as folder, serving(site), forking() as crawls:
        world = World(Path(folder), site, crawls, chosen, KINDS[number % len(KINDS)], uses_jobdir=chosen.random() < 0.3)
        for _ in range(ATTEMPTS * kills):
            kills -= world.kill_and_crawl_again(undone=undone)
            yield world.findings
            world.findings = Findings()
            if not kills:
                return
    raise RuntimeError(f"{world.name}: its crawls cannot be killed, they end too soon")


def _figures(found: Findings) -> dict[str, Any]:
    return {field.name: getattr(found, field.name) for field in fields(found)}


def _print(found: Findings) -> None:
    print(f"{found.kills} kills in {found.crawls} crawls; {found.too_late} crawls had ended before")
    print("killed:", ", ".join(f"{moment} {times}" for moment, times in sorted(found.moments.items())))
    print("of:", "; ".join(f"{name} {times}" for name, times in sorted(found.kills_by.items())))
    print(f"{found.items} items arrived, {found.repeated} of them again; {found.unchanged} visits found no change")
    print(
        f"{len(found.lost)} items lost, {len(found.wrongly_seen)} pages wrongly seen, {len(found.failed)} crawls failed"
    )
    for line in [*found.lost, *found.wrongly_seen, *found.failed][:50]:
        print("  " + line)


if __name__ == "__main__":
    main()
