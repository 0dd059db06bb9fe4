"""Work that takes long, one piece after the other in a thread: what was started, how far it is, what came of it.

Also what all servers have in common: the socket on which they listen, and how a signal ends them.
"""

import json
import logging
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, Final
from uuid import UUID, uuid4

from msgspec import Struct, field
from msgspec.structs import replace

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.store.tables.columns import now

_LOOKED_UP_SECONDS: Final = 0.2
KEPT: Final = 200
MOST_WAITING: Final = 50
_ERROR_CHARS: Final = 2_000


class JobState(StrEnum):
    """How far a job is; the last three are its end."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED: Final = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})

Progress = Callable[[int, int | None], None]
"""Called with how much is done and of how much (None: nobody knows); raises JobCancelledError where it is to stop."""
Work = Callable[[Progress], dict[str, Any]]


class JobCancelledError(DedupError):
    """Somebody wants the work to stop."""


class TooManyJobsError(DedupError):
    """So many jobs wait that no more are taken."""


class Job(Struct, frozen=True):
    """A piece of work as it stands.

    Attributes:
        kind: what it does, such as `analyze-boilerplate`.
        done, total: progress; total is None while nobody knows it.
        result: of a job that is done, as the command's `--json` has it.
        error: why it failed.
    """

    id: UUID
    kind: str
    project: str
    created_at: datetime
    state: JobState = JobState.WAITING
    done: int = 0
    total: int | None = None
    result: Mapping[str, Any] | None = None
    error: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether it waits or runs."""
        return self.state not in ENDED


class _JobEntry(Struct):
    job: Job
    cancelled: threading.Event = field(default_factory=threading.Event)
    future: Future[None] | None = None


class Jobs:
    """What runs, waits, and has ended lately. Any thread may use it.

    One job runs at a time: most of them write, and a SQLite file has one writer.
    """

    def __init__(self, *, kept: int = KEPT, most_waiting: int = MOST_WAITING) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="dedup-job")
        self._lock = threading.Lock()
        self._entries: OrderedDict[UUID, _JobEntry] = OrderedDict()
        self._kept, self._most_waiting = kept, most_waiting

    def start(self, kind: str, project: str, work: Work) -> Job:
        """Take a piece of work and return its job.

        Raises:
            TooManyJobsError: too many wait already.
        """
        with self._lock:
            open_jobs = sum(entry.job.is_open for entry in self._entries.values())
            if open_jobs >= self._most_waiting:
                raise TooManyJobsError(f"{open_jobs} jobs wait already: try again when some have ended")
            entry = _JobEntry(Job(uuid4(), kind, project, now()))
            self._entries[entry.job.id] = entry
            ended = [job_id for job_id, one in self._entries.items() if not one.job.is_open]
            for job_id in ended[: max(len(self._entries) - self._kept, 0)]:
                del self._entries[job_id]
            entry.future = self._pool.submit(self._run, entry, work)
            return entry.job

    def get(self, job_id: UUID) -> Job | None:
        """Return a job as it stands; None for one that is not known, or was forgotten."""
        with self._lock:
            entry = self._entries.get(job_id)
            return entry.job if entry else None

    def list(self, project: str | None = None) -> list[Job]:
        """Return the jobs, newest first."""
        with self._lock:
            jobs = [entry.job for entry in self._entries.values()]
        return [job for job in reversed(jobs) if project in (None, job.project)]

    def cancel(self, job_id: UUID) -> Job | None:
        """Let a job end as soon as it looks up; return it as it stands, None for one that is not known."""
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is None:
                return None
            entry.cancelled.set()
            if entry.job.state is JobState.WAITING and entry.future is not None and entry.future.cancel():
                entry.job = replace(entry.job, state=JobState.CANCELLED, ended_at=now())
            return entry.job

    def close(self) -> None:
        """End all jobs, and wait for the one that runs."""
        for job in self.list():
            self.cancel(job.id)
        self._pool.shutdown(wait=True)

    def _run(self, entry: _JobEntry, work: Work) -> None:
        self._set(entry, state=JobState.RUNNING, started_at=now())

        def progress(done: int, total: int | None) -> None:
            if entry.cancelled.is_set():
                raise JobCancelledError("the job was cancelled")
            self._set(entry, done=done, total=total)

        try:
            progress(0, None)
            result = work(progress)
        except JobCancelledError:
            self._set(entry, state=JobState.CANCELLED, ended_at=now())
        except (DedupError, OSError) as error:
            self._set(entry, state=JobState.FAILED, error=str(error)[:_ERROR_CHARS], ended_at=now())
        except Exception:
            # A job's caller has gone: without this nobody would ever hear of it.
            logger.exception("Job %s (%s) failed", entry.job.id, entry.job.kind)
            self._set(entry, state=JobState.FAILED, error="an internal error; the log tells", ended_at=now())
        else:
            self._set(entry, state=JobState.DONE, result=result, ended_at=now())

    def _set(self, entry: _JobEntry, **changed: Any) -> None:
        with self._lock:
            entry.job = replace(entry.job, **changed)


