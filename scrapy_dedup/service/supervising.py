"""Runs a crawl as a process of its own, and starts it again when it hangs, has stalled or dies."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import IO

from msgspec import Struct, field

from scrapy_dedup.core.resilience.stalls import End, Restart, RunEnding, SupervisionPolicy, after

_TICK_SECONDS = 0.05
HEARTBEAT = "DEDUP_HEARTBEAT"
"""The environment variable that names the file which the crawl touches."""
# Ctrl-Break, by which Scrapy ends in good order on Windows; there are no others that a process could hear.
_WINDOWS = sys.platform == "win32"
_INTERRUPT = getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT)


class Watching(Struct, frozen=True):
    """When a process counts as hung, and how long each signal has to end it."""

    hung_after: timedelta = timedelta(minutes=2)
    grace: timedelta = timedelta(seconds=5)


class Supervised(Struct):
    """What came of it."""

    exit_code: int = 0
    reason: str = ""
    restarts: list[str] = field(default_factory=list)
    """Why it was started again, each time."""


class Supervisor:
    """Looks after one command at a time; its `run` belongs on the main thread, where signals arrive."""

    def __init__(
        self,
        command: Sequence[str],
        policy: SupervisionPolicy,
        watching: Watching,
        tell: Callable[[str], None],
        output: IO[str] | None = None,
    ) -> None:
        """Take the command and what is told of it, in lines.

        Args:
            command: program and arguments.
            policy: when it is started again.
            watching: when it counts as hung.
            tell: is called with each line.
            output: where the command's standard output goes; None: where ours does.
        """
        self._command = list(command)
        self._policy = policy
        self._watching = watching
        self._tell = tell
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = False
        self._never_beat = False

    def run(self) -> Supervised:
        """Run the command until it has ended for good.

        Raises:
            OSError: the command cannot be started.
        """
        done = Supervised()
        started: list[float] = []
        with tempfile.TemporaryDirectory(prefix="dedup-") as folder, self._hearing_signals():
            heartbeat = Path(folder, "heartbeat")
            while True:
                ending = self._run_once(heartbeat)
                next_step = after(ending, started, time.monotonic(), self._policy)
                if isinstance(next_step, Restart):
                    self._tell(f"{next_step.cause}; it is started again in {next_step.pause.total_seconds():g} s")
                    self._wait(next_step.pause.total_seconds())
                    if not self._asked:
                        started.append(time.monotonic())
                        done.restarts.append(next_step.cause)
                        continue
                    next_step = End(_code(ending), "it was asked to end")
                done.exit_code, done.reason = next_step.exit_code, next_step.reason
                return done

    def ask_to_end(self, number: int) -> None:
        """Hand a signal on to the command, and start it no more."""
        self._asked = True
        _send(self._process, number)

    def _run_once(self, heartbeat: Path) -> RunEnding:
        heartbeat.unlink(missing_ok=True)
        process = _start(self._command, {**os.environ, HEARTBEAT: str(heartbeat)}, self._output)
        self._process = process
        # A signal may have come before there was a process to hand it on to.
        if self._asked:
            _send(process, _INTERRUPT)
        hung = not self._ends_by_itself(process, _Pulse(heartbeat, self._watching.hung_after.total_seconds()))
        if hung:
            self._end(process)
        code = process.wait()
        if hung or code < 0:
            # Browsers and workers that it left behind.
            _kill(process)
        self._process = None
        return RunEnding(code, hung=hung, asked=self._asked)

    def _ends_by_itself(self, process: subprocess.Popen[bytes], pulse: "_Pulse") -> bool:
        """Wait until a process has ended, and return True; False when it hangs."""
        while process.poll() is None:
            if pulse.has_stopped(time.monotonic()):
                return False
            if pulse.never_was and not self._never_beat:
                self._never_beat = True
                self._tell(
                    "it shows no sign of life, and nobody would notice if it hung: is scrapy_dedup among its ADDONS?"
                )
            time.sleep(_TICK_SECONDS)
        return True

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End a process that hangs: first in good order, in case that it only seems to."""
        self._tell(f"no sign of life for {self._watching.hung_after.total_seconds():g} s: it is ended")
        for number in (_INTERRUPT, signal.SIGTERM):
            _send(process, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self._watching.grace.total_seconds())
                return
        _kill(process)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._asked:
            time.sleep(_TICK_SECONDS)

    @contextlib.contextmanager
    def _hearing_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._heard) for number in _signals()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 (a handler's signature)
        self.ask_to_end(number)


class _Pulse:
    """Whether a file is still being touched; by our own clock, which stands still while the machine sleeps."""

    def __init__(self, file: Path, longest_seconds: float) -> None:
        self._file = file
        self._longest = longest_seconds
        self._last: int | None = None
        self._changed = time.monotonic()
        self.never_was = False

    def has_stopped(self, now: float) -> bool:
        """Say whether it was touched, and then for the longest time was not."""
        try:
            touched = self._file.stat().st_mtime_ns
        except OSError:
            touched = None
        if touched is not None and touched != self._last:
            self._last, self._changed = touched, now
        silent = now - self._changed >= self._longest
        self.never_was = silent and self._last is None
        return silent and self._last is not None


def _code(ending: RunEnding) -> int:
    return ending.exit_code if ending.exit_code >= 0 else 128 - ending.exit_code


def _signals() -> list[int]:
    names = ("SIGINT", "SIGBREAK") if _WINDOWS else ("SIGINT", "SIGTERM", "SIGHUP")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def _start(command: list[str], environment: dict[str, str], output: IO[str] | None) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own: a Ctrl-C at the terminal comes to us alone, and we hand it on."""
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP
        return subprocess.Popen(command, env=environment, stdout=output, creationflags=flags)  # noqa: S603
    # What to run is what the user asked for; no shell reads it.
    return subprocess.Popen(command, env=environment, stdout=output, process_group=0)  # noqa: S603


def _send(process: subprocess.Popen[bytes] | None, number: int) -> None:
    """Send a signal to a process alone: it ends its own children in good order."""
    if process is None:
        return
    if _WINDOWS:
        number = _INTERRUPT
    with contextlib.suppress(OSError):
        process.send_signal(number)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all of its group."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
