"""Layouts and their templates: from which designs pages are built, how they are cut, and what people decide."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field

from scrapy_dedup.answers import templates as answers
from scrapy_dedup.service.stored import template_upkeep as upkeep
from scrapy_dedup.service.stored.template_upkeep import Action, TemplateDesk
from scrapy_dedup.service.templates.layout_figures import domain_layouts, find_layout
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.web.api.asked import (
    LONGEST,
    After,
    Body,
    DomainInPath,
    DomainInQuery,
    Here,
    LayoutInPath,
    Limit,
    WriteBody,
)
from scrapy_dedup.web.problems import ProblemError
from scrapy_dedup.web.server import OpenProject

router = APIRouter(prefix="/projects/{project}", tags=["templates"])
_PNG: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The picture of one of its pages, as the browser showed it.",
        "content": {"image/png": {"schema": {"type": "string", "contentMediaType": "image/png"}}},
    }
}
Selector = Annotated[str, Field(min_length=1, max_length=LONGEST, examples=["nav.menu"])]
_LAYOUT = "/domains/{domain}/templates/{layout}"
MaybeVersion = Annotated[int | None, Query(description="Not the live version, but this.", ge=0, le=10**9, examples=[1])]
VersionInQuery = Annotated[int, Query(description="The number of a version.", ge=0, le=10**9, examples=[1])]


class DecisionBody(Body):
    """What is to become of the elements that a CSS selector matches; forget: what was decided about it."""

    action: Annotated[Action, Field(examples=["keep"])]
    selector: Selector


class OverrideBody(WriteBody):
    """Decisions, in their order; of two that meet the later one counts."""

    decisions: Annotated[list[DecisionBody], Field(min_length=1, max_length=100)]


class RollbackBody(WriteBody):
    """The version to go back to; null: the last one that was live before the present one."""

    version: Annotated[int | None, Field(ge=0, le=10**9, examples=[2])] = None


@router.get("/layouts", response_description="By domain, those with most pages first.")
def list_layouts(asked: Here, domain: DomainInQuery, limit: Limit = 50, after: After = None) -> answers.LayoutsAnswer:
    """Return the designs from which pages of so many domains are built, and how many pages each run met."""
    names = [domain] if domain else asked.project.some_domains_with_layouts(limit + 1, after or "")
    found = domain_layouts(asked.project, domain or names[:limit]) if names else []
    return answers.LayoutsAnswer.of(project=asked.project.name, domains=found, next=_next(names, limit))


@router.get("/domains/{domain}/layouts/{layout}/picture", response_class=Response, responses=_PNG)
def show_layout_picture(asked: Here, domain: DomainInPath, layout: LayoutInPath) -> Response:
    """Return the picture of a layout, if the browser taught it."""
    pictures = asked.project.pictures(domain)
    found = pictures.get(find_layout(pictures, layout, domain))
    if found is None:
        raise ProblemError(404, f"there is no picture of layout {layout} of {domain}")
    return Response(bytes(found.picture), 200, {"Cache-Control": "no-store"}, "image/png")


@router.get("/templates", response_description="The present version of each template.")
def list_templates(
    asked: Here, domain: DomainInQuery, limit: Limit = 50, after: After = None
) -> answers.TemplatesAnswer:
    """Return the templates of so many domains, by domain and layout."""
    names = [domain] if domain else asked.project.template_domains(after or "", limit + 1)
    found = upkeep.list_templates(asked.project, domain or names[:limit]) if names else []
    return answers.TemplatesAnswer.made(asked.project.name, found, _next(names, limit))


@router.get(_LAYOUT, response_description="One template.")
def show_template(
    asked: Here, domain: DomainInPath, layout: LayoutInPath, version: MaybeVersion = None
) -> answers.ShownTemplatesAnswer:
    """Return the template of a layout: the live version, or the one that is asked for."""
    found = upkeep.show_templates(asked.project, domain, layout, version)
    return answers.ShownTemplatesAnswer.made(asked.project.name, found)


@router.get(f"{_LAYOUT}/diff", response_description="How they differ.")
def diff_templates(
    asked: Here, domain: DomainInPath, layout: LayoutInPath, before: VersionInQuery, after: VersionInQuery
) -> answers.TemplateDiffAnswer:
    """Return how one version of a template differs from another."""
    return answers.TemplateDiffAnswer.made(upkeep.diff_templates(asked.project, domain, layout, (before, after)))


@router.post(f"{_LAYOUT}/override", response_description="The new version, or what it would change.")
def override_template(
    asked: Here, domain: DomainInPath, layout: LayoutInPath, body: OverrideBody
) -> answers.TemplateChangeAnswer:
    """Decide about selectors; pages that come from now on are cut by it."""
    decisions = [(one.action, one.selector) for one in body.decisions]
    return answers.TemplateChangeAnswer.of(_desk(asked, dry_run=body.dry_run).override(domain, layout, decisions))


@router.post(f"{_LAYOUT}/rollback", response_description="The version that is live again, or what it would change.")
def roll_back_template(
    asked: Here, domain: DomainInPath, layout: LayoutInPath, body: RollbackBody
) -> answers.TemplateChangeAnswer:
    """Let a former version cut again, exactly as it did."""
    return answers.TemplateChangeAnswer.of(_desk(asked, dry_run=body.dry_run).roll_back(domain, layout, body.version))


def _next(names: Sequence[str], limit: int) -> str | None:
    """Return the last of so many domains where there are more."""
    return names[limit - 1] if len(names) > limit else None


def _desk(asked: OpenProject, *, dry_run: bool) -> TemplateDesk:
    return TemplateDesk(asked.project, asked.settings, now(), dry_run=dry_run)
