"""A Redis server of one's own, for the tests of a shared queue."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from tests.servers_here import free_port, is_missing

START_SECONDS = 30


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A running server on 127.0.0.1, whose memory is all that it has."""

    port: int

    @property
    def url(self) -> str:
        """Return its URL, as a user would write it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> "redis.Redis":
        """Return a new client."""
        return redis.Redis(host="127.0.0.1", port=self.port, socket_timeout=10)


@contextmanager
def running_redis(program: str, *options: str) -> Iterator[RedisServer]:
    """Start a server in a folder of its own; end it, and remove the folder."""
    folder = Path(tempfile.mkdtemp(prefix="dedup-redis-"))
    server = RedisServer(free_port())
    settings = ("--port", str(server.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *options)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([program, *settings], cwd=folder, stdout=log, stderr=log)
    try:
        _wait(process, server, folder / "log")
        yield server
    finally:
        process.terminate()
        process.wait(timeout=START_SECONDS)
        shutil.rmtree(folder)


def _wait(process: "subprocess.Popen[bytes]", server: RedisServer, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    with server.client() as client:
        while True:
            try:
                client.ping()
            except redis.ConnectionError:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.02)
            else:
                return


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One server for all tests of a worker."""
    program = shutil.which("redis-server")
    if program is None:
        message = "no redis-server here; on Debian and Ubuntu: apt-get install redis-server"
        is_missing(message)
    with running_redis(program) as server:
        yield server
