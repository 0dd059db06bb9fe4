"""What a person does to templates: look at one, compare two, decide about a selector, go back to a former version.

Whatever reads or writes the store raises StoreError where that fails.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import asdict, replace

from scrapy_dedup.core.boilerplate.verdict_model import PathVerdict, VerdictChange
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.locators import Locators
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.fingerprints import to_digits
from scrapy_dedup.core.pages.marking import check_selector
from scrapy_dedup.core.patterns import compile_expression
from scrapy_dedup.core.templates.templates import Template, Vision, selector
from scrapy_dedup.report.values import ReportLocator
from scrapy_dedup.service.cut.site_cleaning import SiteCut, cut_page
from scrapy_dedup.service.cut.site_patterns import patterns_of
from scrapy_dedup.service.packed_files import read_json
from scrapy_dedup.service.patterns import stored_config
from scrapy_dedup.service.policies import parse_limits
from scrapy_dedup.service.templates.layout_figures import UnknownLayoutError, find_layout, name_of
from scrapy_dedup.service.templates.site_knowledge import BY_HAND, Override
from scrapy_dedup.service.templates.site_records import site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import (
    HTML_FIELDS,
    TemplateRecord,
    TemplateState,
    TemplateStateRecord,
    from_digits,
)
from scrapy_dedup.store.records.stored import StoredTemplate, TemplateFigures
from scrapy_dedup.store.repositories import SourceRepository, TemplateRepository
from scrapy_dedup.store.writer import ProjectStore

# No more than a person waits for; pages of a rare layout are not looked for among all pages.
_MOST_CUT: Final = 20
_MOST_READ: Final = 2_000


class TrialEffect(Struct, frozen=True):
    """What changes on one page: texts that would go, and texts that would come back."""

    url: str
    gone: tuple[str, ...]
    back: tuple[str, ...]


class TemplateTrial(Struct, frozen=True):
    """So many stored pages of the layout were cut both ways; effects are those of pages that differ."""

    pages: int
    effects: tuple[TrialEffect, ...]


def _try(project: ProjectStore, before: StoredTemplate, after: StoredTemplate, settings: Settings) -> TemplateTrial:
    """Cut stored pages of a layout by two templates, as if each were live."""
    others = [one for one in project.templates(before.domain) if one.layout != before.layout]
    old, new = (site_of(before.domain, [*others, replace(one, state="live")]) for one in (before, after))
    if old is None or new is None:
        return TemplateTrial(0, ())
    patterns = patterns_of(settings, stored_config(project, before.domain), before.domain)
    pages, effects = 0, []
    with project.session(read_only=True) as session:
        for number, source in enumerate(SourceRepository(session).iterate(project.id, before.domain, bare=True)):
            if pages == _MOST_CUT or number == _MOST_READ:
                break
            html = source.content if source.field in HTML_FIELDS else None
            page = parse_page(html, parse_limits(settings)) if html is not None else None
            if html is None or not isinstance(page, Page):
                continue
            was = cut_page(html, page, source.url, old, settings, patterns)
            if was.layout != before.layout:
                continue
            pages += 1
            effect = _effect(source.url, was, cut_page(html, page, source.url, new, settings, patterns))
            if effect.gone or effect.back:
                effects.append(effect)
    return TemplateTrial(pages, tuple(effects))


def _effect(url: str, was: SiteCut, is_now: SiteCut) -> TrialEffect:
    old, new = (Counter((one.path, one.text) for one in found.cleaned.removed) for found in (was, is_now))
    return TrialEffect(
        url, tuple(text for _, text in (new - old).elements()), tuple(text for _, text in (old - new).elements())
    )


FORMAT: Final = "scrapy_dedup templates"
VERSION: Final = 1
# Learning makes a hundred; of a page without a layout of its own, the URL is compared with the pattern of each.
_MOST_OF_DOMAIN: Final = 1_000


class TemplateFileError(DedupError):
    """A file that cannot be imported; nothing was written."""


class ImportedTemplates(Struct, frozen=True):
    """What an import did, or would do: so many layouts have a new version, so many had it already."""

    added: int
    unchanged: int
    domains: tuple[str, ...]
    done: bool


def export_templates(project: ProjectStore, domain: str | None = None) -> dict[str, Any]:
    """Return the present version of each template, as plain JSON; equal templates give equal JSON.

    Raises:
        UnknownLayoutError: there is none.
    """
    wanted = {(one.domain, one.layout, one.version) for one, _ in list_templates(project, domain)}
    domains = sorted({name for name, _, _ in wanted})
    stored = (one for name in domains for one in project.templates(name, live_only=False))
    rows = [
        {name: getattr(one, name) for name in _FileTemplate.__struct_fields__}
        | {"layout": to_digits(one.layout), "structure": to_digits(one.structure)}
        for one in stored
        if (one.domain, one.layout, one.version) in wanted
    ]
    return {"format": FORMAT, "version": VERSION, "templates": rows}


_Text = Annotated[str, Meta(max_length=10_000)]
_Number = Annotated[int, Meta(ge=0, lt=2**31)]


class _FileTemplate(Struct):
    """A template as a file has it: layout and structure as digits, without what another store knows better."""

    domain: _Text
    layout: str
    structure: str
    state: TemplateState
    kind: _Text
    url_pattern: _Text | None
    confidence: Annotated[float, Meta(ge=0, le=1)]
    pages: _Number
    reason: _Text
    model: _Text
    algorithm_version: _Number
    selectors: dict[str, Any]
    overrides: list[dict[str, Any]]
    paths: list[_Text]
    body: dict[str, Any]


def read_templates(text: str, at: datetime) -> list[TemplateRecord]:
    """Return the templates of a file that `export_templates` wrote, each checked; a person may have edited it.

    Raises:
        TemplateFileError: it is no such file, or a template in it could not be used.
    """
    try:
        found = read_json(text)
    except (ValueError, RecursionError) as error:
        raise TemplateFileError(f"it is no JSON ({error})") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise TemplateFileError("it is no file that `scrapy dedup templates export` wrote")
    if found.get("version") != VERSION:
        raise TemplateFileError(
            f"it is of version {found.get('version')!r}, and this program reads version {VERSION}: export it again"
        )
    rows = found.get("templates")
    if not isinstance(rows, list):
        raise TemplateFileError("its `templates` are no list")
    records = [_checked(row, number, at) for number, row in enumerate(rows, 1)]
    domain, layouts = max(Counter(one.domain for one in records).items(), key=itemgetter(1), default=("", 0))
    if layouts > _MOST_OF_DOMAIN:
        raise TemplateFileError(f"it has {layouts:,} templates of {domain}: at most {_MOST_OF_DOMAIN:,} can be used")
    return records


def _checked(row: Any, number: int, at: datetime) -> TemplateRecord:
    try:
        return _record(row, at)
    except (DedupError, ValidationError, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        told = str(error) if isinstance(error, DedupError) else f"{type(error).__name__}: {error}"
        raise TemplateFileError(f"template {number} cannot be used ({told}); nothing was imported") from error


def _record(row: Any, at: datetime) -> TemplateRecord:
    given = convert(row, _FileTemplate)
    _check_numbers(given.body)
    Template.from_json(given.body["template"])
    Locators.from_json(given.body["locators"])
    convert(given.body.get("vision"), Vision | None)
    for one in given.overrides:
        if one["action"] not in ("keep", "drop"):
            raise ValueError(f"{one['action']!r} is no action: write keep or drop")
        check_selector(convert(one["selector"], _Text))
    convert(given.overrides, tuple[Override, ...])
    if given.url_pattern is not None:
        given.url_pattern = compile_expression(given.url_pattern).source
    numbers = {"layout": from_digits(given.layout), "structure": from_digits(given.structure)}
    return TemplateRecord(**(asdict(given) | numbers), created_at=at, source="import")


def _check_numbers(body: Mapping[str, Any]) -> None:
    """Raise unless all numbers in a body are finite, and fit into eight bytes."""
    values: list[Any] = [body]
    for value in values:
        if isinstance(value, Mapping | list):
            values += value.values() if isinstance(value, Mapping) else value
        elif isinstance(value, int | float) and not -(2**63) <= value < 2**63:
            raise ValueError(f"{value!r:.50} is no number that a template has")


def import_templates(project: ProjectStore, records: Iterable[TemplateRecord], *, dry_run: bool) -> ImportedTemplates:
    """Store templates, all or none; those that equal the newest version of their layout change nothing.

    Raises:
        StoreError: the store failed; nothing was written.
    """
    rows = list(records)
    before = {(one.domain, one.layout): one.version for one in project.template_figures()}
    with project.session(read_only=False) as session:
        numbers = TemplateRepository(session, project.id).add(rows)
        if not dry_run:
            session.commit()
    added = sum(1 for row, number in zip(rows, numbers, strict=True) if number != before.get((row.domain, row.layout)))
    domains = tuple(sorted({row.domain for row in rows}))
    return ImportedTemplates(added, len(rows) - added, domains, done=not dry_run)


Action = Literal["keep", "drop", "forget"]
Decision = tuple[Action, str]
"""What is to become of the elements that a CSS selector matches; forget: what was decided about it before."""

BY: Final = "a person"
FIELDS: Final = ("title", "date", "author")
_NAMED: Final = 5


class TemplateChoiceError(DedupError):
    """What was asked of a template cannot be done; the message says why, and what can."""


class ShownTemplate(Struct, frozen=True):
    """A template as a person reads it.

    Attributes:
        versions: (number, state) of all that are kept, newest first.
        content: where the content stands.
        exclude: what is left out of it, outermost elements only.
        fields: where title, date and author stand, for pages that do not declare them.
    """

    stored: StoredTemplate
    versions: tuple[tuple[int, str], ...]
    content: tuple[ReportLocator, ...]
    exclude: tuple[ReportLocator, ...]
    fields: Mapping[str, tuple[str, ...]]


def list_templates(
    project: ProjectStore, domain: str | Sequence[str] | None = None
) -> list[tuple[TemplateFigures, int]]:
    """Return each layout's template, the live version or else the newest, and how many versions are kept.

    *domain* is one domain or some; None: all.

    Raises:
        UnknownLayoutError: there is none.
    """
    found = project.template_figures(domain)
    if not found:
        raise UnknownLayoutError(_nothing_learned(project, domain if isinstance(domain, str) else None))
    by_layout = (list(some) for _, some in groupby(found, key=lambda each: (each.domain, each.layout)))
    return [(next((each for each in some if each.state == "live"), some[-1]), len(some)) for some in by_layout]


def show_templates(project: ProjectStore, domain: str, layout: str | None, version: int | None) -> list[ShownTemplate]:
    """Return the templates of a domain, or that of one layout, or one version of it, as a person reads them.

    Raises:
        UnknownLayoutError, TemplateChoiceError: there is none such.
    """
    known = [figures.layout for figures, _ in list_templates(project, domain)]
    chosen = known if layout is None else [find_layout(known, layout, domain)]
    return [show_version(_versions(project, domain, one), version) for one in chosen]


def versions_of(project: ProjectStore, domain: str, layout: str) -> list[StoredTemplate]:
    """Return the versions of the template of a layout that a person named, newest first.

    Raises:
        UnknownLayoutError, TemplateChoiceError: there is none.
    """
    known = [figures.layout for figures, _ in list_templates(project, domain)]
    return _versions(project, domain, find_layout(known, layout, domain))


def _versions(project: ProjectStore, domain: str, layout: int) -> list[StoredTemplate]:
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
        content, exclude = (
            [ReportLocator(one) for one in texts_of(stored.selectors, name)] for name in ("content", "exclude")
        )
    else:
        content = [
            ReportLocator(selector(path), evidence_of(template.verdicts.get(path))) for path in template.containers
        ]
        exclude = [
            ReportLocator(selector(path), each.evidence) for path, each in template.verdicts.items() if not each.keep
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


def evidence_of(verdict: PathVerdict | None) -> str:
    """Return why a path is kept or left out, in words; empty where nothing is known of it."""
    return verdict.evidence if verdict else ""


def texts_of(selectors: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the selectors of one kind, of which a template may have one, several or none."""
    found = selectors.get(name)
    if isinstance(found, str):
        return (found,)
    return tuple(map(str, found)) if isinstance(found, list | tuple) else ()


