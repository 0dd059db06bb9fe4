"""Errors as problem+json (RFC 9457): what is wrong, and the way out."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from msgspec import Struct, field
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from scrapy_dedup.core.errors import DedupError, InvalidError, MissingError
from scrapy_dedup.report.drawing import draw
from scrapy_dedup.service.jobs import TooManyJobsError
from scrapy_dedup.store.engine.errors import StoreError

PROBLEM: Final = "application/problem+json"
_DETAIL_CHARS: Final = 2_000
_ERRORS_SHOWN: Final = 20
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


class AsciiResponse(JSONResponse):
    """JSON in ASCII, which nobody keeps: lone surrogates, which pages may hold, are no valid UTF-8."""

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Add to the headers that it is not to be kept."""
        super().init_headers({"Cache-Control": "no-store"} | dict(headers or {}))

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


class Problem(Struct, frozen=True):
    """Why there is no answer.

    Attributes:
        detail: in a sentence, what is wrong and what to do.
        headers: that the response has, such as Retry-After.
        more: members of the problem beside those of the RFC.
    """

    status: int
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The status in words."""
        return HTTPStatus(self.status).phrase


class ProblemError(DedupError):
    """A handler has no answer; the problem says why."""

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.problem = Problem(status, detail, {name.replace("_", "-"): value for name, value in headers.items()})


def problem_response(problem: Problem) -> Response:
    """Return a problem as a response."""
    body = {
        "type": "about:blank",
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail[:_DETAIL_CHARS],
        **problem.more,
    }
    return AsciiResponse(body, problem.status, problem.headers, PROBLEM)


def problem_page(problem: Problem) -> HTMLResponse:
    """Return a problem as a page for people."""
    html = draw("problem.html", problem=problem)
    return HTMLResponse(html, problem.status, {"Cache-Control": "no-store", **problem.headers})


def refused(path: str, problem: Problem) -> Response:
    """Return a problem for programs under /api, and for people elsewhere."""
    return problem_response(problem) if path.startswith("/api/") else problem_page(problem)


_STATUSES: Final = {MissingError: 404, InvalidError: 422, TooManyJobsError: 429, StoreError: 503}


def problem_of(error: DedupError) -> Problem:
    """Return what an error of ours says to a client; nothing in it is secret."""
    if isinstance(error, ProblemError):
        return error.problem
    status = next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 409)
    is_busy = status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS)
    return Problem(status, str(error), {"Retry-After": "5"} if is_busy else {})


def add_handlers(app: FastAPI) -> None:
    """Let every error of the app be a problem."""
    app.add_exception_handler(DedupError, _ours)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, DedupError)
    return refused(request.url.path, problem_of(error))


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (methods := _methods(request)):
        headers["Allow"] = ", ".join(methods).replace("GET", "GET, HEAD")
    return refused(request.url.path, Problem(error.status_code, str(error.detail), headers))


def _methods(request: Request) -> list[str]:
    """Return by which methods a path is answered: each is a route of its own, of which Starlette names the first."""
    routes: list[BaseRoute] = request.app.routes
    return [
        method
        for method in _METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


async def _of_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [
        {"at": ".".join(str(part) for part in one["loc"])[:200], "message": str(one["msg"])[:500]}
        for one in error.errors()[:_ERRORS_SHOWN]
    ]
    detail = "; ".join(f"{one['at']}: {one['message']}" for one in found)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_of_body = any(one["at"].startswith("body") for one in found)
    if is_of_body and not kind.endswith("json") and request.url.path.startswith("/api/"):
        # What `curl -d` sends is declared as a form.
        detail = f"the body has to be JSON, with Content-Type: application/json ({detail})"
    return refused(request.url.path, Problem(422, detail, more={"errors": found}))
