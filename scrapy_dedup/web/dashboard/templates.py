"""Templates: the list, one of them with its versions, going back to one, and what people decide."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

from fastapi import APIRouter
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from scrapy_dedup.core.domains import domain_name
from scrapy_dedup.core.pages.marking import SelectorError
from scrapy_dedup.service.stored import template_upkeep
from scrapy_dedup.service.templates.layout_figures import UnknownLayoutError, name_of
from scrapy_dedup.store.records.stored import StoredTemplate
from scrapy_dedup.web.dashboard.frame import DomainInPath, Flash, Form, Here, Opened
from scrapy_dedup.web.problems import ProblemError


class TemplateView(Struct, frozen=True):
    """A layout's template as the dashboard shows it.

    Attributes:
        layout: as people name it: 16 hexadecimal digits, or `rest`.
        shown: the version that is shown.
        versions: that are kept, newest first.
        error: what is wrong with the selector that was typed; "" for nothing.
        typed: (action, selector).
    """

    layout: str
    shown: template_upkeep.ShownTemplate
    versions: Sequence[StoredTemplate]
    diff: template_upkeep.TemplateDiff | None = None
    error: str = ""
    typed: tuple[str, str] = ("keep", "")

    @property
    def domain(self) -> str:
        """The domain that has the layout."""
        return self.shown.stored.domain

    @property
    def options(self) -> list[tuple[str, str]]:
        """The versions to choose from, with their states."""
        words = {"probation": "on probation"}
        states = ((each.version, words.get(each.state, each.state)) for each in self.versions)
        return [(str(version), f"version {version}, {state}") for version, state in states]

    @property
    def compared(self) -> tuple[int, int]:
        """The two versions that are compared, or would be: the shown one with the one before it."""
        if self.diff:
            return self.diff.before.version, self.diff.after.version
        present = self.shown.stored.version
        older = (each.version for each in self.versions if each.version < present)
        return next(older, self.versions[-1].version), present


def template_view(
    versions: Sequence[StoredTemplate], version: int | None = None, against: int | None = None
) -> TemplateView:
    """Return one version of a template, the present one by default, compared with another if one is named.

    Raises:
        TemplateChoiceError: there is no such version.
    """
    shown = template_upkeep.show_version(versions, version)
    other = template_upkeep.present_of(versions, against) if against is not None else None
    difference = template_upkeep.diff(other, shown.stored) if other is not None else None
    return TemplateView(name_of(shown.stored.layout), shown, versions, difference)


router = APIRouter(prefix="/p/{project_id}/templates")
_ACTIONS: Final = ("keep", "drop", "forget")
_LONGEST_SELECTOR: Final = 2_000
_MOST_ROWS: Final = 200


@router.get("")
def templates(here: Here) -> Response:
    """Return the templates of the project, or of one domain (`domain`)."""
    domain = here.asked("domain", 300)
    domain = domain_name(domain, here.settings.domain_scope) or domain
    # Each has a template at least.
    names = [domain] if domain else here.project.template_domains(limit=_MOST_ROWS + 1)
    try:
        found = template_upkeep.list_templates(here.project, names[:_MOST_ROWS])
    except UnknownLayoutError:
        found = []
    rows = [(name_of(figures.layout), figures, versions) for figures, versions in found[:_MOST_ROWS]]
    has_more = max(len(names), len(found)) > _MOST_ROWS
    return here.show("templates.html", rows=rows, has_more=has_more, domain=domain)


@router.get("/{domain}/{layout}")
def one_template(here: Here, domain: DomainInPath, layout: str) -> Response:
    """Return a layout's template: the present version, or `version`, compared with `against`."""
    versions = template_upkeep.versions_of(here.project, domain, layout)
    version, against = _number(here.asked("version", 10)), _number(here.asked("against", 10))
    return here.show("template.html", view=template_view(versions, version, against))


@router.get("/{domain}/{layout}/rollback")
def look_at_rollback(here: Here, domain: DomainInPath, layout: str) -> Response:
    """Return which pages would change if a former version (`version`) cut them."""
    change = _desk(here, dry_run=True).roll_back(domain, layout, _number(here.asked("version", 10)))
    view = template_view(template_upkeep.versions_of(here.project, domain, layout))
    return here.show("confirm.html", view=view, trial=change.trial, version=str(change.version))


@router.post("/{domain}/{layout}/rollback")
def rollback(here: Here, domain: DomainInPath, layout: str, fields: Form) -> Response:
    """Let a former version cut again, exactly as it did."""
    change = _desk(here, dry_run=False).roll_back(domain, layout, _number(fields.one("version")))
    told = (
        f"Version {change.version} is live again. Pages that come from now on are cut by it; refine cleans stored ones."
    )
    return here.back_to(here.path("templates", domain, layout), Flash(told))


@router.post("/{domain}/{layout}/override")
def override(here: Here, domain: DomainInPath, layout: str, fields: Form) -> Response:
    """Return what a decision about a selector would change; once that is confirmed, make it."""
    versions = template_upkeep.versions_of(here.project, domain, layout)
    action, selector = fields.one("action"), fields.one("selector")[:_LONGEST_SELECTOR]
    if action not in _ACTIONS:
        raise ProblemError(400, "the form does not say what to decide")
    path = here.path("templates", domain, layout)
    try:
        desk = _desk(here, dry_run=not fields.one("confirmed"))
        change = desk.override(domain, layout, [(cast("template_upkeep.Action", action), selector)])
    except (SelectorError, template_upkeep.TemplateChoiceError) as error:
        view = replace(template_view(versions), error=str(error), typed=(action, selector))
        return here.show("template.html", status=422, view=view)
    if not change.changed:
        return here.back_to(path, Flash("That is decided already: nothing was changed."))
    if not change.dry_run:
        return here.back_to(path, Flash(f"Version {change.version} has the decision. Refine cleans stored pages."))
    sent: dict[str, Any] = {"action": action, "selector": selector, "version": ""}
    return here.show("confirm.html", view=template_view(versions), trial=change.trial, **sent)


def _desk(here: Opened, *, dry_run: bool) -> template_upkeep.TemplateDesk:
    return template_upkeep.TemplateDesk(here.project, here.settings, datetime.now(UTC), dry_run=dry_run)


def _number(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ProblemError(422, f"{text[:40]!r} is no number of a version")
    return int(text)
