"""`scrapy dedup` as a user runs it, on a store in a file: in a process of its own, or in this one, by Scrapy's main."""

import io
import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy.cmdline import execute

from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.installed import ask_once
from tests.warm import start_scrapy

ask_once()

# They crawl, fork, or go on until they are told to end.
_OWN_PROCESS = {"clean", "doctor", "serve", "supervise", "analyze-layout", "learn", "refine"}
PROJECT = "shop"
DOCUMENTED = Path(__file__).parents[1] / "data" / "commands"
SECONDS = 60


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Shop:
    """A folder with a store that knows a project."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / ".scrapy" / "dedup.db"

    @property
    def settings(self) -> list[str]:
        return ["-s", f"DEDUP_PROJECT={PROJECT}"]

    def run(self, *arguments: str, **environment: str) -> Outcome:
        """Run `scrapy dedup` on this store, in a process of its own where the verb needs one."""
        run = here if _OWN_PROCESS.isdisjoint(arguments[:2]) else scrapy
        return run("dedup", *arguments, *self.settings, folder=self.folder, **environment)

    def open(self) -> Store:
        return Store.open(f"sqlite:///{self.file}")

    def project(self, store: Store) -> ProjectStore:
        return store.project(PROJECT)


def documented(verb: str) -> dict[str, Any]:
    """Return what a verb tells of the finished shop as JSON, by the part's name."""
    found: dict[str, Any] = json.loads((DOCUMENTED / f"{verb}.json").read_text(encoding="utf-8"))
    return found


def scrapy(*arguments: str, folder: Path, **environment: str) -> Outcome:
    with tempfile.TemporaryDirectory() as outputs:
        out, err = Path(outputs, "out"), Path(outputs, "err")
        process = start_scrapy(arguments, folder, _environment() | environment, stdout=out, stderr=err)
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Outcome(code, out.read_bytes().decode(), err.read_bytes().decode())


def here(*arguments: str, folder: Path, **environment: str) -> Outcome:
    """Run Scrapy without a terminal in this process, which takes a third of the time: no verb that crawls."""
    code, before, paths, chosen = 0, dict(os.environ), list(sys.path), _environment() | environment
    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(raw, chosen.get("PYTHONIOENCODING", "utf-8"), write_through=True) for raw in written)
    os.environ.clear()
    os.environ.update(chosen)
    try:
        with chdir(folder), redirect_stdout(out), redirect_stderr(err):
            execute(["scrapy", *arguments])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        os.environ.clear()
        os.environ.update(before)
        sys.path[:] = paths
    return Outcome(code, *(raw.getvalue().decode() for raw in written))


@dataclass(frozen=True)
class Measured:
    """What a process took, the moments before its end left out."""

    outcome: Outcome
    memory_bytes: int
    """At most, at any time."""
    cpu_seconds: float


def measured(*arguments: str, folder: Path, cpu_seconds: float) -> Measured:
    """Run Scrapy without a terminal, until it took so much CPU."""
    memory = cpu = 0.0
    with tempfile.TemporaryDirectory() as outputs:
        out, err = Path(outputs, "out"), Path(outputs, "err")
        process = start_scrapy(arguments, folder, _environment(), stdout=out, stderr=err)
        idle = time.monotonic() + SECONDS
        while process.poll() is None:
            with suppress(OSError, IndexError, StopIteration):
                status = Path(f"/proc/{process.pid}/status").read_text("ascii", "replace")
                high = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
                memory = max(memory, int(high.split()[1]) * 1024)
                times = Path(f"/proc/{process.pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
                now = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
                idle, cpu = (time.monotonic() + SECONDS if now > cpu else idle), now
            if cpu > cpu_seconds or time.monotonic() > idle:
                process.kill()
            time.sleep(0.01)
        code = process.wait(SECONDS)
        return Measured(Outcome(code, out.read_bytes().decode(), err.read_bytes().decode()), int(memory), cpu)


def at_a_terminal(*arguments: str, folder: Path, typed: str = "") -> Outcome:
    """Run Scrapy at a terminal, which shows both outputs as one."""
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    terminal = os.ttyname(theirs)
    run = start_scrapy(arguments, folder, _environment(), stdin=terminal, stdout=terminal, stderr=terminal)
    seen = bytearray()
    # Our own hold on the other end keeps it open until the command has ended.
    while run.poll() is None or _is_readable(ours, 0):
        if _is_readable(ours, 0.05):
            seen += os.read(ours, 65_536)
    os.close(theirs)
    code = run.wait(SECONDS)
    os.close(ours)
    return Outcome(code, seen.decode(errors="replace"), "")


def _is_readable(descriptor: int, seconds: float) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def _environment() -> dict[str, str]:
    """Return this process's environment without what would make a terminal or a project of it."""
    dropped = ("SCRAPY_", "COLUMNS", "LINES", "FORCE_COLOR", "TTY_", "NO_COLOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {"TERM": "xterm", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
