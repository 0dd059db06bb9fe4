"""Servers that tests share, one of each kind in a whole run, and what is done where one is not installed.

`DEDUP_TESTS_WITHOUT="chromium postgresql redis java network"` hides some of what is installed, to see what is skipped.
"""

import atexit
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.waiting import wait_for

_FOLDER = "DEDUP_TESTS_SERVERS"
_HIDDEN = "DEDUP_TESTS_WITHOUT"
# A process whose object is collected is complained of.
_children: list["subprocess.Popen[bytes]"] = []


@atexit.register
def _leave_them() -> None:
    """Have nobody complain, at the end of a process that started servers, that they run: they end with the run."""
    for child in _children:
        child.returncode = child.poll() or 0


@dataclass(frozen=True, slots=True)
class Started:
    """A server's process, how it is told to end, and how it is reached: JSON types."""

    process: "subprocess.Popen[bytes]"
    ends_by: signal.Signals
    reached_by: dict[str, Any]


def made_once(name: str, make: Callable[[Path], Any]) -> Any:
    """Return what the first process of this run that asks makes, in a folder of its own: JSON types."""
    folder = Path(os.environ[_FOLDER])
    note = folder / f"{name}.json"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.exists():
            (folder / name).mkdir(exist_ok=True)
            note.write_text(json.dumps(make(folder / name)), encoding="utf-8")
    return json.loads(note.read_text(encoding="utf-8"))


def one_for_the_run(name: str, start: Callable[[Path], Started]) -> dict[str, Any]:
    """Return how a server is reached, which the first process of this run that asks starts."""

    def make(folder: Path) -> dict[str, Any]:
        started = start(folder)
        _children.append(started.process)
        return {"pid": started.process.pid, "ends_by": started.ends_by, "reached_by": started.reached_by}

    reached_by: dict[str, Any] = made_once(name, make)["reached_by"]
    return reached_by


def begin_run(cache: Path) -> None:
    """Name a folder to all processes of this run, and one that is there in the next one."""
    folder = tempfile.mkdtemp(prefix="dedup-servers-")
    # PostgreSQL's server runs as a user of its own, who has to pass.
    Path(folder).chmod(0o711)
    os.environ[_FOLDER] = folder
    # Where none may be written beside the code, each process would make bytecode of its own, some for 12 s.
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(cache / "bytecode")
        sys.dont_write_bytecode = False


def end_run() -> None:
    """End what was started, whichever process started it, and remove its folder."""
    folder = Path(os.environ.pop(_FOLDER))
    for note in folder.glob("*.json"):
        told = json.loads(note.read_text(encoding="utf-8"))
        if "pid" in told:
            with suppress(ProcessLookupError):
                os.kill(told["pid"], told["ends_by"])
            wait_for(lambda pid=told["pid"]: not _runs(pid))  # type: ignore[misc]
    shutil.rmtree(folder, ignore_errors=True)
    if bytecode := os.environ.get("PYTHONPYCACHEPREFIX"):
        for of_tests in Path(f"{bytecode}{tempfile.gettempdir()}").glob("pytest-of-*"):
            shutil.rmtree(of_tests, ignore_errors=True)


def _runs(pid: int) -> bool:
    """Say whether a process has not ended; one that a worker left may stay as a zombie for good."""
    for child in _children:
        child.poll()
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def free_port() -> int:
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def is_hidden(name: str) -> bool:
    """Say whether this run is to do without something that may be installed."""
    return name in os.environ.get(_HIDDEN, "").split()


def is_missing(message: str) -> NoReturn:
    """Skip a test that cannot run here; in CI, where all is there, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def required_java() -> None:
    """Skip a test that needs Java where there is none; in CI, fail it."""
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", "java").exists() if home else shutil.which("java")
    if is_hidden("java") or not found:
        is_missing("no Java here; on Debian and Ubuntu: apt-get install default-jre-headless")
