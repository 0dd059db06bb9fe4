"""Templates as the dashboard shows them."""

from collections.abc import Sequence

from scrapy_dedup.report.dashboard_values import (
    Decided,
    TemplateDiffView,
    TemplateList,
    TemplateRow,
    TemplateTrial,
    TemplateView,
    TrialEffect,
    VersionRow,
)
from scrapy_dedup.report.values import Rule
from scrapy_dedup.service import template_trial
from scrapy_dedup.service.layout_figures import UnknownLayoutError, name_of
from scrapy_dedup.service.template_upkeep import (
    Line,
    TemplateDiff,
    diff,
    layout_of,
    list_templates,
    present_of,
    show_version,
    versions_of,
)
from scrapy_dedup.store.stored import StoredTemplate, TemplateFigures
from scrapy_dedup.store.writer import ProjectStore


def template_list(project: ProjectStore, domain: str, most: int) -> TemplateList:
    """Return so many templates of a project; of a domain, if one is named.

    Raises:
        StoreError: the store failed.
    """
    # Each has a template at least.
    names = [domain] if domain else project.template_domains(limit=most + 1)
    try:
        found = list_templates(project, names[:most])
    except UnknownLayoutError:
        found = []
    rows = tuple(_row(figures, versions) for figures, versions in found[:most])
    return TemplateList(rows, has_more=len(names) > most or len(found) > most, domain=domain)


def _row(figures: TemplateFigures, versions: int) -> TemplateRow:
    return TemplateRow(
        domain=figures.domain,
        layout=name_of(figures.layout),
        kind=figures.kind,
        state=figures.state,
        version=figures.version,
        versions=versions,
        confidence=figures.confidence,
        pages=figures.pages,
        url_pattern=figures.url_pattern or "",
        overrides=len(figures.overrides),
        state_at=figures.state_at,
    )


def template_versions(project: ProjectStore, domain: str, layout: str) -> list[StoredTemplate]:
    """Return the versions of a layout's template, newest first; the layout is named as people do.

    Raises:
        UnknownLayoutError, TemplateChoiceError: there is none.
        StoreError: the store failed.
    """
    return versions_of(project, domain, layout_of(project, domain, layout))


def template_view(
    versions: Sequence[StoredTemplate], version: int | None = None, against: int | None = None
) -> TemplateView:
    """Return one version of a template, the present one by default, compared with another if one is named.

    Raises:
        TemplateChoiceError: there is no such version.
    """
    shown = show_version(versions, version)
    stored = shown.stored
    other = present_of(versions, against) if against is not None else None
    return TemplateView(
        domain=stored.domain,
        layout=name_of(stored.layout),
        kind=stored.kind,
        url_pattern=stored.url_pattern or "",
        present=present_of(versions).version,
        shown=_version(stored),
        versions=tuple(map(_version, versions)),
        content=_rules(shown.content),
        left_out=_rules(shown.exclude),
        fields=tuple(Rule(selector, name) for name, found in shown.fields.items() for selector in found),
        decided=tuple(_decided(one) for one in stored.overrides),
        diff=_difference(diff(other, stored)) if other is not None else None,
    )


def _version(stored: StoredTemplate) -> VersionRow:
    return VersionRow(
        version=stored.version,
        state=stored.state,
        source=stored.source,
        reason=stored.reason or "",
        confidence=stored.confidence,
        pages=stored.pages,
        overrides=len(stored.overrides),
        created_at=stored.created_at,
        state_at=stored.state_at,
    )


def _rules(lines: Sequence[Line]) -> tuple[Rule, ...]:
    return tuple(Rule(line.selector, line.evidence) for line in lines)


def _decided(one: object) -> Decided:
    given = one if isinstance(one, dict) else {}
    return Decided(*(str(given.get(name) or "") for name in ("action", "selector", "at", "by")))


def _difference(found: TemplateDiff) -> TemplateDiffView:
    came = [(name, one) for name, some in found.added.items() for one in some]
    left = [(name, one) for name, some in found.removed.items() for one in some]
    came += [(f"decided: {action}", selector) for action, selector in found.decided]
    left += [(f"decided: {action}", selector) for action, selector in found.undecided]
    return TemplateDiffView(found.before.version, found.after.version, tuple(came), tuple(left), found.verdicts)


def trial_view(found: template_trial.TemplateTrial) -> TemplateTrial:
    """Return what another template would change, as it is shown."""
    return TemplateTrial(found.pages, tuple(TrialEffect(one.url, one.gone, one.back) for one in found.effects))
