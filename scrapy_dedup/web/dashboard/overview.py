"""The first page of a project."""

import threading
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from scrapy_dedup.report.dashboard_overview import overview_content, sums_content
from scrapy_dedup.report.dashboard_values import FrontPage
from scrapy_dedup.service.dashboard import front_page, quick_front_page
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.web.dashboard.frame import fragment, nav_of, path_of, show
from scrapy_dedup.web.dashboard.slow import Slow
from scrapy_dedup.web.server import Server, server_of

router = APIRouter()

# So long a reader waits for the sums; beyond it he gets older ones, or others that are quicker to have.
_WAIT_SECONDS: Final = 2.0
_CREATING: Final = threading.Lock()


@router.get("/")
def first_page(request: Request) -> Response:
    """Return the way to the project that is shown where none is asked for."""
    return RedirectResponse(path_of(server_of(request).default_project()), 303)


@router.get("/p/{project_id}")
def without_slash(request: Request, project_id: str) -> Response:
    """Return the way to a project's first page."""
    return RedirectResponse(path_of(server_of(request).project_of(project_id)), 303)


@router.get("/p/{project_id}/")
def overview(request: Request, project_id: str) -> Response:
    """Return a project's first page."""
    server = server_of(request)
    project = server.project_of(project_id)
    page = _front(request, server, project)
    return show(request, project, "overview", "Overview", overview_content(page, nav_of(request, project, "overview")))


@router.get("/p/{project_id}/sums")
def sums(request: Request, project_id: str) -> Response:
    """Return the figures of a project's first page, as a piece of it."""
    server = server_of(request)
    project = server.project_of(project_id)
    return fragment(sums_content(_front(request, server, project), nav_of(request, project, "overview")))


def _front(request: Request, server: Server, project: ProjectStore) -> FrontPage:
    at = datetime.now(UTC)
    page = _fronts(request).page(
        project.id, lambda: front_page(server.store, project, server.settings, at), wait_seconds=_WAIT_SECONDS
    )
    return page if page is not None else quick_front_page(server.store, project, at)


def _fronts(request: Request) -> Slow[UUID, FrontPage]:
    state = request.app.state
    with _CREATING:
        if not hasattr(state, "fronts"):
            state.fronts = Slow[UUID, FrontPage]()
    fronts: Slow[UUID, FrontPage] = state.fronts
    return fronts
