"""Is anything lost when crawls are killed?

Small crawls of a site that changes are killed (`kill -9`) at random moments, and crawled again to the end: half of
them with a pipeline that writes every item through, half with a JSON lines feed, in batches or not; some with a
JOBDIR. After each crawl what arrived is compared with what was served, and with what the store believes.
Ctrl+C ends it early; what was found by then counts.
"""

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks import results
from benchmarks.changing_site import ChangingSite, serving
from benchmarks.forked_crawls import forking
from benchmarks.killed_world import BATCHES, FEED, PIPELINE, Findings, World
from scrapy_dedup.commands.terminal import errors

# Half write through, half feed.
KINDS = (PIPELINE, FEED, PIPELINE, BATCHES)
ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Trial:
    """What is done.

    Attributes:
        kills: how many crawls are killed.
        pages: of each site.
        seed: fixes what is crawled, how, and when it is killed; not how far a crawl has come by then.
        undone: odds that a site's last change is undone once a crawl was killed.
        jobs: crawls at once.
        kills_in_a_world: of crawls with one store; the first may find it empty.
    """

    kills: int = 1000
    pages: int = 40
    seed: int = 1
    undone: float = 0.3
    jobs: int = 2
    kills_in_a_world: int = 6

    @property
    def worlds(self) -> int:
        """How many stores there are, one after the other."""
        return -(-self.kills // self.kills_in_a_world)

    def kills_in(self, world: int) -> int:
        """Return the kills in one of the worlds; the last one has what is left."""
        return min(self.kills_in_a_world, self.kills - world * self.kills_in_a_world)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    usual = Trial()
    parser.add_argument("--kills", type=int, default=usual.kills)
    parser.add_argument("--pages", type=int, default=usual.pages)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--undone", type=float, default=usual.undone, help="odds that a kill undoes the last change")
    parser.add_argument("--jobs", type=int, default=usual.jobs, help="crawls at once")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    trial = Trial(args.kills, args.pages, args.seed, args.undone, args.jobs)
    words = TextColumn("kills"), TextColumn("{task.description}")
    with Progress(
        words[0], BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), words[1], console=errors()
    ) as bar:
        task = bar.add_task("", total=trial.kills)

        found = Findings()

        def tell(total: Findings) -> None:
            nonlocal found
            found = total
            wrong = f"{len(found.lost)} lost, {len(found.wrongly_seen)} wrongly seen, {len(found.failed)} failed"
            bar.update(task, completed=found.kills, description=wrong)

        with suppress(KeyboardInterrupt):
            run(trial, tell)
    _print(found)
    results.write(args.json, {"trial": asdict(trial), **found.figures()})
    sys.exit(0 if found.are_good else 1)


def run(trial: Trial, tell: Callable[[Findings], None] = lambda _: None) -> Findings:
    """Kill crawls; return what came of it, and tell of it meanwhile."""
    total, lock = Findings(), threading.Lock()

    def crawl(world: int) -> None:
        for found in _world(world, trial):
            with lock:
                total.add(found)
                tell(total)

    with ThreadPoolExecutor(trial.jobs) as workers:
        try:
            for done in as_completed([workers.submit(crawl, world) for world in range(trial.worlds)]):
                done.result()
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            raise
    return total


def _world(number: int, trial: Trial) -> Iterator[Findings]:
    """Kill and crawl again in a new world; give the findings of each kill."""
    chosen = Random(f"{trial.seed} {number}")
    site = ChangingSite(trial.pages, etags=number // len(KINDS) % 2 == 0)
    kills = trial.kills_in(number)
    with tempfile.TemporaryDirectory(prefix=f"world-{number}-") as folder, serving(site), forking() as crawls:
        world = World(Path(folder), site, crawls, chosen, KINDS[number % len(KINDS)], uses_jobdir=chosen.random() < 0.3)
        for _ in range(ATTEMPTS * kills):
            kills -= world.kill_and_crawl_again(undone=trial.undone)
            yield world.findings
            world.findings = Findings()
            if not kills:
                return
    raise RuntimeError(f"{world.name}: its crawls cannot be killed, they end too soon")


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