_PATIENCE_SECONDS: Final = 20.0
_MOST_BYTES: Final = 20_000_000
_LONGEST_ERROR: Final = 1_000


class VerbError(DedupError):
    """A command did not do what it was asked for; the message is its own."""


def run_verb(words: Sequence[str], folder: Path, progress: Progress) -> dict[str, Any]:
    """Run `scrapy dedup WORDS --json` and return what it says.

    Args:
        words: verb, options and settings; no shell reads them.
        folder: where it runs: that of the Scrapy project.
        progress: called now and then; where it raises, the command is ended.

    Raises:
        VerbError: the command failed.
    """
    command = [sys.executable, "-m", "scrapy", "dedup", *words, "--json"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _started(command, folder, out, err) as process:
            while True:
                progress(0, None)
                try:
                    process.wait(_LOOKED_UP_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    continue
        out.seek(0)
        err.seek(0)
        return _said(out.read(_MOST_BYTES), err.read(_MOST_BYTES), process.returncode)


@contextmanager
def _started(command: list[str], folder: Path, out: IO[bytes], err: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    # In a group of its own: a Ctrl-C at the terminal comes to us alone, who pass it on as one signal. Of a second one a
    # crawl ends at once, and what it holds is lost.
    group: dict[str, Any] = {"process_group": 0}
    if sys.platform == "win32":
        group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    process = subprocess.Popen(  # noqa: S603
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, **group
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            # A crawl that is asked to end emits what it holds.
            process.terminate()
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _said(out: bytes, err: bytes, code: int) -> dict[str, Any]:
    try:
        found = json.loads(out)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found | {"exit_code": code}
    lines = err.decode("utf-8", "replace").strip().splitlines()
    told = lines[-1][:_LONGEST_ERROR] if lines else "it said nothing"
    raise VerbError(f"the command ended with exit code {code}: {told}")


logger = logging.getLogger(__name__)


_BACKLOG: Final = 128


class ListenError(DedupError):
    """The address cannot be listened on."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; port 0 is one that is free.

    Raises:
        ListenError: another program listens there, or this machine has no such address.
    """
    bare = host.strip("[]")
    try:
        family = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        # A server that ended leaves connections behind, which would hold its port for a minute.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((bare, port))
        found.listen(_BACKLOG)
    except OSError as error:
        told = f"cannot listen on {host}, port {port}: {error.strerror or error}"
        raise ListenError(f"{told}. Name another by --host and --port, or port 0 for one that is free.") from error
    return found


@contextmanager
def signals_end_it() -> Iterator[None]:
    """Let a signal end the server and nothing else: uvicorn raises it again at its end."""

    def nothing(_number: int, _frame: Any) -> None:
        pass

    former = {number: signal.signal(number, nothing) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
