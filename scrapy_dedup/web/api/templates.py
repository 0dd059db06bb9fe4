"""Layouts and their templates: from which designs pages are built, how they are cut, and what people decide."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from scrapy_dedup.service import template_upkeep as upkeep
from scrapy_dedup.service.answers.layouts import layouts_answer
from scrapy_dedup.service.answers.templates import (
    template_answer,
    template_change_answer,
    template_diff_answer,
    templates_answer,
)
from scrapy_dedup.service.layout_figures import domain_layouts, find_layout
from scrapy_dedup.service.template_changes import TemplateDesk
from scrapy_dedup.service.template_diff import diff_templates
from scrapy_dedup.web import models_templates as models
from scrapy_dedup.web.api.asked import (
    After,
    Asked,
    DomainInPath,
    DomainInQuery,
    Here,
    LayoutInPath,
    Limit,
    now,
    reads,
    writes,
)
from scrapy_dedup.web.etags import answered, done, tagged
from scrapy_dedup.web.problems import ProblemError

router = APIRouter(tags=["templates"])
_PNG = {"content": {"image/png": {"schema": {"type": "string", "contentMediaType": "image/png"}}}}
_LAYOUT = "/projects/{project}/domains/{domain}/templates/{layout}"
MaybeVersion = Annotated[int | None, Query(description="Not the live version, but this.", ge=0, le=10**9, examples=[1])]
VersionInQuery = Annotated[int, Query(description="The number of a version.", ge=0, le=10**9, examples=[1])]


@router.get(
    "/projects/{project}/layouts",
    operation_id="list_layouts",
    responses=reads(models.LayoutsAnswer, "By domain, those with most pages first."),
)
def list_layouts(asked: Here, domain: DomainInQuery = None, limit: Limit = 50, after: After = None) -> Response:
    """Return the designs from which pages of so many domains are built, and how many pages each run met."""
    names = [domain.lower()] if domain else asked.project.some_domains_with_layouts(limit + 1, after or "")
    found = domain_layouts(asked.project, domain.lower() if domain else names[:limit]) if names else []
    domains = [layouts_answer(one) for one in found]
    return answered(asked.request, {"project": asked.project.name, "domains": domains, "next": _next(names, limit)})


@router.get(
    "/projects/{project}/domains/{domain}/layouts/{layout}/picture",
    operation_id="show_layout_picture",
    response_class=Response,
    responses=reads(None, "The picture of one of its pages, as the browser showed it.", **_PNG),
)
def picture(asked: Here, domain: DomainInPath, layout: LayoutInPath) -> Response:
    """Return the picture of a layout, if the browser taught it."""
    pictures = asked.project.pictures(domain)
    found = pictures.get(find_layout(pictures, layout, domain))
    if found is None:
        raise ProblemError(404, f"there is no picture of layout {layout} of {domain}")
    return tagged(asked.request, bytes(found.picture), "image/png")


@router.get(
    "/projects/{project}/templates",
    operation_id="list_templates",
    responses=reads(models.TemplatesAnswer, "The present version of each template."),
)
def list_all(asked: Here, domain: DomainInQuery = None, limit: Limit = 50, after: After = None) -> Response:
    """Return the templates of so many domains, by domain and layout."""
    names = [domain.lower()] if domain else asked.project.template_domains(after or "", limit + 1)
    found = upkeep.list_templates(asked.project, domain.lower() if domain else names[:limit]) if names else []
    return answered(asked.request, templates_answer(asked.project.name, found) | {"next": _next(names, limit)})


@router.get(_LAYOUT, operation_id="show_template", responses=reads(models.ShownTemplatesAnswer, "One template."))
def show(asked: Here, domain: DomainInPath, layout: LayoutInPath, version: MaybeVersion = None) -> Response:
    """Return the template of a layout: the live version, or the one that is asked for."""
    found = upkeep.show_templates(asked.project, domain, layout, version)
    templates = [template_answer(one) for one in found]
    return answered(asked.request, {"project": asked.project.name, "templates": templates})


@router.get(
    f"{_LAYOUT}/diff",
    operation_id="diff_templates",
    responses=reads(models.TemplateDiffAnswer, "How they differ."),
)
def diff(
    asked: Here, domain: DomainInPath, layout: LayoutInPath, before: VersionInQuery, after: VersionInQuery
) -> Response:
    """Return how one version of a template differs from another."""
    return answered(asked.request, template_diff_answer(diff_templates(asked.project, domain, layout, (before, after))))


@router.post(
    f"{_LAYOUT}/override",
    operation_id="override_template",
    responses=writes(models.TemplateChangeAnswer, "The new version, or what it would change."),
)
def override(asked: Here, domain: DomainInPath, layout: LayoutInPath, body: models.OverrideBody) -> Response:
    """Decide about selectors; pages that come from now on are cut by it."""
    decisions = [(one.action, one.selector) for one in body.decisions]
    return done(template_change_answer(_desk(asked, dry_run=body.dry_run).override(domain, layout, decisions)))


@router.post(
    f"{_LAYOUT}/rollback",
    operation_id="roll_back_template",
    responses=writes(models.TemplateChangeAnswer, "The version that is live again, or what it would change."),
)
def rollback(asked: Here, domain: DomainInPath, layout: LayoutInPath, body: models.RollbackBody) -> Response:
    """Let a former version cut again, exactly as it did."""
    return done(template_change_answer(_desk(asked, dry_run=body.dry_run).roll_back(domain, layout, body.version)))


def _next(names: Sequence[str], limit: int) -> str | None:
    """Return the last of so many domains where there are more."""
    return names[limit - 1] if len(names) > limit else None


def _desk(asked: Asked, *, dry_run: bool) -> TemplateDesk:
    return TemplateDesk(*asked.known, asked.settings, now(), dry_run=dry_run)
