"""Does anything that comes from outside break what reads it? Each entry point is fuzzed in a process of its own.

Where atheris is installed, it looks into our Python and goes where no case was before; native parsers (lexbor, PDFium,
RE2, SQLite), into which it does not see, get mutations of a corpus. A case that raises what is not documented, breaks
the law of its target (benchmarks/fuzz_targets.py), takes more than ten seconds or 3 GB, or ends the process is a
finding: it is written to a folder as it came, and `--input FILE` runs it again.
"""

import argparse
import mmap
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks import results
from benchmarks.fuzz_targets import TARGETS, Case

_MOST_SECONDS: Final = 10.0
_MOST_MEMORY: Final = 3_000_000_000
_MOST_FINDINGS: Final = 5
_QUICK_SECONDS: Final = 1.0
_HEAD: Final = struct.Struct("<QI")
"""How many cases began, and how long the present one is; its bytes follow."""


# The process that runs cases.


class _Runner:
    """Runs cases, notes each before it begins, and writes what it finds."""

    def __init__(self, name: str, case: Case, notes: mmap.mmap, folder: Path) -> None:
        self._name, self._case, self._notes, self._folder = name, case, notes, folder
        self._cases = _HEAD.unpack_from(notes)[0]
        self._places: set[str] = set()

    def __call__(self, raw: bytes) -> None:
        raw = bytes(raw)
        self._cases += 1
        self._notes[_HEAD.size : _HEAD.size + len(raw)] = raw
        _HEAD.pack_into(self._notes, 0, self._cases, len(raw))
        try:
            self._case(raw)
        except Exception as error:  # noqa: BLE001 (that is what is looked for)
            place = f"{type(error).__name__} {traceback.extract_tb(error.__traceback__)[-1][:2]}"
            if place not in self._places and len(self._places) < _MOST_FINDINGS:
                self._places.add(place)
                write_finding(self._folder, self._name, raw, "".join(traceback.format_exception(error)))


def write_finding(folder: Path, name: str, raw: bytes, told: str) -> None:
    """Write a case, and what it did."""
    path = folder / f"{name}-{sha256(raw).hexdigest()[:12]}"
    path.with_suffix(".case").write_bytes(raw)
    path.with_suffix(".txt").write_text(told, encoding="utf-8", errors="replace")


def run_cases(name: str, seconds: float, seed: int, notes: Path, folder: Path) -> None:
    """Run cases of a target until the time is over: by atheris, or by mutations of its corpus."""
    target = TARGETS[name]
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    by_atheris = not target.is_native and find_spec("atheris") is not None
    with tempfile.TemporaryDirectory() as work, notes.open("r+b") as file:
        shared = mmap.mmap(file.fileno(), 0)
        (place := Path(work) / "work").mkdir()
        if not by_atheris:
            runner = _Runner(name, target.make(place), shared, folder)
            _mutate(runner, target.seeds(), seconds, Random(f"{seed} {name}"))
            return
        import atheris  # noqa: PLC0415 (it need not be there)

        with atheris.instrument_imports(include=["scrapy_dedup"]):
            case, seeds = target.make(place), target.seeds()
        (corpus := Path(work) / "corpus").mkdir()
        for number, one in enumerate(seeds):
            (corpus / f"{number}").write_bytes(one[: target.most_bytes])
        limits = [f"-max_total_time={max(1, round(seconds))}", f"-seed={seed}", f"-max_len={target.most_bytes}"]
        atheris.Setup(
            ["fuzz", *limits, "-rss_limit_mb=0", "-verbosity=0", f"-artifact_prefix={work}/", str(corpus)],
            _Runner(name, case, shared, folder),
        )
        atheris.Fuzz()


def _mutate(run: Case, seeds: Sequence[bytes], seconds: float, random: Random) -> None:
    from benchmarks.warc_damage import damaged  # noqa: PLC0415 (brings modules that atheris is to look into)

    until = time.monotonic() + seconds
    for one in seeds:
        run(one)
        if time.monotonic() > until:
            return
    while time.monotonic() < until:
        raw = random.choice(seeds)
        if random.randrange(4) == 0:
            other = random.choice(seeds)
            raw = raw[: random.randrange(len(raw) + 1)] + other[random.randrange(len(other) + 1) :]
        for _ in range(random.choice((1, 1, 2, 5, 20))):
            raw = damaged(random, raw or b" ")
        run(raw[: 4 * len(max(seeds, key=len))])


