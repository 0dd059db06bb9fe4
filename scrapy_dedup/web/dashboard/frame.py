"""What the dashboard's pages share: the project that is open, fields of forms, what is said after a write."""

import re
import secrets
import threading
from typing import Annotated, Any, Final, Generic, Literal, TypeVar
from urllib.parse import quote, urlencode
from uuid import UUID

from fastapi import Depends, Request
from msgspec import Struct, field
from starlette.responses import HTMLResponse, RedirectResponse, Response

from scrapy_dedup.core.domains import checked_domain
from scrapy_dedup.core.urls.seen import Latest
from scrapy_dedup.report.drawing import draw
from scrapy_dedup.service.domains.registry import DomainService
from scrapy_dedup.service.jobs import Job
from scrapy_dedup.web.security import fields_of
from scrapy_dedup.web.server import OpenProject, server_of

LONGEST_STEP: Final = 300
"""Characters of a name in a path; names of hosts have 253 at most."""


def path_in(project_id: str, *steps: str, **query: str) -> str:
    """Return the path of a page of a project; steps may be any text, what has no text is left out of the query."""
    quoted = "/".join(quote(step[:LONGEST_STEP], safe="", errors="replace") for step in steps)
    asked = urlencode({name: text for name, text in query.items() if text}, errors="replace")
    return f"/p/{project_id}/{quoted}{f'?{asked}' if asked else ''}"


class Nav(Struct, frozen=True):
    """Where a reader is, and where he can go.

    Attributes:
        project_id: as it stands in paths.
        project_name: foreign text.
        projects: (id, name) of all that there are, this one included.
    """

    project_id: str
    project_name: str
    projects: tuple[tuple[str, str], ...]

    def path(self, *steps: str, **query: str) -> str:
        """Return the path of a page of the project."""
        return path_in(self.project_id, *steps, **query)

    def domain(self, domain: str, *steps: str) -> str:
        """Return the path of the page about a domain, or of one below it."""
        return self.path("domains", domain, *steps)

    def template(self, domain: str, layout: str, *steps: str, **query: str) -> str:
        """Return the path of the page about a layout's template, or of one below it."""
        return self.path("templates", domain, layout, *steps, **query)

    def keep(self, what: str, *, domain: str = "", page: str = "", take_back: bool = False) -> str:
        """Return the path where something is kept, or not any more, after a look at what that changes."""
        return self.path("keep", what=what, domain=domain, page=page, take_back="1" if take_back else "")


class Button(Struct, frozen=True):
    """A button that sends fields to a path."""

    label: str
    path: str
    fields: tuple[tuple[str, str], ...] = ()


class Flash(Struct, frozen=True):
    """What came of what a reader just did; text is foreign, undo takes it back."""

    text: str
    kind: Literal["done", "wrong"] = "done"
    undo: Button | None = None


REFINE: Final = "refine"
_KEY: Final = re.compile("[0-9a-f]{32}")


class Opened(OpenProject, frozen=True):
    """A project that a page of the dashboard is about."""

    @property
    def memory(self) -> "Memory":
        """What is to be said, and what can be taken back."""
        found: Memory = self.request.app.state.dashboard
        return found

    @property
    def domains(self) -> DomainService:
        """The project's registry."""
        return DomainService(self.project, self.settings)

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a whole page of the project with what is to be said of the last write."""
        flash = self.memory.flashes.find(self.request.query_params.get(TOLD))
        return self.fragment(template, status=status, flash=flash, **values)

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
        if flash is not None:
            path += f"{'&' if '?' in path else '?'}{TOLD}={self.memory.flashes.keep(flash)}"
        return RedirectResponse(path, _SEE_OTHER)

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


def _opened(request: Request, project_id: str) -> Opened:
    return Opened.named(request, project_id)


Here = Annotated[Opened, Depends(_opened)]


def _domain(request: Request, domain: str) -> str:
    """Return a domain of the path as the store names it."""
    return checked_domain(domain, server_of(request).settings.domain_scope)


DomainInPath = Annotated[str, Depends(_domain)]


Value = TypeVar("Value")
TOLD: Final = "told"
_MOST_KEPT: Final = 200
_MOST_FIELDS: Final = 20_000
_SEE_OTHER: Final = 303


class CodedValues(Generic[Value]):
    """Values by a code that nobody can guess; bounded, the oldest make room, and gone with the server."""

    def __init__(self) -> None:
        self._kept: Latest[str, Value] = Latest(_MOST_KEPT)
        self._lock = threading.Lock()

    def keep(self, value: Value) -> str:
        """Return the code of a value."""
        code = secrets.token_urlsafe(12)
        with self._lock:
            self._kept[code] = value
        return code

    def find(self, code: str | None) -> Value | None:
        """Return a value, which stays."""
        with self._lock:
            return self._kept.get(code) if code else None

    def take(self, code: str) -> Value | None:
        """Return a value, which nobody else gets after that."""
        with self._lock:
            return self._kept.pop(code, None)


class Memory(Struct, frozen=True):
    """What the dashboard remembers between two requests: what is to be said, and what can be taken back."""

    flashes: CodedValues[Flash] = field(default_factory=CodedValues)
    undos: CodedValues[object] = field(default_factory=CodedValues)


class FormFields(dict[str, list[str]]):
    """The fields of a form, each with all of its values."""

    def one(self, name: str) -> str:
        """Return the first value of a field without the space around it."""
        return self.get(name, [""])[0].strip()

    def lines(self, name: str) -> list[str]:
        """Return the lines of a field that are not empty."""
        return [line.strip() for line in self.get(name, [""])[0].splitlines() if line.strip()]


async def read_fields(request: Request) -> FormFields:
    """Return the fields of a form that was sent; what is no form has none."""
    return FormFields(fields_of(await request.body(), _MOST_FIELDS))


Form = Annotated[FormFields, Depends(read_fields)]
