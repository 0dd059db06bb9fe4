"""Crawls in processes of their own, some of which are killed: a crawl a line of JSON, one after the other.

Each is forked from a process that has imported everything: most of a small crawl's time is imports.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

PATIENCE_SECONDS = 60
_LOOK_SECONDS = 0.005
# What a crawl imports, but for the reactor, which no two processes may share.
IMPORTED = (
    "alembic.runtime.migration",
    "benchmarks.failing_store",
    "benchmarks.killed_spider",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.core.scheduler",
    "scrapy.crawler",
    "scrapy.extensions.feedexport",
    "scrapy.extensions.remote_control",
    "scrapy.pipelines",
    "scrapy_dedup.plugin.addon",
    "scrapy_dedup.plugin.dupefilter",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended."""

    exit_code: int
    seconds: float

    @property
    def was_killed(self) -> bool:
        return self.exit_code == -signal.SIGKILL


class Crawls:
    """A process that waits for crawls."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def crawl(
        self, spider: str, settings: dict[str, Any], *, kill_after: float | None = None, **arguments: str
    ) -> Ended:
        """Crawl; kill the process after so many seconds unless it has ended.

        Raises:
            RuntimeError: the crawl hangs, or cannot be started.
        """
        asked = {"spider": spider, "settings": settings, "arguments": arguments, "kill_after": kill_after}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the process that starts the crawls has ended: see its traceback above")
        ended = Ended(**json.loads(answer))
        if kill_after is None and ended.seconds >= PATIENCE_SECONDS:
            raise RuntimeError(f"the crawl hangs: it was given up after {PATIENCE_SECONDS} s")
        return ended


@contextmanager
def forking() -> Iterator[Crawls]:
    """Give a process that crawls, until the block ends."""
    command = [sys.executable, "-m", "benchmarks.forked_crawls"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Crawls(process)
        assert process.stdin is not None
        process.stdin.close()


def main() -> None:
    """Do what the lines of standard input say, until there are no more."""
    for name in IMPORTED:
        # Not every Scrapy has all of them; a crawl imports what it lacks itself.
        with suppress(ModuleNotFoundError):
            importlib.import_module(name)
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answers:
        for line in sys.stdin:
            _fork(json.loads(line), answers)


def _fork(asked: dict[str, Any], answers: IO[str]) -> None:
    began = time.monotonic()
    child = os.fork()
    if not child:
        _be_the_crawl(asked)
    until = began + (PATIENCE_SECONDS if asked["kill_after"] is None else asked["kill_after"])
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            break
        if time.monotonic() >= until:
            # Not reaped yet, so that the number is nobody else's.
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            break
        time.sleep(_LOOK_SECONDS)
    ended = {"exit_code": os.waitstatus_to_exitcode(status), "seconds": time.monotonic() - began}
    answers.write(json.dumps(ended) + "\n")
    answers.flush()


def _be_the_crawl(asked: dict[str, Any]) -> None:
    """Crawl, and end the process."""
    from scrapy.crawler import CrawlerProcess  # noqa: PLC0415

    code = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1):
            os.dup2(null, standard)
        process = CrawlerProcess(asked["settings"])
        process.crawl(asked["spider"], **asked["arguments"])
        process.start()
        code = int(process.bootstrap_failed)
    except Exception:  # noqa: BLE001 - the process ends here, whatever it is
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
