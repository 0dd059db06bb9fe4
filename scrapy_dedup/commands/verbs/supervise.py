"""`scrapy dedup supervise -- COMMAND`: run a crawl, and start it again when it hangs, has stalled or dies.

It hangs when its reactor has not turned for --hung-after seconds; it has stalled when it ends with exit code 75, as
DEDUP_STALL = {"action": "exit"} makes it. With a JOBDIR it goes on where it was. Ctrl-C ends both in good order. The
command's output passes through; what the supervisor does is told on standard error, a line each time.

JSON: `exit_code` and `reason` of the last run, `restarts` (the cause of each); the command's standard output goes to
standard error then.

The exit code is the last run's; 128 and the number of the signal where it died by one.
"""

import argparse
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

from scrapy_dedup.commands.call import Call, CommandError, WrongCallError, print_json
from scrapy_dedup.commands.terminal import one_line
from scrapy_dedup.core.resilience.stalls import End, Restart, RunEnding, SupervisionPolicy, after

_TICK_SECONDS = 0.05
HEARTBEAT = "DEDUP_HEARTBEAT"
"""The environment variable that names the file which the crawl touches."""
# Ctrl-Break, by which Scrapy ends in good order on Windows; there are no others that a process could hear.
_WINDOWS = sys.platform == "win32"
_INTERRUPT = getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT)


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
        tell: Callable[[str], None],
        output: IO[str] | None = None,
    ) -> None:
        """Take the command and what is told of it, in lines.

        Args:
            command: program and arguments.
            policy: when it counts as hung, and when it is started again.
            tell: is called with each line.
            output: where the command's standard output goes; None: where ours does.
        """
        self._command = list(command)
        self._policy = policy
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

    def _run_once(self, heartbeat: Path) -> RunEnding:
        heartbeat.unlink(missing_ok=True)
        process = _start(self._command, {**os.environ, HEARTBEAT: str(heartbeat)}, self._output)
        self._process = process
        # A signal may have come before there was a process to hand it on to.
        if self._asked:
            _send(process, _INTERRUPT)
        hung = not self._ends_by_itself(process, _Pulse(heartbeat, self._policy.hung_after.total_seconds()))
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
        self._tell(f"no sign of life for {self._policy.hung_after.total_seconds():g} s: it is ended")
        for number in (_INTERRUPT, signal.SIGTERM):
            _send(process, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self._policy.grace.total_seconds())
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
        """Hand a signal on to the command, and start it no more."""
        self._asked = True
        _send(self._process, number)


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


_MOST_SECONDS = 7 * 86_400.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add when and how often the command is started again, and the command."""
    add = parser.add_argument
    policy = SupervisionPolicy()
    add(
        "--hung-after",
        metavar="SECONDS",
        type=_seconds,
        default=policy.hung_after,
        help=f"it hangs when it shows no sign of life for so long ({policy.hung_after.total_seconds():g})",
    )
    add(
        "--grace",
        metavar="SECONDS",
        type=_seconds,
        default=policy.grace,
        help="how long SIGINT, and then SIGTERM, have to end what hangs"
        f" ({policy.grace.total_seconds():g}), before it is killed",
    )
    add(
        "--restarts",
        metavar="N",
        type=_count,
        default=policy.restarts,
        help=f"start it again at most so often within the window ({policy.restarts})",
    )
    add(
        "--window",
        metavar="SECONDS",
        type=_seconds,
        default=policy.window,
        help=f"restarts that are longer ago do not count ({policy.window.total_seconds():g})",
    )
    add(
        "command",
        nargs=argparse.REMAINDER,
        metavar="-- COMMAND",
        help="what to run, such as: scrapy crawl NAME -s JOBDIR=jobs/NAME",
    )


def run(call: Call) -> int:
    """Run the command until it has ended for good."""
    options = call.options
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise WrongCallError(
            "which command? For example: scrapy dedup supervise -- scrapy crawl NAME -s JOBDIR=jobs/NAME"
        )
    if not any("JOBDIR=" in word for word in command) and not call.source.get("JOBDIR"):
        _tell("neither the command nor the project sets JOBDIR: each restart begins anew")
    policy = SupervisionPolicy(options.hung_after, options.grace, options.restarts, options.window)
    output = sys.stderr if options.json else None
    try:
        done = Supervisor(command, policy, _tell, output).run()
    except OSError as error:
        raise CommandError(f"{command[0]} cannot be started: {error}") from error
    if done.restarts or done.exit_code:
        _tell(f"{done.reason}: exit code {done.exit_code}, started again {len(done.restarts)} times")
    if options.json:
        print_json({"exit_code": done.exit_code, "reason": done.reason, "restarts": done.restarts})
    return done.exit_code


def _seconds(given: str) -> timedelta:
    seconds = float(given)
    if not 0 < seconds <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{given}: needs seconds, above 0 and at most a week")
    return timedelta(seconds=seconds)


def _count(given: str) -> int:
    count = int(given)
    if not 0 <= count <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{given}: needs a number, 0 or more")
    return count


def _tell(line: str) -> None:
    sys.stderr.write(f"scrapy dedup supervise: {one_line(line, 1_000)}\n")
    sys.stderr.flush()
