"""Runs and jobs: the list, one run, and the parts of a page that follow what is under way."""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from scrapy_dedup.service.jobs.jobs import Job
from scrapy_dedup.service.report.dashboard import live_run, run_page, run_rows
from scrapy_dedup.web.dashboard.frame import Flash, Here, Opened
from scrapy_dedup.web.problems import ProblemError

router = APIRouter(prefix="/p/{project_id}")
_AT_ONCE: Final = 20
_MOST: Final = 5_000
_JOBS_SHOWN: Final = 20


@router.get("/runs")
def run_list(here: Here, limit: int = _AT_ONCE) -> Response:
    """Return all runs, newest first, and the jobs."""
    limit = min(max(limit, 1), _MOST)
    runs = run_rows(here.project, datetime.now(UTC), limit + 1)
    older = [("Older runs", f"{here.path('runs')}?limit={min(2 * limit, _MOST)}")] if len(runs) > limit else []
    return here.show("runs.html", runs=runs[:limit], jobs=_jobs(here), older=older)


@router.get("/runs/{run_id}")
def one_run(here: Here, run_id: str, verdict: str = "") -> Response:
    """Return one run: what it found, and what its layers did."""
    page = run_page(*here.known, here.settings, datetime.now(UTC), run_id=run_id, verdict=verdict)
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
