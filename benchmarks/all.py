"""Run all benchmarks, one at a time, each in a process of its own with a limit of time; then write their tables.

    python -m benchmarks.all [--folder FOLDER] [--quick] [--only NAME ...] [--list]

Without a folder: those that need nothing beyond this machine. FOLDER holds what is no part of this project, real pages
(`corpus`: sites with manifest.json, `large`, `neardup`, `single`) and Scrapy's unpacked sdist (`scrapy`); what is not
there is passed over. Results go to benchmarks/results, tables and pictures to docs. With --quick small sizes are tried,
and neither is touched.
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.tables import DOCS, RESULTS, write_docs

_PEERS: Final = {
    "fallback": "left/1",
    "trafilatura": "trafilatura",
    "Resiliparse": "resiliparse",
    "readability-lxml": "readability",
    "jusText": "justext",
    "boilerpy3": "boilerpy3",
}
_END_SECONDS: Final = 10
ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Task:
    """A benchmark, and with what it is called.

    Attributes:
        name: of its result.
        steps: commands, one after the other; {folder} and {work} are put in, and `--json` is added to the last.
        minutes: after which it is ended.
        quick: the same in small; None where that says nothing.
        needs: what of the folder it reads.
    """

    name: str
    steps: tuple[str, ...]
    minutes: int
    quick: str | None = None
    needs: str | None = None


_MARKED: Final = "{folder}/corpus {folder}/more {folder}/train"
_TRAINED_ON: Final = f"{_MARKED} --single-pages {{folder}}/single"
_BESIDE_PEERS: Final = (
    f"benchmarks.quality {_TRAINED_ON} --pages 1000 --texts {{work}}/left",
    "benchmarks.peers {folder}/corpus --pages 0 --lines {work}",
    "benchmarks.beside_peers {folder}/corpus scrapy_dedup={work}/left/60.jsonl "
    + " ".join(f"{name}={{work}}/{file}.jsonl" for name, file in _PEERS.items()),
)
_SPARK: Final = "benchmarks.spark --folder {folder}/corpus --folder {folder}/large"
TASKS: Final = (
    Task(
        "crawl_overhead",
        ("benchmarks.crawl_overhead",),
        90,
        "benchmarks.crawl_overhead --pages 60 --pairs 1 --only 'and chunk: the default'",
    ),
    Task("startup", ("benchmarks.startup",), 5, "benchmarks.startup --pairs 2"),
    Task(
        "memory", ("benchmarks.memory --pages 6000 --domains 3000",), 15, "benchmarks.memory --pages 400 --domains 200"
    ),
    Task(
        "recrawl_overhead",
        ("benchmarks.recrawl_overhead",),
        30,
        "benchmarks.recrawl_overhead --pages 60 --rounds 1 --only ETags",
    ),
    Task("levels_off", ("benchmarks.levels_off",), 120, "benchmarks.levels_off --pages 60 --crawls 3"),
    Task("seen_urls", ("benchmarks.seen_urls --urls 10000000",), 40, "benchmarks.seen_urls --urls 50000"),
    Task("large_domain", ("benchmarks.large_domain",), 60, "benchmarks.large_domain --pages 20000"),
    Task(
        "pages_1000",
        ("benchmarks.million_pages --pages 1000 --domains 10",),
        10,
        "benchmarks.million_pages --pages 500 --domains 5",
    ),
    Task("pages_10000", ("benchmarks.million_pages --pages 10000",), 15),
    Task("pages_100000", ("benchmarks.million_pages --pages 100000",), 60),
    Task("million_pages", ("benchmarks.million_pages",), 600),
    Task("many_crawlers", ("benchmarks.many_crawlers --kill --restart",), 180),
    Task("hostile", ("benchmarks.hostile",), 10, "benchmarks.hostile"),
    Task("peer_tables", ("benchmarks.peer_tables",), 5, "benchmarks.peer_tables"),
    Task("fuzz", ("benchmarks.fuzz --seconds 600",), 160, "benchmarks.fuzz --quick"),
    Task("warc_damage", ("benchmarks.warc_damage",), 60, "benchmarks.warc_damage --records 50 --damages 100"),
    Task("kills", ("benchmarks.kills",), 240, "benchmarks.kills --kills 4 --pages 10"),
    Task("faults", ("benchmarks.faults --faults crash",), 240, "benchmarks.faults --pages 5 --every 100"),
    Task("faults_postgresql", ("benchmarks.faults --faults crash --database postgresql",), 240),
    Task("matrix", ("benchmarks.matrix",), 120),
    Task("soak", ("benchmarks.soak",), 90, "benchmarks.soak --minutes 0.5 --pages 20"),
    Task("serve_sqlite", ("benchmarks.serve --database sqlite",), 60),
    Task("beside_peers", _BESIDE_PEERS, 180, needs="corpus"),
    Task("clean_speed", ("benchmarks.clean_speed {folder}/corpus --rounds 3",), 60, needs="corpus"),
    Task("layouts", ("benchmarks.layouts {folder}/corpus",), 60, needs="corpus"),
    Task("quality", (f"benchmarks.quality {_TRAINED_ON}",), 60, needs="train"),
    Task("redesigns", (f"benchmarks.redesigns {_MARKED}",), 60, needs="train"),
    Task("right_drops", ("benchmarks.right_drops {folder}/corpus {folder}/more",), 60, needs="train"),
    Task("streaming", (f"benchmarks.streaming {_MARKED}",), 60, needs="train"),
    Task("teacher", (f"benchmarks.teacher {_TRAINED_ON}",), 30, needs="train"),
    Task("html_method", ("benchmarks.html_method {folder}/corpus",), 30, needs="corpus"),
    *(
        Task(f"suite_{name}", (f"benchmarks.peer_suites {{folder}}/suites/{name}",), 240, needs=f"suites/{name}")
        for name in ("scrapy", "scrapy_poet", "scrapy_redis", "spidermon")
    ),
    Task("clean_large", ("benchmarks.clean_large {folder}/large",), 60, needs="large"),
    Task("single_pages", ("benchmarks.single_pages {folder}/single",), 60, needs="single"),
    Task(
        "near_duplicates",
        ("benchmarks.near_duplicates {folder}/neardup --parts pairs planted texts crowded",),
        120,
        needs="neardup",
    ),
    Task("near_duplicates_cost", ("benchmarks.near_duplicates {folder}/neardup --parts cost",), 240, needs="neardup"),
    Task("spark", (f"{_SPARK} --even-only",), 240, needs="large"),
    Task("spark_skew", (f"{_SPARK} --skew-only --pages 10000 --domains 50",), 60, needs="large"),
)


def main() -> None:
    args = _arguments()
    chosen = [task for task in TASKS if (not args.only or task.name in args.only) and _can(task, args)]
    if args.list:
        for task in chosen:
            print(f"{task.name:26}{task.minutes:>4} minutes at most: {'; '.join(_commands(task, args.quick))}")
        return
    failed = [task.name for task in chosen if not _run(task, args)]
    if not args.quick:
        write_docs(DOCS, args.results)
    for task in TASKS:
        if not args.only and not _can(task, args):
            print(f"{task.name}: not run, needs {f'FOLDER/{task.needs}' if task.needs else 'more time'}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="of real pages")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try: a few minutes")
    parser.add_argument("--only", nargs="+", choices=[task.name for task in TASKS], metavar="NAME")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for results")
    parser.add_argument("--list", action="store_true", help="say what would be run")
    return parser.parse_args()


def _can(task: Task, args: argparse.Namespace) -> bool:
    if args.quick:
        return task.quick is not None
    return task.needs is None or (args.folder is not None and (args.folder / task.needs).is_dir())


def _commands(task: Task, quick: bool) -> tuple[str, ...]:  # noqa: FBT001 (of one kind with the option)
    return (task.quick,) if quick and task.quick is not None else task.steps


def _run(task: Task, args: argparse.Namespace) -> bool:
    """Run a task and keep its result; say whether it came to its end."""
    print(f"== {task.name}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        result = Path(work) / f"{task.name}.json"
        for command in _argvs(task, args, result):
            left = 60 * task.minutes - (time.monotonic() - began)
            if (code := run_within(command, left)) != 0:
                why = f"ended with {code}" if code is not None else f"was ended after {task.minutes} minutes"
                print(f"{task.name} {why}; its former result stands", flush=True)
                return False
        if not args.quick:
            # Only now: half a result is worse than the former one.
            args.results.mkdir(parents=True, exist_ok=True)
            (args.results / result.name).write_bytes(result.read_bytes())
    print(f"{task.name}: {time.monotonic() - began:.0f} s", flush=True)
    return True


def _argvs(task: Task, args: argparse.Namespace, result: Path) -> Iterator[list[str]]:
    commands = _commands(task, args.quick)
    for number, command in enumerate(commands):
        # Divided before the folders are put in: a name may have blanks.
        words = [word.format(folder=args.folder, work=result.parent) for word in shlex.split(command)]
        last = ["--json", str(result)] if number == len(commands) - 1 else []
        yield [sys.executable, "-m", *words, *last]


def run_within(command: Sequence[str], seconds: float) -> int | None:
    """Run a command; return its exit code, None where it took too long. Its children end with it."""
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        return process.wait(max(1.0, seconds))
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end_group(process)


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """End what is left of a process and its children: first asked, then killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        time.sleep(0.1)
    process.wait()


if __name__ == "__main__":
    main()
