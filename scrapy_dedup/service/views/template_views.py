"""Templates as the dashboard shows them."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrapy_dedup.service.stored.template_upkeep import (
    ShownTemplate,
    TemplateDiff,
    diff,
    layout_of,
    list_templates,
    present_of,
    show_version,
    versions_of,
)
from scrapy_dedup.service.templates.layout_figures import UnknownLayoutError, name_of
from scrapy_dedup.store.records.stored import StoredTemplate, TemplateFigures
from scrapy_dedup.store.writer import ProjectStore


@dataclass(frozen=True, slots=True)
class TemplateList:
    """Templates of a project, or of one domain; there may be more than these.

    Attributes:
        rows: (layout as people name it, its present version, number of versions that are kept).
    """

    rows: tuple[tuple[str, TemplateFigures, int], ...]
    has_more: bool = False
    domain: str = ""


@dataclass(frozen=True, slots=True)
class TemplateView:
    """A layout's template as the dashboard shows it.

    Attributes:
        layout: as people name it: 16 hexadecimal digits, or `rest`.
        shown: the version that is shown.
        versions: that are kept, newest first.
        error: what is wrong with the selector that was typed; "" for nothing.
        typed: (action, selector).
    """

    layout: str
    shown: ShownTemplate
    versions: Sequence[StoredTemplate]
    diff: TemplateDiff | None = None
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
    rows = tuple((name_of(figures.layout), figures, versions) for figures, versions in found[:most])
    return TemplateList(rows, has_more=len(names) > most or len(found) > most, domain=domain)


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
    other = present_of(versions, against) if against is not None else None
    difference = diff(other, shown.stored) if other is not None else None
    return TemplateView(name_of(shown.stored.layout), shown, versions, difference)
