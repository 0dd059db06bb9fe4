"""Words of the schema for what is decided about sites."""

from typing import Annotated, Literal

from pydantic import Field

from scrapy_dedup.web.models import Answer, Body, Count, Domain, Instant, Project, Url, Version

Entries = Annotated[tuple[str, ...], Field(examples=[[]])]
Entry = Annotated[str, Field(examples=["nav.menu"])]


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
