"""`scrapy dedup clean --spark` beside `clean`: the same rows, and what they cost, on an even corpus and a skewed one.

    python -m benchmarks.spark --folder SITES [--folder SITES] [--pages 100000] [--domains 250]

The pages are those of real sites, under many domains, see `benchmarks.spark_corpus`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks import results
from benchmarks.corpus import sites
from benchmarks.spark_corpus import SKEW, Site, even_sizes, read_site, skewed_sizes, write_corpus

_LOOK_EVERY_SECONDS = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command used.

    Attributes:
        java_bytes: peak of the JVM.
        workers_bytes: peak of all Python workers together.
        executor_bytes: peak of JVM and workers together, the driver's part included.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    java_bytes: int = 0
    workers_bytes: int = 0
    executor_bytes: int = 0


def main() -> None:
    """Make the corpora, run both, compare and print."""
    options = _options()
    read = [read_site(manifest, folder) for root in options.folder for manifest, folder in sites(root)]
    with tempfile.TemporaryDirectory(dir=options.temporary) as name:
        folder = Path(name)
        figures: dict[str, object] = {"pages": options.pages, "domains": options.domains}
        even = write_corpus(folder / "even.jsonl", read, even_sizes(options.pages, options.domains))
        figures["even_bytes"] = even.stat().st_size
        batch = _batch(folder, even, options)
        print(_line("batch, even", batch), flush=True)
        figures["batch"] = asdict(batch)
        if not options.skew_only:
            figures |= _beside_clean(folder, even, batch, options)
            results.write(options.json, figures)
        even.unlink()
        if not options.even_only:
            figures |= _beside_skewed(folder, read, batch, options)
            results.write(options.json, figures)


def _beside_clean(folder: Path, even: Path, batch: Cost, options: argparse.Namespace) -> dict[str, object]:
    clean = _clean(folder, even, options.jobs)
    rows, ratio = _compared(folder), _ratio(batch, clean)
    print(_line("clean --jobs", clean))
    print(f"rows that differ: {rows}; batch takes {ratio} of clean's time", flush=True)
    return {"clean": asdict(clean), "rows": rows, "ratio": ratio}


def _beside_skewed(folder: Path, read: Sequence[Site], batch: Cost, options: argparse.Namespace) -> dict[str, object]:
    skewed = write_corpus(folder / "skewed.jsonl", read, skewed_sizes(options.pages, options.domains))
    cost = _batch(folder, skewed, options)
    ratio = _ratio(cost, batch)
    print(_line("batch, skewed", cost))
    print(f"a corpus with {SKEW:.0%} in one domain takes {ratio} of an even one's time")
    return {"batch_skewed": asdict(cost), "skewed_bytes": skewed.stat().st_size, "skew_ratio": ratio}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, action="append", required=True, help="of sites; repeatable")
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--domains", type=int, default=250)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--even-only", action="store_true", help="leave the skewed corpus out")
    parser.add_argument("--skew-only", action="store_true", help="compare the even corpus with the skewed one alone")
    parser.add_argument("--temporary", type=Path, help="folder with room for corpus and outputs, 5 kB a page at least")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _clean(folder: Path, corpus: Path, jobs: int) -> Cost:
    out = ["-O", str(folder / "clean.jsonl"), "--left-out", str(folder / "left.jsonl")]
    return _measured(["clean", str(corpus), "--jobs", str(jobs), *out])


def _batch(folder: Path, corpus: Path, options: argparse.Namespace) -> Cost:
    into = ["--overwrite", str(corpus), str(folder / "batch")]
    return _measured(["clean", "--spark", "--master", options.master, *into])


def _measured(arguments: Sequence[str]) -> Cost:
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "dedup", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    look = _Look(process.pid)
    assert process.stderr is not None
    errors = process.stderr.read()
    code = process.wait()
    seconds = time.perf_counter() - began
    peaks = look.end()
    if code:
        raise SystemExit(f"scrapy dedup {arguments[0]} failed: {errors.decode(errors='replace')[-2_000:]}")
    return Cost(round(seconds, 1), round(look.cpu_seconds, 1), *peaks)


class _Look:
    """Looks at a process and its children twice a second."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._peaks = [0, 0, 0, 0]
        self._cpu: dict[int, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on)
        self._thread.start()

    @property
    def cpu_seconds(self) -> float:
        """What all of them used, as far as it was seen."""
        return sum(self._cpu.values())

    def end(self) -> Sequence[int]:
        """Return the peaks: of all, of Java, of Python workers, of both."""
        self._ended.set()
        self._thread.join()
        return self._peaks

    def _go_on(self) -> None:
        while not self._ended.wait(_LOOK_EVERY_SECONDS):
            total = java = workers = 0
            for one in _family(self._process):
                name, resident, self._cpu[one] = _seen(one, self._cpu.get(one, 0.0))
                total += resident
                java += resident if name == "java" else 0
                workers += resident if name == "worker" else 0
            found = (total, java, workers, java + workers)
            self._peaks = [max(pair) for pair in zip(self._peaks, found, strict=True)]


def _family(process: int) -> list[int]:
    found = [process]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def _seen(process: int, before: float) -> tuple[str, int, float]:
    """Return what a process is, its resident bytes, and its CPU seconds."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        resident = _resident(process)
    except (OSError, IndexError, StopIteration):
        return "", 0, before
    name = "java" if b"java" in command.split(b"\0")[0] else "worker" if b"pyspark" in command else "python"
    return name, resident, (int(fields[11]) + int(fields[12])) / _TICKS


def _resident(process: int) -> int:
    """Return how many bytes of a process are in memory; what several share, such as libraries, counts once in all."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _compared(folder: Path) -> dict[str, int]:
    """Return how many rows there are, and how many differ in anything, or stand elsewhere in the order."""
    ours: list[tuple[bytes, str, bytes]] = []
    for file in sorted((folder / "batch" / "pages").glob("*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(256):
            for row in batch.to_pylist():
                place, report = row.pop("place"), json.loads(row.pop("dedup"))
                ours.append((place, row["url"], _digest(row | {"dedup": report})))
    ours.sort()
    differing = number = 0
    with (folder / "clean.jsonl").open("rb") as lines:
        for number, line in enumerate(lines, 1):
            row = json.loads(line)
            is_same = number <= len(ours) and ours[number - 1][1:] == (row["url"], _digest(row))
            differing += not is_same
    left = sum(1 for _ in (folder / "left.jsonl").open("rb"))
    left_ours = sum(pq.ParquetFile(one).metadata.num_rows for one in (folder / "batch" / "left_out").glob("*.parquet"))
    differing += abs(len(ours) - number) + abs(left - left_ours)
    return {"clean": number, "batch": len(ours), "left_out": left, "differing": differing}


def _digest(row: dict[str, object]) -> bytes:
    return blake2b(json.dumps(row, sort_keys=True).encode(), digest_size=16).digest()


def _ratio(one: Cost, other: Cost) -> float:
    return round(one.seconds / other.seconds, 2)


def _line(name: str, cost: Cost) -> str:
    sizes = (cost.peak_bytes, cost.java_bytes, cost.workers_bytes, cost.executor_bytes)
    total, java, workers, executor = (round(size / 1e6) for size in sizes)
    parts = f"all {total} MB" + (f", JVM {java} MB, workers {workers} MB, executor {executor} MB" if java else "")
    return f"{name:<14} {cost.seconds:9.1f} s  {cost.cpu_seconds:9.1f} s CPU  peak: {parts}"


if __name__ == "__main__":
    main()