# The process that watches it.


def fuzz(name: str, seconds: float, seed: int, folder: Path) -> dict[str, Any]:
    """Return how many cases of a target ran in how many seconds, and which were findings."""
    began, until = time.monotonic(), time.monotonic() + seconds
    before = {one.name for one in folder.glob(f"{name}-*.case")}
    with tempfile.TemporaryDirectory() as work:
        notes = Path(work) / "notes"
        notes.write_bytes(bytes(_HEAD.size + 16_000_000))
        for start in range(_MOST_FINDINGS):
            left = until - time.monotonic()
            if left <= 0 or _ended_well(name, left, seed + start, notes, folder):
                break
        cases = _HEAD.unpack(notes.read_bytes()[: _HEAD.size])[0]
    took = time.monotonic() - began
    found = sorted({one.name for one in folder.glob(f"{name}-*.case")} - before)
    return {"law": TARGETS[name].law, "cases": cases, "seconds": round(took, 1), "findings": found}


def _ended_well(name: str, seconds: float, seed: int, notes: Path, folder: Path) -> bool:
    """Run a process of cases; where it does not end by itself, write the case that it was at."""
    log = notes.with_name("log")
    command = [sys.executable, "-m", "benchmarks.fuzz", "--run", str(notes), "--seconds", str(seconds)]
    command += ["--seed", str(seed), "--folder", str(folder), name]
    # A process that is killed leaves its folders.
    own = {**os.environ, "TMPDIR": str(notes.parent)}
    with (
        log.open("wb") as told,
        subprocess.Popen(command, stdout=told, stderr=told, start_new_session=True, env=own) as process,
    ):
        head, changed = b"", time.monotonic()
        why = ""
        while process.poll() is None:
            time.sleep(0.05)
            now = notes.open("rb").read(_HEAD.size)
            if now != head:
                head, changed = now, time.monotonic()
            # Before its first case it imports, and makes its corpus.
            if time.monotonic() - changed > (_MOST_SECONDS if any(head) else 120):
                why = f"it took more than {_MOST_SECONDS:g} s"
                os.killpg(process.pid, 9)
        if process.returncode == 0:
            return True
    _, length = _HEAD.unpack(head)
    raw = notes.read_bytes()[_HEAD.size : _HEAD.size + length]
    write_finding(
        folder,
        name,
        raw,
        f"{why or f'the process ended with {process.returncode}'}\n{log.read_text(errors='replace')[-4_000:]}",
    )
    return False


def show(name: str, found: dict[str, Any], folder: Path) -> None:
    """Print what came of a target."""
    pace = found["cases"] / max(found["seconds"], 0.1)
    findings = f"{len(found['findings'])} findings"
    print(f"{name:<10}{found['cases']:>12,} cases {pace:>8,.0f}/s  {findings}  {found['law']}", flush=True)
    for one in found["findings"]:
        path = folder / one
        told = path.with_suffix(".txt").read_text(encoding="utf-8").rstrip()
        print(f"  {path}: {path.read_bytes()[:300]!r}\n{told[-1_000:]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; none: all")
    parser.add_argument("--seconds", type=float, default=60.0, help="a target (60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a second a target")
    parser.add_argument("--folder", type=Path, default=Path("fuzz-findings"), help="of findings (fuzz-findings)")
    parser.add_argument("--input", type=Path, help="run the case in this file, and nothing else")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := set(args.targets) - set(TARGETS):
        parser.error(f"no target: {', '.join(sorted(unknown))}")
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.run is not None:
        run_cases(args.targets[0], args.seconds, args.seed, args.run, args.folder)
        return
    if args.input is not None:
        with tempfile.TemporaryDirectory() as work:
            TARGETS[args.targets[0]].make(Path(work))(args.input.read_bytes())
        return
    names = args.targets or list(TARGETS)
    run = partial(fuzz, seconds=_QUICK_SECONDS if args.quick else args.seconds, seed=args.seed, folder=args.folder)
    figures = {}
    # What is quick has to import for longer than it runs.
    with ThreadPoolExecutor(2 if args.quick else 1) as pool:
        for name, found in zip(names, pool.map(run, names), strict=True):
            figures[name] = found
            show(name, found, args.folder)
    results.write(args.json, figures)
    sys.exit(1 if any(one["findings"] or not one["cases"] for one in figures.values()) else 0)


if __name__ == "__main__":
    main()
