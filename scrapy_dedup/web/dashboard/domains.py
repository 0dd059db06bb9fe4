"""The registry: its table, and changes of many domains at once, which are shown before they are made."""

from datetime import UTC, datetime
from typing import Final, cast, get_args

from fastapi import APIRouter
from starlette.responses import Response

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.report.dashboard_values import TableChoice
from scrapy_dedup.report.nav import Button, Flash
from scrapy_dedup.report.numbers import count
from scrapy_dedup.service.domains.registry import CursorError
from scrapy_dedup.service.report.dashboard_domains import (
    ChangePlan,
    DomainFormError,
    Verb,
    carry_out,
    domain_table,
    plan_change,
    read_until,
    take_back,
)
from scrapy_dedup.web.dashboard.frame import Form, undos
from scrapy_dedup.web.dashboard.opened import Here, Opened
from scrapy_dedup.web.problems import ProblemError

router = APIRouter(prefix="/p/{project_id}/domains")
_DONE: Final = {"blacklist": "blacklisted", "unblacklist": "taken off the blacklist", "register": "registered"}
_AT_ONCE: Final = 50
_LONGEST_PATTERN: Final = 200
_LONGEST_REASON: Final = 500


@router.get("")
def domain_list(here: Here) -> Response:
    """Return the table of domains: `q`, `status`, `sort`, `order` (up, down) and `after` say which part of it."""
    sort, _, order = (here.asked("sort") or "name").partition(".")
    choice = TableChoice(
        pattern=here.asked("q", _LONGEST_PATTERN),
        status=here.asked("status"),
        sort=sort,
        descending=(here.asked("order") or order) == "down",
        after=here.asked("after"),
        limit=_AT_ONCE,
    )
    try:
        table = domain_table(here.domains, choice)
    except CursorError:
        return here.back_to(here.path("domains"), Flash("That part of the list is gone.", "wrong"))
    return here.show("domains.html", table=table, counts=here.domains.counts(), choice=choice, at=datetime.now(UTC))


@router.post("/change")
def change_domains(here: Here, fields: Form) -> Response:
    """Return what a change would do; once that is confirmed, do it."""
    verb = fields.one("verb")
    texts = [*fields.get("domain", []), *fields.lines("names")]
    if verb not in get_args(Verb):
        raise ProblemError(400, "the form does not say what to do")
    path, at = here.path("domains"), datetime.now(UTC)
    if not texts:
        return here.back_to(path, Flash("No domain was chosen.", "wrong"))
    wrong, until = "", None
    try:
        plan = plan_change(here.domains, here.settings, cast("Verb", verb), texts, at)
    except DomainFormError as error:
        return here.back_to(path, Flash(str(error), "wrong"))
    try:
        until = read_until(fields.one("until"), at)
    except DomainFormError as error:
        wrong = str(error)
    if fields.one("confirmed") and not wrong:
        carry_out(here.domains, plan, at, reason=fields.one("reason")[:_LONGEST_REASON], expires_at=until)
        return here.back_to(path, _told(here, plan))
    sent = {"names": "\n".join(texts), "reason": fields.one("reason"), "until": fields.one("until")}
    return here.show("change.html", verb=verb, steps=plan.steps, sent=sent, wrong=wrong)


@router.post("/undo")
def undo_change(here: Here, fields: Form) -> Response:
    """Take back a change that was made here."""
    plan = undos(here.request).take(fields.one("code"))
    path = here.path("domains")
    if not isinstance(plan, ChangePlan):
        told = "That change cannot be taken back any more: it was already, or the server was started anew."
        return here.back_to(path, Flash(told, "wrong"))
    try:
        number = take_back(here.domains, plan, datetime.now(UTC))
    except DedupError as error:
        return here.back_to(path, Flash(str(error), "wrong"))
    return here.back_to(path, Flash(f"{count(number, 'domain')} as before."))


def _told(here: Opened, plan: ChangePlan) -> Flash:
    text = f"{count(len(plan.names), 'domain')} {_DONE[plan.verb]}."
    if plan.verb == "register":
        return Flash(text)
    code = undos(here.request).keep(plan)
    return Flash(text, undo=Button("Undo", here.path("domains", "undo"), (("code", code),)))
