"""From which designs pages are built, how the pages of each are cut, and what a person decides about it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import AliasPath, Field

from scrapy_dedup.answers import (
    Answer,
    Count,
    Cursor,
    Digits,
    Domain,
    Instant,
    MaybeId,
    MaybeUrl,
    NumberOf,
    OfProject,
    Reason,
    Share,
    Switch,
    Url,
    Version,
)
from scrapy_dedup.service.stored.template_upkeep import ShownTemplate, TemplateDiff
from scrapy_dedup.store.records.stored import TemplateFigures

State = Annotated[str, Field(examples=["live"])]
Source = Annotated[str, Field(examples=["static"])]
Pattern = Annotated[str | None, Field(examples=["/tea/*"])]
Selectors = Annotated[Mapping[str, Sequence[str]], Field(examples=[{"exclude": ["nav.menu"]}])]


class DomainRunAnswer(Answer):
    """A run that met pages of a domain; null outside of one."""

    id: MaybeId
    started_at: Instant | None


class LayoutTemplateAnswer(Answer):
    """The present template of a layout."""

    version: Version
    state: State
    reason: Reason
    confidence: Share
    pages: Count
    source: Source


class LayoutAnswer(Answer):
    """A design from which pages are built."""

    layout: Digits
    kind: Annotated[str | None, Field(validation_alias=AliasPath("template", "kind"), examples=["article"])] = None
    visits: Count
    signatures: Count
    first_seen_at: Instant | None
    last_seen_at: Instant | None
    pages_by_run: Annotated[list[int], Field(examples=[[12]])]
    url_pattern: Annotated[Pattern, Field(validation_alias=AliasPath("template", "url_pattern"))] = None
    example_url: MaybeUrl
    template: LayoutTemplateAnswer | None


class AlarmAnswer(Answer):
    """A template that does not fit at present."""

    layout: Digits
    cause: Annotated[str, Field(examples=["content root lost"])]
    raised_at: Instant
    pages_failed: Count
    pages_looked: Count


class DomainLayoutsAnswer(Answer):
    """The layouts of a domain, those with most visits first."""

    domain: Domain
    runs: list[DomainRunAnswer]
    layouts: list[LayoutAnswer]
    alarms: list[AlarmAnswer]


class LayoutsAnswer(OfProject):
    """The layouts of domains, by name."""

    domains: list[DomainLayoutsAnswer]
    next: Cursor = None


class _TemplateFigures(LayoutTemplateAnswer):
    domain: Domain
    layout: Digits
    kind: Annotated[str, Field(examples=["article"])]
    url_pattern: Pattern
    created_at: Instant
    state_at: Instant


class TemplateFiguresAnswer(_TemplateFigures):
    """The present version of a template; overrides and versions are numbers of them."""

    overrides: NumberOf
    versions: Count


class TemplatesAnswer(OfProject):
    """The present version of each template."""

    templates: list[TemplateFiguresAnswer]
    next: Cursor

    @classmethod
    def made(cls, project: str, found: Sequence[tuple[TemplateFigures, int]], following: str | None = None) -> Self:
        """Return templates, each with the number of its versions."""
        templates = [TemplateFiguresAnswer.of(figures, versions=versions) for figures, versions in found]
        return cls.of(project=project, templates=templates, next=following)


class TemplateVersionAnswer(Answer):
    """A version that is kept."""

    version: Version
    state: State


class SelectorAnswer(Answer):
    """A selector, and why."""

    selector: Annotated[str, Field(examples=["main > article"])]
    evidence: Annotated[str, Field(examples=["unique on 12 of 12 pages"])]


class TemplateAnswer(_TemplateFigures):
    """A template as a person reads it."""

    structure: Digits
    versions: list[TemplateVersionAnswer]
    content: list[SelectorAnswer]
    exclude: list[SelectorAnswer]
    fields: Selectors
    overrides: Annotated[Sequence[Mapping[str, str]], Field(examples=[[{"action": "keep", "selector": "nav.menu"}]])]

    @classmethod
    def made(cls, each: ShownTemplate) -> Self:
        """Return one version of a template."""
        versions = [{"version": version, "state": state} for version, state in each.versions]
        return cls.of(each, each.stored, versions=versions)


class ShownTemplatesAnswer(OfProject):
    """Templates as a person reads them."""

    templates: list[TemplateAnswer]

    @classmethod
    def made(cls, project: str, found: Sequence[ShownTemplate]) -> Self:
        """Return templates of a project."""
        return cls.of(project=project, templates=[TemplateAnswer.made(each) for each in found])


class PathVerdictAnswer(Answer):
    """A DOM path about which two versions differ."""

    path: Annotated[str, Field(examples=["html > body > nav.menu"])]
    before: Annotated[str | None, Field(examples=[None])]
    after: Annotated[str | None, Field(examples=["repeats"])]
    evidence: Annotated[str, Field(examples=["on 12 of 12 pages"])]


class DecisionAnswer(Answer):
    """What a person decided about a selector."""

    action: Annotated[str, Field(examples=["keep"])]
    selector: Annotated[str, Field(examples=["nav.menu"])]


class TemplateDiffAnswer(Answer):
    """How one version of a template differs from another."""

    domain: Domain
    layout: Digits
    before: Version
    after: Version
    added: Selectors
    removed: Selectors
    verdicts: list[PathVerdictAnswer]
    decided: list[DecisionAnswer]
    undecided: list[DecisionAnswer]

    @classmethod
    def made(cls, diff: TemplateDiff) -> Self:
        """Return how two versions differ."""
        before, after = diff.before.version, diff.after.version
        return cls.of(diff, diff.before, before=before, after=after, **_decisions(diff))


def _decisions(diff: TemplateDiff) -> dict[str, list[dict[str, str]]]:
    found = {"decided": diff.decided, "undecided": diff.undecided}
    return {
        name: [{"action": action, "selector": selector} for action, selector in pairs] for name, pairs in found.items()
    }


class EffectAnswer(Answer):
    """What changes on one page: texts that go, and that come back."""

    url: Url
    gone: Sequence[str]
    back: Sequence[str]


class TemplateTrialAnswer(Answer):
    """What would change on so many stored pages."""

    pages: Count
    effects: list[EffectAnswer]


class TemplateChangeAnswer(Answer):
    """What was done to a template; of a dry run, what it would change."""

    domain: Annotated[Domain, Field(validation_alias=AliasPath("present", "domain"))]
    layout: Annotated[Digits, Field(validation_alias=AliasPath("present", "layout"))]
    version: Annotated[int | None, Field(examples=[4])]
    changed: Annotated[bool, Field(examples=[True])]
    dry_run: Switch
    trial: TemplateTrialAnswer | None
