"""Templates: the list, one of them with its versions, going back to one, and what people decide."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, cast

from fastapi import APIRouter
from starlette.responses import Response

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.report.dashboard_frame import Flash, button, form, hidden
from scrapy_dedup.report.dashboard_parts import template_path
from scrapy_dedup.report.dashboard_templates import MOST_ROWS, confirm_content, list_content, template_content
from scrapy_dedup.report.dashboard_values import TemplateView
from scrapy_dedup.report.markup import Html, isolated, joined
from scrapy_dedup.service.template_trial import try_template
from scrapy_dedup.service.template_upkeep import Action, add_decided, decided, former_of, present_of, roll_back
from scrapy_dedup.service.template_views import template_list, template_versions, template_view, trial_view
from scrapy_dedup.store.stored import StoredTemplate
from scrapy_dedup.web.dashboard.frame import Fields, Form, back_to, show
from scrapy_dedup.web.dashboard.opened import DomainInPath, Here, Opened
from scrapy_dedup.web.problems import ProblemError

router = APIRouter(prefix="/p/{project_id}/templates")
_ACTIONS: Final = ("keep", "drop", "forget")
_WORDS: Final = {"keep": "Keep", "drop": "Leave out", "forget": "Forget the decision about"}
_LONGEST_SELECTOR: Final = 2_000


@router.get("")
def templates(here: Here) -> Response:
    """Return the templates of the project, or of one domain (`domain`)."""
    view = template_list(here.project, here.asked("domain", 300).lower(), here.base, MOST_ROWS)
    return show(here.request, here.project, "templates", "Templates", list_content(view))


@router.get("/{domain}/{layout}")
def one_template(here: Here, domain: DomainInPath, layout: str) -> Response:
    """Return a layout's template: the present version, or `version`, compared with `against`."""
    versions = template_versions(here.project, domain, layout)
    version, against = _number(here.asked("version", 10)), _number(here.asked("against", 10))
    return _shown(here, template_view(versions, here.base, version, against))


@router.get("/{domain}/{layout}/rollback")
def look_at_rollback(here: Here, domain: DomainInPath, layout: str) -> Response:
    """Return which pages would change if a former version (`version`) cut them."""
    versions = template_versions(here.project, domain, layout)
    present = present_of(versions)
    chosen = former_of(versions, _number(here.asked("version", 10)))
    trial = trial_view(try_template(*here.known, present, chosen, here.settings))
    view = template_view(versions, here.base)
    fields = joined([hidden("version", str(chosen.version)), _confirm(f"Go back to version {chosen.version}")])
    go_on = form(template_path(here.base, domain, view.layout, "rollback"), fields, here.csrf_token, kind="inline")
    title = Html(f"Go back to version {chosen.version}?")
    return show(here.request, here.project, "templates", "Go back?", confirm_content(view, trial, title, go_on))


@router.post("/{domain}/{layout}/rollback")
def rollback(here: Here, domain: DomainInPath, layout: str, fields: Form) -> Response:
    """Let a former version cut again, exactly as it did."""
    versions = template_versions(here.project, domain, layout)
    chosen = former_of(versions, _number(fields.one("version")))
    roll_back(here.project, chosen, present_of(versions), datetime.now(UTC))
    told = (
        f"Version {chosen.version} is live again. Pages that come from now on are cut by it; refine cleans stored ones."
    )
    return back_to(here.request, template_path(here.base, domain, layout), Flash(told))


@router.post("/{domain}/{layout}/override")
def override(here: Here, domain: DomainInPath, layout: str, fields: Form) -> Response:
    """Return what a decision about a selector would change; once that is confirmed, make it."""
    versions = template_versions(here.project, domain, layout)
    present, at = present_of(versions), datetime.now(UTC)
    action, selector = fields.one("action"), fields.one("selector")[:_LONGEST_SELECTOR]
    if action not in _ACTIONS:
        raise ProblemError(400, "the form does not say what to decide")
    path = template_path(here.base, domain, layout)
    try:
        after = decided(present, [(cast("Action", action), selector)], at)
    except DedupError as error:
        view = replace(template_view(versions, here.base), error=str(error), typed=(action, selector))
        return _shown(here, view, status=422)
    if after is None:
        return back_to(here.request, path, Flash("That is decided already: nothing was changed."))
    if fields.one("confirmed"):
        version = add_decided(here.project, after, at)
        return back_to(here.request, path, Flash(f"Version {version} has the decision. Refine cleans stored pages."))
    return _foreseen(here, versions, after, fields)


def _foreseen(here: Opened, versions: Sequence[StoredTemplate], after: StoredTemplate, fields: Fields) -> Response:
    present, view = present_of(versions), template_view(versions, here.base)
    trial = trial_view(try_template(*here.known, present, after, here.settings))
    action, selector = fields.one("action"), fields.one("selector")
    sent = [hidden("action", action), hidden("selector", selector), hidden("confirmed", "1"), _confirm("Decide so")]
    path = template_path(here.base, present.domain, view.layout, "override")
    go_on = form(path, joined(sent), here.csrf_token, kind="inline")
    title = Html(f"{_WORDS[action]} <code>{isolated(selector, 200)}</code>?")
    return show(here.request, here.project, "templates", "Decide?", confirm_content(view, trial, title, go_on))


def _shown(here: Opened, view: TemplateView, *, status: int = 200) -> Response:
    content = template_content(view, here.csrf_token)
    response = show(here.request, here.project, "templates", f"Template of {view.domain}", content)
    response.status_code = status
    return response


def _confirm(label: str) -> Html:
    return button(label, kind="primary")


def _number(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ProblemError(422, f"{text[:40]!r} is no number of a version")
    return int(text)
