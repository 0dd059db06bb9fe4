"""Words of the schema for layouts and their templates."""

from typing import Annotated, Any, Literal

from pydantic import Field

from scrapy_dedup.web.models import (
    Answer,
    Body,
    Count,
    Cursor,
    Digits,
    Domain,
    Instant,
    Project,
    Reason,
    Selector,
    Share,
    Switch,
    Url,
    Version,
)


class DomainRunAnswer(Answer):
    """A run that met pages of a domain; null outside of one."""

    id: Annotated[str | None, Field(examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]
    started_at: Instant | None


class LayoutTemplateAnswer(Answer):
    """The present template of a layout."""

    version: Version
    state: Annotated[str, Field(examples=["live"])]
    reason: Reason
    confidence: Share
    pages: Count
    source: Annotated[str, Field(examples=["static"])]


class LayoutAnswer(Answer):
    """A design from which pages are built."""

    layout: Digits
    kind: Annotated[str | None, Field(examples=["article"])]
    pages: Count
    signatures: Count
    first_seen_at: Instant | None
    last_seen_at: Instant | None
    pages_by_run: Annotated[list[int], Field(examples=[[12]])]
    url_pattern: Annotated[str | None, Field(examples=["/tea/*"])]
    example_url: Annotated[str | None, Field(examples=["https://example.org/tea"])]
    template: LayoutTemplateAnswer | None


class AlarmAnswer(Answer):
    """A template that does not fit at present."""

    layout: Digits
    cause: Annotated[str, Field(examples=["content root lost"])]
    raised_at: Instant
    pages_failed: Count
    pages_looked: Count


class DomainLayoutsAnswer(Answer):
    """The layouts of a domain, those with most pages first."""

    domain: Domain
    runs: list[DomainRunAnswer]
    layouts: list[LayoutAnswer]
    alarms: list[AlarmAnswer]


class LayoutsAnswer(Answer):
    """As `scrapy dedup layouts --json`."""

    project: Project
    domains: list[DomainLayoutsAnswer]
    next: Cursor


class _TemplateFigures(Answer):
    domain: Domain
    layout: Digits
    kind: Annotated[str, Field(examples=["article"])]
    version: Version
    state: Annotated[str, Field(examples=["live"])]
    reason: Reason
    confidence: Share
    pages: Count
    url_pattern: Annotated[str | None, Field(examples=["/tea/*"])]
    source: Annotated[str, Field(examples=["static"])]
    created_at: Instant
    state_at: Instant


class TemplateFiguresAnswer(_TemplateFigures):
    """The present version of a template; overrides and versions are numbers of them."""

    overrides: Count
    versions: Count


class TemplatesAnswer(Answer):
    """As `scrapy dedup templates list --json`."""

    project: Project
    templates: list[TemplateFiguresAnswer]
    next: Cursor


class TemplateVersionAnswer(Answer):
    """A version that is kept."""

    version: Version
    state: Annotated[str, Field(examples=["retired"])]


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
    fields: Annotated[dict[str, list[str]], Field(examples=[{"title": ["h1"]}])]
    overrides: Annotated[list[dict[str, Any]], Field(examples=[[{"action": "keep", "selector": "nav.menu"}]])]


class ShownTemplatesAnswer(Answer):
    """As `scrapy dedup templates show --json`."""

    project: Project
    templates: list[TemplateAnswer]


class PathVerdictAnswer(Answer):
    """A DOM path about which two versions differ."""

    path: Annotated[str, Field(examples=["html > body > nav.menu"])]
    before: Annotated[str | None, Field(examples=[None])]
    after: Annotated[str | None, Field(examples=["repeats"])]
    evidence: Annotated[str, Field(examples=["on 12 of 12 pages"])]


class DecisionAnswer(Answer):
    """What a person decided about a selector."""

    action: Annotated[str, Field(examples=["keep"])]
    selector: Selector


class TemplateDiffAnswer(Answer):
    """As `scrapy dedup templates diff --json`."""

    domain: Domain
    layout: Digits
    before: Version
    after: Version
    added: Annotated[dict[str, list[str]], Field(examples=[{"exclude": ["nav.menu"]}])]
    removed: Annotated[dict[str, list[str]], Field(examples=[{}])]
    verdicts: list[PathVerdictAnswer]
    decided: list[DecisionAnswer]
    undecided: list[DecisionAnswer]


class EffectAnswer(Answer):
    """What changes on one page: texts that go, and that come back."""

    url: Url
    gone: list[str]
    back: list[str]


class TemplateChangeAnswer(Answer):
    """What was done to a template; with dry_run pages and effects of a trial."""

    domain: Domain
    layout: Digits
    version: Annotated[int | None, Field(examples=[4])]
    changed: Annotated[bool, Field(examples=[True])]
    dry_run: Switch
    pages: Count = 0
    effects: tuple[EffectAnswer, ...] = ()


class DecisionBody(Body):
    """What is to become of the elements that a CSS selector matches; forget: what was decided about it."""

    action: Annotated[Literal["keep", "drop", "forget"], Field(examples=["keep"])]
    selector: Selector


class OverrideBody(Body):
    """Decisions, in their order; of two that meet the later one counts."""

    decisions: Annotated[list[DecisionBody], Field(min_length=1, max_length=100)]
    dry_run: Switch = False


class RollbackBody(Body):
    """The version to go back to; null: the last one that was live before the present one."""

    version: Annotated[int | None, Field(ge=0, le=10**9, examples=[2])] = None
    dry_run: Switch = False
