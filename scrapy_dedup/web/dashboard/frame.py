"""What the dashboard's routes read and remember: fields of forms, what is said after a write, what can be undone."""

import secrets
import threading
from collections import OrderedDict
from typing import Annotated, Final, Generic, TypeVar
from urllib.parse import parse_qs

from fastapi import Depends, Request
from msgspec import Struct, field
from starlette.responses import RedirectResponse

from scrapy_dedup.report.nav import Flash

Value = TypeVar("Value")
TOLD: Final = "told"
_MOST_KEPT: Final = 200
_MOST_FIELDS: Final = 20_000
_SEE_OTHER: Final = 303
_FIRST: Final = threading.Lock()


class CodedValues(Generic[Value]):
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
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return FormFields(parse_qs(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return FormFields()


Form = Annotated[FormFields, Depends(read_fields)]


def told_of(request: Request) -> Flash | None:
    """Return what is to be said of the last write."""
    return _memory(request).flashes.find(request.query_params.get(TOLD))


def back_to(request: Request, path: str, flash: Flash | None = None) -> RedirectResponse:
    """Return the way to the page that shows what came of a write, and what is said there."""
    if flash is not None:
        path += f"{'&' if '?' in path else '?'}{TOLD}={_memory(request).flashes.keep(flash)}"
    return RedirectResponse(path, _SEE_OTHER)


def undos(request: Request) -> CodedValues[object]:
    """Return what can be taken back, by its code."""
    return _memory(request).undos


def _memory(request: Request) -> Memory:
    state = request.app.state
    with _FIRST:
        if not hasattr(state, "dashboard"):
            state.dashboard = Memory()
    memory: Memory = state.dashboard
    return memory
