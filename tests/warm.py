"""`scrapy` as a process of its own, without waiting for its imports; see `tests.warm_server`."""

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


class WarmProcess:
    """What of `subprocess.Popen` the tests use."""

    def __init__(self, server: "_Server", pid: int) -> None:
        self.pid = pid
        self._server = server

    def poll(self) -> int | None:
        return self._server.code_of(self.pid, 0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once there is one; raises TimeoutExpired."""
        code = self._server.code_of(self.pid, timeout)
        if code is None:
            raise subprocess.TimeoutExpired("scrapy", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(9)


def start_scrapy(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    stdin: str = os.devnull,
    stdout: Path | str,
    stderr: Path | str,
) -> WarmProcess:
    """Start `scrapy` in a folder; outputs are added to the files' ends."""
    call = {
        "arguments": list(arguments),
        "folder": str(folder),
        "environment": dict(environment),
        "streams": [stdin, str(stdout), str(stderr)],
    }
    return _server().start(call)


class _Server:
    """One for each process of pytest."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm_server"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._changed = threading.Condition()
        self._started: list[int] = []
        self._codes: dict[int, int] = {}
        self._has_ended = False
        threading.Thread(target=self._listen, daemon=True).start()
        atexit.register(self._end)

    def start(self, call: Mapping[str, object]) -> WarmProcess:
        self._process.stdin.write(json.dumps(call).encode() + b"\n")
        self._process.stdin.flush()
        with self._changed:
            self._changed.wait_for(lambda: self._started or self._has_ended)
            assert self._started, "the process that forks has ended"
            return WarmProcess(self, self._started.pop())

    def code_of(self, pid: int, timeout: float | None) -> int | None:
        with self._changed:
            self._changed.wait_for(lambda: pid in self._codes, timeout)
            return self._codes.get(pid)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._hear(json.loads(line))
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _hear(self, told: dict[str, int]) -> None:
        with self._changed:
            if "started" in told:
                # A number may be given again by the system.
                self._codes.pop(told["started"], None)
                self._started.append(told["started"])
            else:
                self._codes[told["ended"]] = told["code"]
            self._changed.notify_all()

    def _end(self) -> None:
        self._process.stdin.close()
        self._process.wait(10)


@cache
def _server() -> _Server:
    return _Server()
