"""What a person does to templates: look at one, compare two, decide about a selector, go back to a former version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any, Final, Literal

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.marking import check_selector
from scrapy_dedup.core.path_statistics import OWN_TEXT
from scrapy_dedup.core.path_verdicts import PathVerdict
from scrapy_dedup.core.template_selectors import selector
from scrapy_dedup.core.templates import Template
from scrapy_dedup.service.layout_figures import UnknownLayoutError, find_layout, name_of
from scrapy_dedup.service.site_knowledge import BY_HAND
from scrapy_dedup.store.layout_records import TemplateRecord, TemplateStateRecord
from scrapy_dedup.store.stored_layouts import StoredTemplate, TemplateFigures
from scrapy_dedup.store.writer import ProjectStore

Action = Literal["keep", "drop", "forget"]
Decision = tuple[Action, str]
"""What is to become of the elements that a CSS selector matches; forget: what was decided about it before."""

BY: Final = "a person"
FIELDS: Final = ("title", "date", "author")
_NAMED: Final = 5


class TemplateChoiceError(DedupError):
    """What was asked of a template cannot be done; the message says why, and what can."""


@dataclass(frozen=True, slots=True)
class Line:
    """A selector, and why: empty where the template is of another version and tells no more."""

    selector: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class ShownTemplate:
    """A template as a person reads it.

    Attributes:
        versions: (number, state) of all that are kept, newest first.
        content: where the content stands.
        exclude: what is left out of it, outermost elements only.
        fields: where title, date and author stand, for pages that do not declare them.
    """

    stored: StoredTemplate
    versions: tuple[tuple[int, str], ...]
    content: tuple[Line, ...]
    exclude: tuple[Line, ...]
    fields: Mapping[str, tuple[str, ...]]


def list_templates(
    project: ProjectStore, domain: str | Sequence[str] | None = None
) -> list[tuple[TemplateFigures, int]]:
    """Return each layout's template, the live version or else the newest, and how many versions are kept.

    Args:
        project: that has them.
        domain: of one domain or of some; None: of all.

    Raises:
        UnknownLayoutError: there is none.
        StoreError: the store failed.
    """
    found = project.template_figures(domain)
    if not found:
        raise UnknownLayoutError(_nothing_learned(project, domain if isinstance(domain, str) else None))
    by_layout = (list(some) for _, some in groupby(found, key=lambda each: (each.domain, each.layout)))
    return [(_present(versions), len(versions)) for versions in by_layout]


def _present(versions: Sequence[TemplateFigures]) -> TemplateFigures:
    """Return the live one of versions in their order, or else the newest."""
    return next((each for each in versions if each.state == "live"), versions[-1])


def show_templates(project: ProjectStore, domain: str, layout: str | None, version: int | None) -> list[ShownTemplate]:
    """Return the templates of a domain, or that of one layout, or one version of it, as a person reads them.

    Raises:
        UnknownLayoutError, TemplateChoiceError: there is none such.
        StoreError: the store failed.
    """
    known = [figures.layout for figures, _ in list_templates(project, domain)]
    chosen = known if layout is None else [find_layout(known, layout, domain)]
    return [show_version(versions_of(project, domain, one), version) for one in chosen]


def versions_of(project: ProjectStore, domain: str, layout: int) -> list[StoredTemplate]:
    """Return the versions of a layout's template, newest first.

    Raises:
        TemplateChoiceError: there is none; something removed them since the layout was found.
    """
    versions = project.template_versions(domain, layout)
    if not versions:
        raise TemplateChoiceError(f"layout {name_of(layout)} of {domain} has no template")
    return versions


def present_of(versions: Sequence[StoredTemplate], version: int | None = None) -> StoredTemplate:
    """Return a version by its number; without one the live version, or else the newest.

    Raises:
        TemplateChoiceError: there is no such version.
    """
    if version is None:
        return next((each for each in versions if each.state == "live"), versions[0])
    for each in versions:
        if each.version == version:
            return each
    numbers = ", ".join(str(each.version) for each in versions)
    raise TemplateChoiceError(
        f"there is no version {version} of layout {name_of(versions[0].layout)}: it has {numbers}"
    )


def show_version(versions: Sequence[StoredTemplate], version: int | None = None) -> ShownTemplate:
    """Return one of a template's versions as a person reads it, the live one, or else the newest, by default.

    Raises:
        TemplateChoiceError: there is no such version.
    """
    stored = present_of(versions, version)
    template = template_in(stored)
    if template is None:
        content, exclude = ([Line(one) for one in texts_of(stored.selectors, name)] for name in ("content", "exclude"))
    else:
        content = [Line(selector(path), evidence_of(template.verdicts.get(path))) for path in template.containers]
        exclude = [Line(name_of_path(path), each.evidence) for path, each in template.verdicts.items() if not each.keep]
        exclude += [
            Line(f"{name_of_path(path)}, behind all text", template.lookup.why_behind(path, pages).evidence)
            for path, pages in template.tails.items()
        ]
    return ShownTemplate(
        stored,
        tuple((each.version, each.state) for each in versions),
        tuple(content),
        tuple(exclude),
        {name: found for name in FIELDS if (found := texts_of(stored.selectors, name))},
    )


def template_in(stored: StoredTemplate) -> Template | None:
    """Return by what a stored template cuts; None where this version cannot read it."""
    try:
        return Template.from_json(stored.body["template"])
    except (DedupError, LookupError, TypeError, ValueError, AttributeError):
        return None


def name_of_path(path: str) -> str:
    """Return what a template says of a path as a person reads it: CSS, or the text beside an element's children."""
    own = path.endswith(f">{OWN_TEXT}")
    return f"text in {selector(path.removesuffix(f'>{OWN_TEXT}'))} itself" if own else selector(path)


