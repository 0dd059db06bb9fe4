"""A Redis server for the tests of a shared queue."""

import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from tests.servers_here import Started, free_port, is_hidden, is_missing, one_for_the_run
from tests.waiting import wait_for

_DATABASES = 4096


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A database of one's own in a server on 127.0.0.1, whose memory is all that it has."""

    port: int
    database: int

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/{self.database}"

    def client(self) -> "redis.Redis":
        return redis.Redis(host="127.0.0.1", port=self.port, db=self.database, socket_timeout=10)


def _start(folder: Path) -> Started:
    program = None if is_hidden("redis") else shutil.which("redis-server")
    if program is None:
        is_missing("no redis-server here; on Debian and Ubuntu: apt-get install redis-server")
    server = RedisServer(free_port(), 0)
    # FLUSHALL would empty the databases of tests that run beside one.
    options = f"--port {server.port} --bind 127.0.0.1 --appendonly no --databases {_DATABASES} --save".split()
    renamed = ("--rename-command", "FLUSHALL", "")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([program, *options, "", *renamed], cwd=folder, stdout=log, stderr=log)

    def answers() -> bool:
        assert process.poll() is None, (folder / "log").read_text()
        with server.client() as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False

    wait_for(answers)
    return Started(process, signal.SIGTERM, {"port": server.port})


@pytest.fixture
def redis_server() -> RedisServer:
    """Return a database that nobody has used."""
    port = one_for_the_run("redis", _start)["port"]
    with RedisServer(port, 0).client() as client:
        number = client.incr("databases")
    assert isinstance(number, int)
    return RedisServer(port, number)
