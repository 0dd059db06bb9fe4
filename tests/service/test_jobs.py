import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import pytest

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service.jobs import (
    ENDED,
    Job,
    JobCancelledError,
    Jobs,
    JobState,
    Progress,
    TooManyJobsError,
    _started,
    run_verb,
)

WAIT = 30.0


class Gate:
    """Work that begins, says how far it is, and goes on when it is let."""

    def __init__(self) -> None:
        self.began, self.goes_on = threading.Event(), threading.Event()

    def __call__(self, progress: Progress) -> dict[str, object]:
        progress(1, 2)
        self.began.set()
        assert self.goes_on.wait(WAIT)
        progress(2, 2)
        return {"found": 1}


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    with closing(Jobs(kept=5, most_waiting=3)) as found:
        yield found


def _ended(jobs: Jobs, job: Job) -> Job:
    """Wait for a job: whatever was started after it has run then."""
    done = threading.Event()
    jobs.start("last", job.project, lambda _progress: done.set() or {})  # type: ignore[func-returns-value]
    assert done.wait(WAIT)
    found = jobs.get(job.id)
    assert found is not None
    return found


def test_a_job_tells_how_far_it_is_and_what_came_of_it(jobs):
    work = Gate()
    job = jobs.start("analyze", "shop", work)
    assert work.began.wait(WAIT)
    running = jobs.get(job.id)
    work.goes_on.set()
    ended = _ended(jobs, job)

    assert (running.state, running.done, running.total) == (JobState.RUNNING, 1, 2)
    assert (ended.state, ended.done, ended.result) == (JobState.DONE, 2, {"found": 1})
    assert ended.created_at <= (ended.started_at or ended.created_at) <= (ended.ended_at or ended.created_at)


def test_one_job_runs_at_a_time(jobs):
    first, second = Gate(), Gate()
    jobs.start("a", "shop", first)
    waiting = jobs.start("b", "shop", second)
    assert first.began.wait(WAIT)

    found = jobs.get(waiting.id)
    assert found.state is JobState.WAITING
    assert not second.began.is_set()
    second.goes_on.set()
    first.goes_on.set()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (DedupError("no pages"), "no pages"),
        (OSError("disk"), "disk"),
        (KeyError("x"), "an internal error; the log tells"),
    ],
)
def test_a_job_that_fails_says_why(jobs, error, told):
    def work(_progress: Progress) -> dict[str, object]:
        raise error

    ended = _ended(jobs, jobs.start("a", "shop", work))

    assert (ended.state, ended.error, ended.result) == (JobState.FAILED, told, None)


def test_a_job_that_runs_is_cancelled_when_it_looks_up(jobs):
    work = Gate()
    job = jobs.start("a", "shop", work)
    assert work.began.wait(WAIT)
    jobs.cancel(job.id)
    work.goes_on.set()

    assert _ended(jobs, job).state is JobState.CANCELLED


def test_a_job_that_waits_is_cancelled_at_once(jobs):
    work = Gate()
    jobs.start("a", "shop", work)
    waiting = jobs.start("b", "shop", work)
    found = jobs.cancel(waiting.id)
    work.goes_on.set()

    assert (found.state, found.ended_at is not None) == (JobState.CANCELLED, True)


def test_too_many_jobs_are_refused(jobs):
    work = Gate()
    for _ in range(3):
        jobs.start("a", "shop", work)
    with pytest.raises(TooManyJobsError, match="3 jobs wait already"):
        jobs.start("a", "shop", work)
    work.goes_on.set()


def test_jobs_that_ended_long_ago_are_forgotten(jobs):
    started = [_ended(jobs, jobs.start("a", f"shop {number}", lambda _progress: {})) for number in range(6)]

    assert jobs.get(started[0].id) is None
    assert len(jobs.list()) <= 6
    assert jobs.list("shop 5")[0].state in ENDED
    assert jobs.get(uuid4()) is jobs.cancel(uuid4()) is None


def test_the_end_of_a_server_ends_its_jobs():
    work = Gate()
    jobs = Jobs()
    running, waiting = jobs.start("a", "shop", work), jobs.start("b", "shop", work)
    assert work.began.wait(WAIT)
    work.goes_on.set()
    jobs.close()

    for job in (running, waiting):
        found = jobs.get(job.id)
        assert found.state in ENDED


def test_a_command_is_ended_with_its_job(tmp_path):
    asked = []

    def progress(_done: int, _total: int | None) -> None:
        asked.append(1)
        if len(asked) > 1:
            raise JobCancelledError("enough")

    with pytest.raises(JobCancelledError):
        run_verb(["doctor"], tmp_path, progress)


@pytest.mark.skipif(sys.platform == "win32", reason="groups of processes are those of POSIX")
def test_a_signal_at_the_terminal_does_not_reach_the_command(tmp_path):
    """It would get a second one when its job is cancelled, of which a crawl ends without what it holds."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = "import os; print(os.getpgrp())"
        with _started([sys.executable, "-c", code], tmp_path, out, err) as process:
            process.wait(60)
        out.seek(0)

        assert int(out.read()) == process.pid != os.getpgrp()
