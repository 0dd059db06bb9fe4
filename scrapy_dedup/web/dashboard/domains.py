"""The registry: its table, and changes of many domains at once, which are shown before they are made."""

from datetime import UTC, datetime
from typing import Final, cast

from fastapi import APIRouter, Request
from starlette.responses import Response

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.report.dashboard_domains import (
    LONGEST_PATTERN,
    LONGEST_REASON,
    VERBS,
    change_content,
    domains_content,
)
from scrapy_dedup.report.dashboard_frame import Action, Flash
from scrapy_dedup.report.dashboard_values import TableChoice
from scrapy_dedup.report.numbers import count
from scrapy_dedup.service.dashboard_domains import (
    DomainFormError,
    Plan,
    Verb,
    carry_out,
    domain_table,
    plan_change,
    read_until,
    take_back,
)
from scrapy_dedup.service.domains import CursorError, DomainService
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.web.dashboard.frame import Fields, Form, back_to, csrf_token, nav_of, path_of, show, undos
from scrapy_dedup.web.problems import ProblemError
from scrapy_dedup.web.server import Server, server_of

router = APIRouter()
_DONE: Final = {"blacklist": "blacklisted", "unblacklist": "taken off the blacklist", "register": "registered"}
_AT_ONCE: Final = 50


@router.get("/p/{project_id}/domains")
def domain_list(request: Request, project_id: str) -> Response:
    """Return the table of domains: `q`, `status`, `sort`, `order` (up, down) and `after` say which part of it."""
    server, project = _opened(request, project_id)
    asked = request.query_params
    sort, _, order = asked.get("sort", "name").partition(".")
    choice = TableChoice(
        pattern=asked.get("q", "")[:LONGEST_PATTERN].strip(),
        status=asked.get("status", ""),
        sort=sort,
        descending=asked.get("order", order) == "down",
        after=asked.get("after", ""),
        limit=_AT_ONCE,
    )
    try:
        table = domain_table(_service(server, project), choice, datetime.now(UTC))
    except CursorError:
        return back_to(request, path_of(project, "domains"), Flash("That part of the list is gone.", "wrong"))
    content = domains_content(table, choice, nav_of(request, project, "domains"), csrf_token=csrf_token(request))
    return show(request, project, "domains", "Domains", content)


@router.post("/p/{project_id}/domains/change")
def change_domains(request: Request, project_id: str, fields: Form) -> Response:
    """Return what a change would do; once that is confirmed, do it."""
    server, project = _opened(request, project_id)
    verb = fields.one("verb")
    texts = [*fields.get("domain", []), *fields.lines("names")]
    if verb not in VERBS:
        raise ProblemError(400, "the form does not say what to do")
    if not texts:
        return back_to(request, path_of(project, "domains"), Flash("No domain was chosen.", "wrong"))
    service, at = _service(server, project), datetime.now(UTC)
    wrong, until = "", None
    try:
        plan = plan_change(service, server.settings, cast("Verb", verb), texts, at)
    except DomainFormError as error:
        return back_to(request, path_of(project, "domains"), Flash(str(error), "wrong"))
    try:
        until = read_until(fields.one("until"), at)
    except DomainFormError as error:
        wrong = str(error)
    if fields.one("confirmed") and not wrong:
        reason = fields.one("reason")[:LONGEST_REASON]
        carry_out(service, plan, at, reason=reason, expires_at=until)
        return back_to(request, path_of(project, "domains"), _told(request, project, plan))
    nav = nav_of(request, project, "domains")
    content = change_content(verb, plan.steps, _sent(fields, texts), nav, csrf_token=csrf_token(request), wrong=wrong)
    return show(request, project, "domains", "What would happen", content)


@router.post("/p/{project_id}/domains/undo")
def undo_change(request: Request, project_id: str, fields: Form) -> Response:
    """Take back a change that was made here."""
    server, project = _opened(request, project_id)
    plan = undos(request).take(fields.one("code"))
    path = path_of(project, "domains")
    if not isinstance(plan, Plan):
        told = "That change cannot be taken back any more: it was already, or the server was started anew."
        return back_to(request, path, Flash(told, "wrong"))
    try:
        number = take_back(_service(server, project), plan, datetime.now(UTC))
    except DedupError as error:
        return back_to(request, path, Flash(str(error), "wrong"))
    return back_to(request, path, Flash(f"{count(number, 'domain')} as before."))


def _told(request: Request, project: ProjectStore, plan: Plan) -> Flash:
    text = f"{count(len(plan.names), 'domain')} {_DONE[plan.verb]}."
    if plan.verb == "register":
        return Flash(text)
    code = undos(request).keep(plan)
    return Flash(text, undo=Action("Undo", path_of(project, "domains", "undo"), (("code", code),)))


def _sent(fields: Fields, texts: list[str]) -> dict[str, str]:
    return {"names": "\n".join(texts), "reason": fields.one("reason"), "until": fields.one("until")}


def _opened(request: Request, project_id: str) -> tuple[Server, ProjectStore]:
    server = server_of(request)
    return server, server.project_of(project_id)


def _service(server: Server, project: ProjectStore) -> DomainService:
    return DomainService(server.store, project, server.settings)
