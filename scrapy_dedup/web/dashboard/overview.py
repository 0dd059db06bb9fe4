"""The first page of a project, its runs and jobs, and the parts of a page that follow what is under way."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Generic, TypeVar
from uuid import UUID

from fastapi import APIRouter
from msgspec import Struct
from starlette.responses import RedirectResponse, Response

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service.jobs import Job
from scrapy_dedup.service.report.dashboard import FrontPage, RunRow, front_page, live_run, quick_front_page, run_page
from scrapy_dedup.web.dashboard.frame import Flash, Here, Opened
from scrapy_dedup.web.problems import ProblemError

Key = TypeVar("Key")
Answer = TypeVar("Answer")

# What took long is kept for twenty times as long, so that making it costs a twentieth of a core at most; what was quick
# is made anew each time.
_KEPT_TIMES: Final = 20
_QUICK_SECONDS: Final = 0.1

router = APIRouter(prefix="/p/{project_id}")

# So long a reader waits for the sums; beyond it he gets older ones, or others that are quicker to have.
_WAIT_SECONDS: Final = 2.0


class _CachedAnswer(Struct, Generic[Answer]):
    """An answer as it was made last, and the making of the next."""

    answer: Answer | None = None
    seconds: float = 0.0
    until: float = 0.0
    made: threading.Event | None = None
    error: DedupError | None = None


class Slow(Generic[Key, Answer]):
    """Answers by key; any thread may ask. As many are kept as there are keys: projects, not pages."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._entries: dict[Key, _CachedAnswer[Answer]] = {}
        self._lock = threading.Lock()
        self._clock = clock

    def page(self, key: Key, make: Callable[[], Answer], *, wait_seconds: float) -> Answer | None:
        """Return an answer, made now or a while ago; None: it still takes a while, so ask again.

        *make* is called in another thread, once at a time for each key; *wait_seconds* is for an answer that is not
        known to take longer.

        Raises:
            DedupError: it could not be made; raised once.
        """
        with self._lock:
            entry = self._entries.setdefault(key, _CachedAnswer())
            if entry.answer is not None and self._clock() < entry.until:
                return entry.answer
            made = entry.made
            if made is None:
                made = entry.made = threading.Event()
                threading.Thread(target=self._make, args=(entry, make, made), name="dedup-sums", daemon=True).start()
            is_slow = entry.seconds > wait_seconds
        if not is_slow:
            made.wait(wait_seconds)
        with self._lock:
            if entry.error is not None:
                error, entry.error = entry.error, None
                raise error
            return entry.answer

    def _make(self, entry: _CachedAnswer[Answer], make: Callable[[], Answer], made: threading.Event) -> None:
        answer, error, began = None, None, self._clock()
        try:
            answer = make()
        except DedupError as found:
            error = found
        finally:
            ended = self._clock()
            seconds = ended - began
            with self._lock:
                entry.answer = entry.answer if answer is None else answer
                entry.error, entry.made, entry.seconds = error, None, seconds
                entry.until = ended + _KEPT_TIMES * seconds if seconds > _QUICK_SECONDS else ended
            made.set()


@router.get("")
def without_slash(here: Here) -> Response:
    """Return the way to a project's first page."""
    return RedirectResponse(here.path(), 303)


@router.get("/")
def overview(here: Here) -> Response:
    """Return a project's first page."""
    return here.show("overview.html", front=_front(here))


@router.get("/sums")
def sums(here: Here) -> Response:
    """Return the figures of a project's first page, as a piece of it."""
    return here.fragment("sums.html", front=_front(here))


def _front(here: Opened) -> FrontPage:
    at, project = datetime.now(UTC), here.project
    fronts: Slow[UUID, FrontPage] = here.request.app.state.fronts
    page = fronts.page(project.id, lambda: front_page(here.project, here.settings, at), wait_seconds=_WAIT_SECONDS)
    return page if page is not None else quick_front_page(here.project, at)


_AT_ONCE: Final = 20
_MOST: Final = 5_000
_JOBS_SHOWN: Final = 20


@router.get("/runs")
def run_list(here: Here, limit: int = _AT_ONCE) -> Response:
    """Return all runs, newest first, and the jobs."""
    limit = min(max(limit, 1), _MOST)
    runs = [RunRow.of(each, datetime.now(UTC)) for each in here.project.runs(limit + 1)]
    older = [("Older runs", f"{here.path('runs')}?limit={min(2 * limit, _MOST)}")] if len(runs) > limit else []
    return here.show("runs.html", runs=runs[:limit], jobs=_jobs(here), older=older)


@router.get("/runs/{run_id}")
def one_run(here: Here, run_id: str, verdict: str = "") -> Response:
    """Return one run: what it found, and what its layers did."""
    page = run_page(here.project, here.settings, datetime.now(UTC), run_id=run_id, verdict=verdict)
    if page is None:
        raise ProblemError(404, "this project has no such run")
    return here.show("run.html", page=page)


@router.get("/runs/{run_id}/live")
def run_progress(here: Here, run_id: str) -> Response:
    """Return how far a run is, as a piece of a page."""
    run = live_run(here.project, datetime.now(UTC), run_id)
    if run is None:
        raise ProblemError(404, "this project has no such run")
    return here.fragment("run_live.html", run=run)


@router.get("/jobs")
def job_list(here: Here) -> Response:
    """Return the jobs with their progress, as a piece of a page."""
    return here.fragment("jobs.html", jobs=_jobs(here))


@router.post("/jobs/{job_id}/cancel")
def cancel_job(here: Here, job_id: UUID) -> Response:
    """End a job as soon as it looks up."""
    job = here.server.jobs.get(job_id)
    if job is None or job.project != here.project.name:
        raise ProblemError(404, "this project has no such job")
    here.server.jobs.cancel(job_id)
    return here.back_to(here.path("runs"), Flash(f"Cancelling {job.kind}."))


def _jobs(here: Opened) -> list[Job]:
    return here.server.jobs.list(here.project.name)[:_JOBS_SHOWN]
