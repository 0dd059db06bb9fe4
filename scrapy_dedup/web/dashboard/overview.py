"""The first page of a project."""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from scrapy_dedup.report.dashboard_overview import overview_content
from scrapy_dedup.report.dashboard_values import FrontPage
from scrapy_dedup.service.dashboard import front_page
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.web.dashboard.frame import nav_of, path_of, show
from scrapy_dedup.web.server import Server, server_of

router = APIRouter()

# Sums over all documents cost a second at a million pages. What took long is kept for twenty times as long, so that
# reading it costs a twentieth of a core at most; what was quick is made anew each time.
_KEPT_TIMES: Final = 20
_QUICK_SECONDS: Final = 0.1
_MOST_PROJECTS: Final = 50


@dataclass(frozen=True, slots=True)
class _Kept:
    page: FrontPage
    until: float


class Fronts:
    """First pages that took long to make, for a while; one thread makes each."""

    def __init__(self) -> None:
        self._kept: OrderedDict[UUID, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def page(self, server: Server, project: ProjectStore) -> FrontPage:
        """Return the first page of a project, made now or a while ago: it says when."""
        # The others wait for the first who asks rather than read the same a second time.
        with self._lock:
            began = time.monotonic()
            kept = self._kept.get(project.id)
            if kept is not None and began < kept.until:
                return kept.page
            page = front_page(server.store, project, server.settings, datetime.now(UTC))
            ended = time.monotonic()
            self._kept.pop(project.id, None)
            if ended - began > _QUICK_SECONDS:
                self._kept[project.id] = _Kept(page, ended + _KEPT_TIMES * (ended - began))
                while len(self._kept) > _MOST_PROJECTS:
                    self._kept.popitem(last=False)
            return page


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
    page = _fronts(request).page(server, project)
    return show(request, project, "overview", "Overview", overview_content(page, nav_of(request, project, "overview")))


def _fronts(request: Request) -> Fronts:
    state = request.app.state
    with _CREATING:
        if not hasattr(state, "fronts"):
            state.fronts = Fronts()
    fronts: Fronts = state.fronts
    return fronts
