"""What all of the dashboard's routes share: the page around a content, forms, and what is said after a write."""

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Generic, TypeVar
from urllib.parse import parse_qs, quote, urlencode

from fastapi import Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse

from scrapy_dedup.report.drawing import draw
from scrapy_dedup.report.nav import Flash, Nav
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.web.server import server_of

Value = TypeVar("Value")
TOLD: Final = "told"
_MOST_KEPT: Final = 200
_MOST_FIELDS: Final = 20_000
_SEE_OTHER: Final = 303
_FIRST: Final = threading.Lock()


class Kept(Generic[Value]):
    """Values by a code that nobody can guess; bounded, the oldest make room, and gone with the server."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Value] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, value: Value) -> str:
        """Return the code of a value."""
        code = secrets.token_urlsafe(12)
        with self._lock:
            self._kept[code] = value
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return code

    def find(self, code: str | None) -> Value | None:
        """Return a value, which stays."""
        with self._lock:
            return self._kept.get(code) if code else None

    def take(self, code: str) -> Value | None:
        """Return a value, which nobody else gets after that."""
        with self._lock:
            return self._kept.pop(code, None)


@dataclass(frozen=True, slots=True)
class Memory:
    """What the dashboard remembers between two requests: what is to be said, and what can be taken back."""

    flashes: Kept[Flash] = field(default_factory=Kept)
    undos: Kept[object] = field(default_factory=Kept)


class Fields(dict[str, list[str]]):
    """The fields of a form, each with all of its values."""

    def one(self, name: str) -> str:
        """Return the first value of a field without the space around it."""
        return self.get(name, [""])[0].strip()

    def lines(self, name: str) -> list[str]:
        """Return the lines of a field that are not empty."""
        return [line.strip() for line in self.get(name, [""])[0].splitlines() if line.strip()]


async def read_fields(request: Request) -> Fields:
    """Return the fields of a form that was sent; what is no form has none."""
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return Fields(parse_qs(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return Fields()


Form = Annotated[Fields, Depends(read_fields)]


def show_page(
    request: Request, project: ProjectStore, template: str, *, status: int = 200, **values: Any
) -> HTMLResponse:
    """Return a whole page of a project with what is to be said of the last write."""
    flash = _memory(request).flashes.find(request.query_params.get(TOLD))
    return fragment(request, project, template, status=status, flash=flash, **values)


def fragment(
    request: Request, project: ProjectStore, template: str, *, status: int = 200, **values: Any
) -> HTMLResponse:
    """Return a piece of a page, for the script that puts it in its place."""
    html = draw(template, nav=nav_of(request, project), csrf_token=csrf_token(request), **values)
    # A title may hold half a character; it is shown as a question mark rather than not at all.
    return HTMLResponse(html.encode("utf-8", "replace"), status)


def nav_of(request: Request, project: ProjectStore) -> Nav:
    """Return where a reader can go."""
    projects = tuple((str(project_id), name) for project_id, name in server_of(request).store.project_names().items())
    return Nav(str(project.id), project.name, projects)


def csrf_token(request: Request) -> str:
    """Return the token that forms of this session send; see web/security.py."""
    return str(getattr(request.state, "csrf_token", ""))


def back_to(request: Request, path: str, flash: Flash | None = None, **query: str) -> RedirectResponse:
    """Return the way to the page that shows what came of a write, and what is said there."""
    if flash is not None:
        query[TOLD] = _memory(request).flashes.keep(flash)
    return RedirectResponse(f"{path}?{urlencode(query)}" if query else path, _SEE_OTHER)


def path_of(project: ProjectStore, *steps: str) -> str:
    """Return the path of a page of a project; each step may be any text."""
    return f"/p/{project.id}/" + "/".join(quote(step, safe="", errors="replace") for step in steps)


def undos(request: Request) -> Kept[object]:
    """Return what can be taken back, by its code."""
    return _memory(request).undos


def _memory(request: Request) -> Memory:
    state = request.app.state
    with _FIRST:
        if not hasattr(state, "dashboard"):
            state.dashboard = Memory()
    memory: Memory = state.dashboard
    return memory
