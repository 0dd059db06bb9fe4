"""Does the store hold where something breaks before any statement of its writes?

The writes of a first crawl and of a crawl of a changed site are counted, statement by statement; then a crawl is killed
before each of them in turn, and crawled again to the end. Other faults are met before every so many statements. After
each crawl the store must be whole, nothing may be lost, and nothing may count as seen that never arrived.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from itertools import product
from pathlib import Path
from random import Random

from benchmarks import failing_store, results
from benchmarks.changing_site import ChangingSite, serving
from benchmarks.failing_store import CRASH, FILES
from benchmarks.forked_crawls import Crawls, forking
from benchmarks.killed_world import BATCHES, PIPELINE, Findings, World
from tests.databases import find_programs, running_server

FIRST, AGAIN = "first crawl", "second crawl"
CLOCK = "clock back and forth between crawls"
FAULTS = (*failing_store.FAULTS, CLOCK)
CLOCK_BACK = timedelta(days=400)
OUTPUTS = (PIPELINE, BATCHES)
Databases = Callable[[], AbstractContextManager[str]]
"""Makes an empty database; gives its URL, or nothing: a file will do."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What is done.

    Attributes:
        faults: which.
        every: a crash before every so many statements.
        others_every: the other faults.
        pages: of the site.
        seed: fixes what changes on the site; not what is written in which transaction.
        jobs: crawls at once.
        crawls: which of the two.
        outputs: by which items leave.
    """

    faults: tuple[str, ...] = FAULTS
    every: int = 1
    others_every: int = 10
    pages: int = 7
    seed: int = 1
    jobs: int = 2
    crawls: tuple[str, ...] = (FIRST, AGAIN)
    outputs: tuple[str, ...] = OUTPUTS

    def places(self, fault: str, statements: int) -> range:
        """Return before which statements of a crawl a fault is met, each in a crawl of its own."""
        step = self.every if fault == CRASH else self.others_every
        return range(1) if fault == CLOCK else range(step // 2 + 1, statements + 1, step)


@contextmanager
def no_database() -> Iterator[str]:
    """Give the URL of no server."""
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    usual = Trial()
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=list(FAULTS), metavar="FAULT")
    parser.add_argument("--every", type=int, default=usual.every)
    parser.add_argument("--others-every", type=int, default=usual.others_every)
    parser.add_argument("--pages", type=int, default=usual.pages)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--jobs", type=int, default=usual.jobs, help="crawls at once")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    trial = Trial(tuple(args.faults), args.every, args.others_every, args.pages, args.seed, args.jobs)
    with ExitStack() as stack:
        databases: Databases = no_database
        if args.database == "postgresql":
            programs = find_programs()
            assert programs is not None, "no PostgreSQL here"
            server = stack.enter_context(running_server(programs))

            @contextmanager
            def databases() -> Iterator[str]:
                with server.database() as url:
                    yield url.render_as_string(hide_password=False)

        counted, found = run(trial, databases, lambda line: print(line, flush=True))
    for line in [*found.lost, *found.wrongly_seen, *found.failed, *found.damaged][:50]:
        print("  " + line)
    results.write(args.json, {"trial": asdict(trial), "statements": counted, **found.figures()})
    sys.exit(0 if found.are_good else 1)


def run(
    trial: Trial, databases: Databases = no_database, tell: Callable[[str], None] = lambda _: None
) -> tuple[dict[str, int], Findings]:
    """Let crawls meet faults; return how many statements there are, and what came of it."""
    counted, total = dict[str, int](), Findings()
    with ExitStack() as stack, ThreadPoolExecutor(trial.jobs) as workers:
        crawls = [stack.enter_context(forking()) for _ in range(trial.jobs)]
        for output, which in product(trial.outputs, trial.crawls):
            worlds = [_Worlds(trial, output, which, databases, each) for each in crawls]
            name = f"{which}, {output}"
            counted[name] = worlds[0].count()
            tell(f"{name}: {counted[name]} statements in its writes")
            for fault in trial.faults:
                if (fault in FILES and databases is not no_database) or (fault == CLOCK and which == FIRST):
                    continue
                places = trial.places(fault, counted[name])
                parts = [places[number :: trial.jobs] for number in range(trial.jobs)]
                found = Findings()
                for one in workers.map(lambda each, part, fault=fault: each.meet(fault, part), worlds, parts):
                    found.add(one)
                tell(f"  {fault}: {told(found)}")
                total.add(found)
    return counted, total


def told(found: Findings) -> str:
    """Say what came of it in a line."""
    return (
        f"{found.kills} met, {len(found.lost)} lost, {len(found.wrongly_seen)} wrongly seen,"
        f" {len(found.failed)} crawls failed, {len(found.damaged)} stores damaged"
    )


@dataclass(frozen=True, slots=True)
class _Worlds:
    trial: Trial
    output: str
    which: str
    databases: Databases
    crawls: Crawls

    def count(self) -> int:
        with self._world() as world:
            self._prepare(world)
            world.fail_and_crawl_again("", 0)
            return world.statements()

    def meet(self, fault: str, places: range) -> Findings:
        """Meet a fault before some statements: of first crawls each in a new world, of others one after the other."""
        if fault == CLOCK:
            return self._turn_clock_back() if places else Findings()
        found = Findings()
        with ExitStack() as stack:
            world = None
            for at in places:
                if world is None or self.which == FIRST or fault in FILES:
                    stack.close()
                    world = stack.enter_context(self._world())
                    self._prepare(world)
                else:
                    world.site.change(world.chosen)
                world.fail_and_crawl_again(fault, at)
                found.add(world.findings)
                world.findings = Findings()
        return found

    def _turn_clock_back(self) -> Findings:
        """Let the clock go back between two crawls, and back again when it is right."""
        with self._world() as world:
            world.crawl()
            for by in (CLOCK_BACK, -CLOCK_BACK):
                world.turn_clock_back(by)
                for _ in range(2):
                    world.site.change(world.chosen)
                    world.crawl()
                world.site.undo()
                world.crawl()
                world.findings.kills += 1
            return world.findings

    def _prepare(self, world: World) -> None:
        if self.which == AGAIN:
            world.crawl()
            world.site.change(world.chosen)

    @contextmanager
    def _world(self) -> Iterator[World]:
        site = ChangingSite(self.trial.pages, etags=True)
        # So that the same comes in the same order, as far as threads allow.
        settings = {
            "CONCURRENT_REQUESTS": 1,
            "DOWNLOAD_DELAY": 0,
            "ARRIVING_SECONDS": 0,
            "DEDUP_WRITE_EVERY": 5,
            "DEDUP_BATCH": {"pages": 4},
            "DEDUP_DATABASE_TIMEOUT": 0.3,
        }
        chosen = Random(self.trial.seed)
        with tempfile.TemporaryDirectory(prefix="world-") as folder, serving(site), self.databases() as database:
            yield World(
                Path(folder),
                site,
                self.crawls,
                chosen,
                self.output,
                uses_jobdir=False,
                database=database,
                settings=settings,
            )


if __name__ == "__main__":
    main()
