"""A PostgreSQL and a Redis of one's own on 127.0.0.1, which can be stopped in the middle."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import redis

from tests.servers_here import free_port

START_SECONDS = 60


class Daemon:
    """A server with a folder; started when it is made."""

    def __init__(
        self, command: Sequence[str], folder: Path, *, port: int, user: str | None, answers: Callable[[int], bool]
    ) -> None:
        """Start a server as *user*, None: as whoever calls; *answers* says whether the one at a port does."""
        self._command = command
        self._folder = folder
        self._user = user
        self._answers = answers
        self.port = port
        self.start()

    @property
    def log(self) -> str:
        """What it has said since it was made."""
        return (self._folder / "log").read_text(errors="replace")

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            RuntimeError: it ends, or does not answer.
        """
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                user=self._user,
                group=self._user,
                extra_groups=[] if self._user else None,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + START_SECONDS
        while not self._answers(self.port):
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{self._command[0]} does not start: {self.log[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop it at once, connections and all; of PostgreSQL this is the mode "fast"."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(START_SECONDS)


@contextmanager
def running_redis() -> Iterator[Daemon]:
    """Give a Redis that writes down what it is told, as one for a queue should.

    Raises:
        RuntimeError: there is none here, or it does not start.
    """
    port = free_port()
    options = f"--port {port} --bind 127.0.0.1 --appendonly yes --appendfsync everysec".split()
    with _running([_found("redis-server"), *options, "--save", ""], port, answers=_redis_answers) as server:
        yield server


@contextmanager
def running_postgresql(programs: Path) -> Iterator[Daemon]:
    """Give a PostgreSQL with its own defaults; everybody on this machine may connect to it as `postgres`.

    Raises:
        RuntimeError: it does not start.
    """
    port = free_port()
    settings = ("listen_addresses=127.0.0.1", f"port={port}", "unix_socket_directories=", "log_lock_waits=on")
    options = [word for setting in settings for word in ("-c", setting)]
    first = [str(programs / "initdb"), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync", "data"]
    # PostgreSQL refuses to run as root; Debian's packages bring a user for it.
    user = "postgres" if os.geteuid() == 0 else None
    command = [str(programs / "postgres"), "-D", "data", *options]
    with _running(command, port, answers=_postgresql_answers, first=first, user=user) as server:
        yield server


@contextmanager
def _running(
    command: Sequence[str],
    port: int,
    *,
    answers: Callable[[int], bool],
    first: Sequence[str] = (),
    user: str | None = None,
) -> Iterator[Daemon]:
    folder = Path(tempfile.mkdtemp(prefix="dedup-server-"))
    try:
        if user:
            shutil.chown(folder, user, user)
        if first:
            groups: list[str] | None = [] if user else None
            subprocess.run(
                first, cwd=folder, user=user, group=user, extra_groups=groups, check=True, stdout=subprocess.DEVNULL
            )
        server = Daemon(command, folder, port=port, user=user, answers=answers)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _redis_answers(port: int) -> bool:
    with redis.Redis(port=port) as client, suppress(redis.ConnectionError):
        return bool(client.ping())
    return False


def _postgresql_answers(port: int) -> bool:
    with suppress(psycopg.OperationalError):
        psycopg.connect(f"postgresql://postgres@127.0.0.1:{port}/postgres", connect_timeout=5).close()
        return True
    return False


def _found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise RuntimeError(f"{program} is not here; on Debian and Ubuntu: apt-get install {program}")
    return path