def decisions_of(stored: StoredTemplate) -> list[tuple[str, str]]:
    """Return what a person decided, as (action, selector)."""
    return [(str(one.get("action")), str(one.get("selector"))) for one in stored.overrides]


def _decided(stored: StoredTemplate, decisions: Sequence[Decision], at: datetime) -> StoredTemplate | None:
    """Return a template with what a person decided, in this order; None where that changes nothing.

    Of two decisions about an element the later one counts.
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


def _former(versions: Sequence[StoredTemplate], version: int | None) -> StoredTemplate:
    """Return the version to go back to: by its number, or the last one before the present one."""
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


def _nothing_learned(project: ProjectStore, domain: str | None) -> str:
    others = project.template_domains() if domain is not None else []
    if not others:
        return (
            f"project {project.name!r} has no templates: run a crawl, or `scrapy dedup templates analyze` where pages "
            "are stored; a domain is learned from five pages on"
        )
    some = ", ".join(others[:_NAMED])
    return f"project {project.name!r} has no templates of {domain!r}: it has those of {some}"


class TemplateChange(Struct, frozen=True):
    """What was done to a template, or would be.

    Attributes:
        present: the version that was there.
        version: the one that is there now; None where a dry run made none.
        changed: False where all is as it was.
        trial: of a dry run.
    """

    present: StoredTemplate
    version: int | None
    changed: bool
    dry_run: bool
    trial: TemplateTrial | None


class TemplateDesk(Struct, frozen=True):
    """Where the templates of a project are changed at an instant; in a dry run they are only tried."""

    project: ProjectStore
    settings: Settings
    at: datetime
    dry_run: bool

    def override(self, domain: str, layout: str, decisions: Sequence[Decision]) -> TemplateChange:
        """Decide about selectors of a layout's template, which gives a new version.

        Raises:
            UnknownLayoutError, TemplateChoiceError: there is no such template, or no such decision to forget.
            SelectorError: a selector is none.
            StoreError: the store failed; nothing was written.
        """
        present = present_of(versions_of(self.project, domain, layout))
        after = _decided(present, decisions, self.at)
        trial = version = None
        if after is not None and self.dry_run:
            trial = _try(self.project, present, after, self.settings)
        elif after is not None:
            record = convert(after, TemplateRecord, from_attributes=True)
            reason = f"a person's decision, on top of version {after.version}"
            version = self.project.add_template(replace(record, source="override", reason=reason, created_at=self.at))
        return TemplateChange(present, version, after is not None, self.dry_run, trial)

    def roll_back(self, domain: str, layout: str, number: int | None) -> TemplateChange:
        """Let a former version of a layout's template cut again: by its number, or the last one that did.

        Raises:
            UnknownLayoutError, TemplateChoiceError: there is no such template or version, or it is live.
            StoreError: the store failed; nothing was written.
        """
        versions = versions_of(self.project, domain, layout)
        present, chosen = present_of(versions), _former(versions, number)
        trial = None
        if self.dry_run:
            trial = _try(self.project, present, chosen, self.settings)
        else:
            reason = f"{BY_HAND}, from version {present.version}"
            self.project.set_template_state(
                TemplateStateRecord(chosen.domain, chosen.layout, chosen.version, "live", reason, self.at)
            )
        return TemplateChange(present, chosen.version, changed=True, dry_run=self.dry_run, trial=trial)


class TemplateDiff(Struct, frozen=True):
    """How one version differs from another.

    Attributes:
        added, removed: selectors by what they are for: content, exclude, title, date, author.
        verdicts: in the order of paths.
        decided, undecided: overrides as (action, selector) that only the second, only the first has.
    """

    before: StoredTemplate
    after: StoredTemplate
    added: Mapping[str, tuple[str, ...]]
    removed: Mapping[str, tuple[str, ...]]
    verdicts: tuple[VerdictChange, ...]
    decided: tuple[tuple[str, str], ...]
    undecided: tuple[tuple[str, str], ...]

    @property
    def is_empty(self) -> bool:
        """Whether both cut alike."""
        return not (self.added or self.removed or self.verdicts or self.decided or self.undecided)


def diff_templates(project: ProjectStore, domain: str, layout: str, numbers: tuple[int, int]) -> TemplateDiff:
    """Return how the second of two versions differs from the first.

    Raises:
        UnknownLayoutError, TemplateChoiceError: there is no such layout, or version.
    """
    versions = versions_of(project, domain, layout)
    return diff(present_of(versions, numbers[0]), present_of(versions, numbers[1]))


def diff(before: StoredTemplate, after: StoredTemplate) -> TemplateDiff:
    """Return how a template differs from another of its layout."""
    ours, theirs = decisions_of(after), decisions_of(before)
    return TemplateDiff(
        before,
        after,
        added=_only_in(after, before),
        removed=_only_in(before, after),
        verdicts=tuple(_verdict_changes(before, after)),
        decided=tuple(one for one in ours if one not in theirs),
        undecided=tuple(one for one in theirs if one not in ours),
    )


def _only_in(one: StoredTemplate, other: StoredTemplate) -> dict[str, tuple[str, ...]]:
    found = {}
    for name in ("content", "exclude", *FIELDS):
        others = set(texts_of(other.selectors, name))
        own = tuple(text for text in texts_of(one.selectors, name) if text not in others)
        if own:
            found[name] = own
    return found


def _verdict_changes(before: StoredTemplate, after: StoredTemplate) -> Iterable[VerdictChange]:
    old, new = ((found.verdicts if (found := template_in(one)) else {}) for one in (before, after))
    for path in sorted(old.keys() | new.keys()):
        was, is_now = old.get(path), new.get(path)
        if _word(was) != _word(is_now):
            yield VerdictChange(path, _word(was), _word(is_now), evidence_of(is_now or was))


def _word(verdict: PathVerdict | None) -> str | None:
    return None if verdict is None else str(verdict.reason or "keep")
