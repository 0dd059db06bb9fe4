"""Words of the schema for what is known and decided about sites: domains, configurations, layouts, templates."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from scrapy_dedup.web.models import (
    LONGEST,
    Answer,
    Body,
    Count,
    Cursor,
    Digits,
    Domain,
    Id,
    Instant,
    Named,
    Project,
    Reason,
    Selector,
    Share,
    Switch,
    Url,
    Version,
)

Status = Literal["DISCOVERED", "PROCESSED_HIGH_QUALITY", "PROCESSED_LOW_QUALITY", "BLACKLISTED"]
Names = Annotated[list[Named], Field(min_length=1, max_length=1_000, examples=[["spam.example", "www.ads.example"]])]
Entries = Annotated[tuple[str, ...], Field(examples=[[]])]
Entry = Annotated[str, Field(examples=["nav.menu"])]


class DomainAnswer(Answer):
    """A registered domain."""

    domain_id: Id
    domain_name: Domain
    status: Annotated[Status, Field(examples=["DISCOVERED"])]
    status_before: Annotated[Status | None, Field(examples=[None])]
    discovery_session_id: Annotated[str | None, Field(examples=[None])]
    high_quality_candidate_count: Count
    low_quality_candidate_count: Count
    best_confidence_score: Annotated[float | None, Field(examples=[0.8])]
    mean_confidence_score: Annotated[float | None, Field(examples=[0.6])]
    pages: Count
    chars_in: Count
    chars_out: Count
    boilerplate_share: Share
    errors: Count
    last_crawled_at: Instant | None
    blacklisted_at: Instant | None
    blacklisted_by: Annotated[str | None, Field(examples=["rest"])]
    blacklist_reason: Annotated[str | None, Field(examples=["spam"])]
    blacklist_expires_at: Instant | None
    twin: Annotated[str | None, Field(examples=["www.example.org"])]
    joined_to: Annotated[str | None, Field(examples=[None])]
    pages_alike: Count
    pages_unlike: Count
    discovered_at: Instant
    last_processed_at: Instant | None
    created_at: Instant
    updated_at: Instant


class DomainListAnswer(Answer):
    """Some of the registered domains, and how many there are."""

    project: Project
    domains: list[DomainAnswer]
    next: Cursor
    total: Count
    statuses: Annotated[dict[str, int], Field(examples=[{"DISCOVERED": 12}])]
    twins: Count
    twin_share: Share
    joined: Count


class ChangedDomainsAnswer(Answer):
    """The domains that were changed, or would be."""

    project: Project
    dry_run: Switch
    domains: list[DomainAnswer]


class RegisterBody(Body):
    """Domains to register, in any spelling, or as URLs of them."""

    domains: Names


class BlacklistBody(Body):
    """Domains to blacklist; one with `*` or `?` stands for all registered ones that it fits."""

    domains: Names
    reason: Annotated[str | None, Field(max_length=LONGEST, examples=["spam"])] = None
    by: Annotated[str, Field(description="Who wants it.", min_length=1, max_length=200, examples=["rest"])] = "rest"
    expires_at: Annotated[
        datetime | None, Field(description="From then on it holds no more.", examples=["2027-01-01T00:00:00+00:00"])
    ] = None
    dry_run: Switch = False


class SiteConfigAnswer(Answer):
    """Entries by key."""

    boilerplate_css_selectors: list[Entry]
    boilerplate_text_patterns: list[str]
    pdf_boilerplate_patterns: list[str]
    keep_blocks: list[str]
    keep_pages: list[str]
    keep_rules: list[str]


class ConfigAnswer(Answer):
    """What is decided about a domain; version 0 where nothing is."""

    domain: Domain
    version: Version
    config: SiteConfigAnswer
    updated_at: Instant | None


class ConfigsAnswer(Answer):
    """What is decided about all domains."""

    project: Project
    domains: list[ConfigAnswer]


class PipelineBody(Body):
    """What is to be left out, and what is to stay in spite of it."""

    boilerplate_css_selectors: Annotated[Entries, Field(examples=[[".custom-header", ".custom-nav"]])] = ()
    boilerplate_text_patterns: Entries = ()
    pdf_boilerplate_patterns: Entries = ()
    keep_blocks: Entries = ()
    keep_pages: Entries = ()
    keep_rules: Entries = ()


class PipelineIn(Body):
    """A configuration under `pipeline`."""

    pipeline: PipelineBody


class ConfigBody(Body):
    """A configuration as another system has it."""

    config: PipelineBody | PipelineIn


class ConfigChangeAnswer(Answer):
    """What was stored: its version, and how many pages are to be cleaned again."""

    domain: Domain
    config: Annotated[dict[str, list[str]], Field(examples=[{"boilerplate_css_selectors": ["nav.menu"]}])]
    version: Version
    stale: Count


class ConfigChangesAnswer(Answer):
    """As `scrapy dedup config set --json`."""

    changes: list[ConfigChangeAnswer]
    dry_run: Annotated[Literal[False], Field(examples=[False])]


class ConfigTrialAnswer(Answer):
    """What a configuration would mean for the stored pages."""

    domain: Domain
    config: dict[str, list[str]]
    pages: Count
    changed: Count
    chars_less: Annotated[int, Field(description="Negative where more comes back.", examples=[4_000])]
    example: Annotated[str | None, Field(examples=["https://example.org/tea"])]


class ConfigTrialsAnswer(Answer):
    """As `scrapy dedup config set --dry-run --json`."""

    changes: list[ConfigTrialAnswer]
    dry_run: Annotated[Literal[True], Field(examples=[True])]


class PatternAnswer(Answer):
    """What one pattern leaves out of a page."""

    tier: Annotated[int, Field(ge=1, le=3, examples=[2])]
    pattern: Annotated[str, Field(examples=["nav.menu"])]
    blocks: Count
    chars: Count
    sample: Annotated[str, Field(examples=["Home Shop Contact"])]


class HeldAnswer(Answer):
    """A pattern that was not carried out, and why."""

    pattern: Annotated[str, Field(examples=["main"])]
    reason: Annotated[str, Field(examples=["protected"])]


class PatternTestAnswer(Answer):
    """As `scrapy dedup config test --json`."""

    url: Url
    domain: Domain
    patterns: list[PatternAnswer]
    held: list[HeldAnswer]


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