def evidence_of(verdict: PathVerdict | None) -> str:
    """Return why a path is kept or left out, in words; empty where nothing is known of it."""
    return verdict.evidence if verdict else ""


def texts_of(selectors: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the selectors of one kind, of which a template may have one, several or none."""
    found = selectors.get(name)
    if isinstance(found, str):
        return (found,)
    return tuple(map(str, found)) if isinstance(found, list | tuple) else ()


def layout_of(project: ProjectStore, domain: str, layout: str) -> int:
    """Return the layout with a template that a person named.

    Raises:
        UnknownLayoutError: there is none.
    """
    return find_layout([figures.layout for figures, _ in list_templates(project, domain)], layout, domain)


def decisions_of(stored: StoredTemplate) -> list[tuple[str, str]]:
    """Return what a person decided, as (action, selector)."""
    return [(str(one.get("action")), str(one.get("selector"))) for one in stored.overrides]


def decided(stored: StoredTemplate, decisions: Sequence[Decision], at: datetime) -> StoredTemplate | None:
    """Return a template with what a person decided, in this order; None where that changes nothing.

    Of two decisions about an element the later one counts.

    Raises:
        SelectorError: a selector is none.
        TemplateChoiceError: nothing was decided about what is to be forgotten.
    """
    overrides = [dict(one) for one in stored.overrides]
    for action, css in decisions:
        check_selector(css)
        same = [one for one in overrides if one.get("selector") == css]
        if action == "forget" and not same:
            known = ", ".join(str(one.get("selector")) for one in overrides[:_NAMED]) or "nothing"
            raise TemplateChoiceError(f"nothing was decided about {css!r}; about {known} it was")
        if not (same and same[-1].get("action") == action and same[-1] is overrides[-1]):
            overrides = [one for one in overrides if one.get("selector") != css]
            if action != "forget":
                overrides.append({"action": action, "selector": css, "at": at.isoformat(), "by": BY})
    after = replace(stored, overrides=overrides)
    return after if decisions_of(after) != decisions_of(stored) else None


def add_decided(project: ProjectStore, after: StoredTemplate, at: datetime) -> int:
    """Store a template with decisions as a new version, in the state of the one before; return its number.

    Raises:
        StoreError: the store failed.
    """
    reason = f"a person's decision, on top of version {after.version}"
    fields = {name: getattr(after, name) for name in TemplateRecord.__dataclass_fields__}
    return project.add_template(TemplateRecord(**fields | {"source": "override", "reason": reason, "created_at": at}))


def former_of(versions: Sequence[StoredTemplate], version: int | None) -> StoredTemplate:
    """Return the version to go back to: by its number, or the last one before the present one.

    Raises:
        TemplateChoiceError: there is none, or it is live.
    """
    present = present_of(versions)
    if version is not None:
        chosen = present_of(versions, version)
    else:
        older = [each for each in versions if each.version < present.version and each.state == "retired"]
        if not older:
            raise TemplateChoiceError(
                f"layout {name_of(present.layout)} has no version before {present.version} that was live"
            )
        chosen = older[0]
    if chosen.state == "live":
        raise TemplateChoiceError(f"version {chosen.version} of layout {name_of(chosen.layout)} is live already")
    return chosen


def roll_back(project: ProjectStore, chosen: StoredTemplate, present: StoredTemplate, at: datetime) -> None:
    """Let a former version cut again, exactly as it did.

    Raises:
        StoreError: the store failed; nothing was changed.
    """
    reason = f"{BY_HAND}, from version {present.version}"
    project.set_template_state(TemplateStateRecord(chosen.domain, chosen.layout, chosen.version, "live", reason, at))


def _nothing_learned(project: ProjectStore, domain: str | None) -> str:
    others = project.template_domains() if domain is not None else []
    if not others:
        return (
            f"project {project.name!r} has no templates: run a crawl, or `scrapy dedup analyze` where pages are "
            "stored; a domain is learned from DEDUP_MIN_PAGES pages on"
        )
    some = ", ".join(others[:_NAMED])
    return f"project {project.name!r} has no templates of {domain!r}: it has those of {some}"
