"""What the pages about a domain, a page and a template open first: the project, and what is known of it."""

import re
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Depends, Request
from msgspec import Struct
from starlette.responses import HTMLResponse, Response

from scrapy_dedup.core.domains.names import domain_name
from scrapy_dedup.report.drawing import draw
from scrapy_dedup.report.nav import Flash, Nav, path_in
from scrapy_dedup.service.domains.registry import DomainService
from scrapy_dedup.service.jobs.jobs import Job
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.web.dashboard.frame import back_to, told_of
from scrapy_dedup.web.problems import ProblemError
from scrapy_dedup.web.server import Server, server_of

REFINE: Final = "refine"
_KEY: Final = re.compile("[0-9a-f]{32}")


class Opened(Struct, frozen=True):
    """A project that a request is about."""

    request: Request
    server: Server
    project: ProjectStore

    @property
    def known(self) -> tuple[Store, ProjectStore]:
        """The store and the project in it."""
        return self.server.store, self.project

    @property
    def settings(self) -> Settings:
        """Those of the server."""
        return self.server.settings

    @property
    def domains(self) -> DomainService:
        """The project's registry."""
        return DomainService(self.server.store, self.project, self.settings)

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a whole page of the project with what is to be said of the last write."""
        return self.fragment(template, status=status, flash=told_of(self.request), **values)

    def fragment(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a piece of a page, for the script that puts it in its place."""
        projects = tuple((str(project_id), name) for project_id, name in self.server.store.project_names().items())
        nav = Nav(str(self.project.id), self.project.name, projects)
        # Forms of this session send the token; see web/security.py.
        html = draw(template, nav=nav, csrf_token=str(getattr(self.request.state, "csrf_token", "")), **values)
        # A title may hold half a character; it is shown as a question mark rather than not at all.
        return HTMLResponse(html.encode("utf-8", "replace"), status)

    def back_to(self, path: str, flash: Flash | None = None) -> Response:
        """Return the way to the page that shows what came of a write, and what is said there."""
        return back_to(self.request, path, flash)

    def path(self, *steps: str, **query: str) -> str:
        """Return the path of a page of the project; steps may be any text."""
        return path_in(str(self.project.id), *steps, **query)

    def asked(self, name: str, longest: int = 4_000) -> str:
        """Return a word of the query, "" where it is not there."""
        return self.request.query_params.get(name, "")[:longest].strip()

    def way_back(self, domain: str, page: str, **query: str) -> str:
        """Return the path of the page that one came from, by its key, or else of the domain."""
        if _KEY.fullmatch(page):
            return self.path("page", key=page, **query)
        return self.path("domains", domain, **query)

    def refine(self) -> Job | None:
        """Return the refine that the query names; None where it names none of this project."""
        text = self.asked(REFINE, 40)
        try:
            job = self.server.jobs.get(UUID(text)) if text else None
        except ValueError:
            return None
        return job if job and job.project == self.project.name and job.kind == REFINE else None


def open_project(request: Request, project_id: str) -> Opened:
    """Return the project of the path."""
    server = server_of(request)
    return Opened(request, server, server.project_of(project_id))


Here = Annotated[Opened, Depends(open_project)]


def named_domain(request: Request, domain: str) -> str:
    """Return a domain of the path as the store names it."""
    found = domain_name(domain, server_of(request).settings.domain_scope)
    if found is None:
        raise ProblemError(404, "there is no such domain")
    return found


DomainInPath = Annotated[str, Depends(named_domain)]
