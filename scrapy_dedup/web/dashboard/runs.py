"""Runs and jobs: the list, one run, and the parts of a page that follow what is under way."""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import Response

from scrapy_dedup.report.dashboard_frame import Flash, pager
from scrapy_dedup.report.dashboard_overview import layers_of_run
from scrapy_dedup.report.dashboard_runs import (
    changes_panel,
    counts_panel,
    ended_card,
    jobs_panel,
    run_content,
    running_card,
    runs_content,
)
from scrapy_dedup.report.dashboard_values import JobRow
from scrapy_dedup.report.markup import joined
from scrapy_dedup.service.dashboard import live_run, run_page, run_rows
from scrapy_dedup.service.jobs import Job
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.web.dashboard.frame import back_to, csrf_token, fragment, nav_of, path_of, show
from scrapy_dedup.web.problems import ProblemError
from scrapy_dedup.web.server import Server, server_of

router = APIRouter()
_AT_ONCE: Final = 20
_MOST: Final = 5_000
_JOBS_SHOWN: Final = 20


@router.get("/p/{project_id}/runs")
def run_list(request: Request, project_id: str, limit: int = _AT_ONCE) -> Response:
    """Return all runs, newest first, and the jobs."""
    server, project = _opened(request, project_id)
    limit = min(max(limit, 1), _MOST)
    runs = run_rows(project, datetime.now(UTC), limit + 1)
    nav = nav_of(request, project, "runs")
    nexts = [("Older runs", f"limit={min(2 * limit, _MOST)}")] if len(runs) > limit else []
    content = runs_content(
        runs[:limit], _jobs(server, project), nav, csrf_token=csrf_token(request), more=pager(nav.path("runs"), nexts)
    )
    return show(request, project, "runs", "Runs", content)


@router.get("/p/{project_id}/runs/{run_id}")
def one_run(request: Request, project_id: str, run_id: str, verdict: str = "") -> Response:
    """Return one run: what it found, and what its layers did."""
    server, project = _opened(request, project_id)
    page = run_page(server.store, project, server.settings, datetime.now(UTC), run_id=run_id, verdict=verdict)
    if page is None:
        raise ProblemError(404, "this project has no such run")
    nav = nav_of(request, project, "runs")
    content = joined([run_content(page, nav), layers_of_run(page), changes_panel(page, nav), counts_panel(page.run)])
    return show(request, project, "runs", f"Run of {page.run.spider}", content)


@router.get("/p/{project_id}/runs/{run_id}/live")
def run_progress(request: Request, project_id: str, run_id: str) -> Response:
    """Return how far a run is, as a piece of a page."""
    _, project = _opened(request, project_id)
    run = live_run(project, datetime.now(UTC), run_id)
    if run is None:
        raise ProblemError(404, "this project has no such run")
    nav = nav_of(request, project, "runs")
    return fragment(running_card(run, nav, title_level=2) if run.is_running else ended_card(run, nav))


@router.get("/p/{project_id}/jobs")
def job_list(request: Request, project_id: str) -> Response:
    """Return the jobs with their progress, as a piece of a page."""
    server, project = _opened(request, project_id)
    nav = nav_of(request, project, "runs")
    return fragment(jobs_panel(_jobs(server, project), nav, csrf_token=csrf_token(request)))


@router.post("/p/{project_id}/jobs/{job_id}/cancel")
def cancel_job(request: Request, project_id: str, job_id: UUID) -> Response:
    """End a job as soon as it looks up."""
    server, project = _opened(request, project_id)
    job = server.jobs.get(job_id)
    if job is None or job.project != project.name:
        raise ProblemError(404, "this project has no such job")
    server.jobs.cancel(job_id)
    return back_to(request, path_of(project, "runs"), Flash(f"Cancelling {job.kind}."))


def job_row(job: Job) -> JobRow:
    """Return a job as a row."""
    return JobRow(str(job.id), job.kind, job.state, job.created_at, job.ended_at, job.done, job.total, job.error)


def _jobs(server: Server, project: ProjectStore) -> list[JobRow]:
    return [job_row(job) for job in server.jobs.list(project.name)[:_JOBS_SHOWN]]


def _opened(request: Request, project_id: str) -> tuple[Server, ProjectStore]:
    server = server_of(request)
    return server, server.project_of(project_id)
