"""Templates: the list, one of them with its versions, going back to one, and what people decide."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, cast

from fastapi import APIRouter
from starlette.responses import Response

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.report.nav import Flash
from scrapy_dedup.service.stored.template_trial import try_template
from scrapy_dedup.service.stored.template_upkeep import Action, add_decided, decided, former_of, present_of, roll_back
from scrapy_dedup.service.views.template_views import template_list, template_versions, template_view
from scrapy_dedup.web.dashboard.frame import Form
from scrapy_dedup.web.dashboard.opened import DomainInPath, Here
from scrapy_dedup.web.problems import ProblemError

router = APIRouter(prefix="/p/{project_id}/templates")
_ACTIONS: Final = ("keep", "drop", "forget")
_LONGEST_SELECTOR: Final = 2_000
_MOST_ROWS: Final = 200


@router.get("")
def templates(here: Here) -> Response:
    """Return the templates of the project, or of one domain (`domain`)."""
    view = template_list(here.project, here.asked("domain", 300).lower(), _MOST_ROWS)
    return here.show("templates.html", view=view)


@router.get("/{domain}/{layout}")
def one_template(here: Here, domain: DomainInPath, layout: str) -> Response:
    """Return a layout's template: the present version, or `version`, compared with `against`."""
    versions = template_versions(here.project, domain, layout)
    version, against = _number(here.asked("version", 10)), _number(here.asked("against", 10))
    return here.show("template.html", view=template_view(versions, version, against))


@router.get("/{domain}/{layout}/rollback")
def look_at_rollback(here: Here, domain: DomainInPath, layout: str) -> Response:
    """Return which pages would change if a former version (`version`) cut them."""
    versions = template_versions(here.project, domain, layout)
    present = present_of(versions)
    chosen = former_of(versions, _number(here.asked("version", 10)))
    trial = try_template(*here.known, present, chosen, here.settings)
    view = template_view(versions)
    return here.show("confirm.html", view=view, trial=trial, version=str(chosen.version))


@router.post("/{domain}/{layout}/rollback")
def rollback(here: Here, domain: DomainInPath, layout: str, fields: Form) -> Response:
    """Let a former version cut again, exactly as it did."""
    versions = template_versions(here.project, domain, layout)
    chosen = former_of(versions, _number(fields.one("version")))
    roll_back(here.project, chosen, present_of(versions), datetime.now(UTC))
    told = (
        f"Version {chosen.version} is live again. Pages that come from now on are cut by it; refine cleans stored ones."
    )
    return here.back_to(here.path("templates", domain, layout), Flash(told))


@router.post("/{domain}/{layout}/override")
def override(here: Here, domain: DomainInPath, layout: str, fields: Form) -> Response:
    """Return what a decision about a selector would change; once that is confirmed, make it."""
    versions = template_versions(here.project, domain, layout)
    present, at = present_of(versions), datetime.now(UTC)
    action, selector = fields.one("action"), fields.one("selector")[:_LONGEST_SELECTOR]
    if action not in _ACTIONS:
        raise ProblemError(400, "the form does not say what to decide")
    path = here.path("templates", domain, layout)
    try:
        after = decided(present, [(cast("Action", action), selector)], at)
    except DedupError as error:
        view = replace(template_view(versions), error=str(error), typed=(action, selector))
        return here.show("template.html", status=422, view=view)
    if after is None:
        return here.back_to(path, Flash("That is decided already: nothing was changed."))
    if fields.one("confirmed"):
        version = add_decided(here.project, after, at)
        return here.back_to(path, Flash(f"Version {version} has the decision. Refine cleans stored pages."))
    trial = try_template(*here.known, present, after, here.settings)
    sent: dict[str, Any] = {"action": action, "selector": selector, "version": ""}
    return here.show("confirm.html", view=template_view(versions), trial=trial, **sent)


def _number(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ProblemError(422, f"{text[:40]!r} is no number of a version")
    return int(text)
