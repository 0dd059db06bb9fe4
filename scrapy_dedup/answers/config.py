"""What people decide about sites: configurations, what they would change, and what is kept in spite of all rules."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import Field

from scrapy_dedup.answers.words import Answer, Count, Domain, Instant, MaybeUrl, Project, Switch, Url, Version
from scrapy_dedup.core.patterns.config import KEYS
from scrapy_dedup.core.patterns.expressions import PatternHeld
from scrapy_dedup.service.views.undoing import KeptKind, Undone
from scrapy_dedup.store.pages.site_configs import StoredSiteConfig

Entries = Annotated[tuple[str, ...], Field(examples=[["nav.menu"]])]
MaybeVersion = Annotated[int | None, Field(description="0 where nothing is decided any more.", examples=[3])]
Stale = Annotated[int | None, Field(description="Pages that are to be cleaned again.", examples=[12])]


class SiteConfigAnswer(Answer):
    """Entries by key."""

    boilerplate_css_selectors: Entries
    boilerplate_text_patterns: Entries
    pdf_boilerplate_patterns: Entries
    keep_blocks: Entries
    keep_pages: Entries
    keep_rules: Entries


class ConfigAnswer(Answer):
    """What is decided about a domain; version 0 where nothing is."""

    domain: Domain
    version: Version
    config: SiteConfigAnswer
    updated_at: Instant | None

    @classmethod
    def made(cls, domain: str, found: StoredSiteConfig | None) -> Self:
        """Return what is stored about a domain."""
        entries: Mapping[str, Sequence[str]] = found.config if found else {}
        config = {key: entries.get(key, ()) for key in KEYS}
        version, updated_at = (found.version, found.updated_at) if found else (0, None)
        return cls.of(domain=domain, version=version, config=config, updated_at=updated_at)


class ConfigsAnswer(Answer):
    """What is decided about all domains."""

    project: Project
    domains: list[ConfigAnswer]

    @classmethod
    def made(cls, project: str, found: Sequence[StoredSiteConfig]) -> Self:
        """Return what is stored of a project."""
        return cls.of(project=project, domains=[ConfigAnswer.made(one.domain, one) for one in found])


class TrialAnswer(Answer):
    """What would change on stored pages; chars_less is negative where more comes back."""

    pages: Count
    changed: Count
    chars_less: Annotated[int, Field(examples=[4_000])]
    example: MaybeUrl


class ConfigChangeAnswer(Answer):
    """What was stored, or, of a dry run, what it would change."""

    domain: Domain
    config: SiteConfigAnswer
    version: MaybeVersion = None
    stale: Stale = None
    trial: TrialAnswer | None = None


class ConfigChangesAnswer(Answer):
    """What was decided, or would be."""

    changes: list[ConfigChangeAnswer]
    dry_run: Switch


class PatternAnswer(Answer):
    """What one pattern leaves out of a page."""

    tier: Annotated[int, Field(ge=1, le=4, examples=[2])]
    pattern: Annotated[str, Field(examples=["nav.menu"])]
    blocks: Count
    chars: Count
    sample: Annotated[str, Field(examples=["Home Shop Contact"])]


class HeldAnswer(Answer):
    """A pattern that was not carried out, and why."""

    pattern: Annotated[str, Field(examples=["main"])]
    reason: PatternHeld


class PatternTestAnswer(Answer):
    """What the patterns of a site do on one page."""

    url: Url
    domain: Domain
    patterns: list[PatternAnswer]
    held: list[HeldAnswer]


class KeptAnswer(Answer):
    """What is kept on a domain in spite of all rules."""

    kind: KeptKind
    domain: Domain
    entry: Annotated[str, Field(examples=["9f1c2ab0d4e57768"])]
    text: Annotated[str, Field(examples=["9f1c2ab0d4e57768"])]


class KeptListAnswer(Answer):
    """All that is kept, by domain."""

    kept: list[KeptAnswer]


class UndoneAnswer(KeptAnswer):
    """What became of keeping something, or of keeping it no more; pages are those that lost it."""

    pages: Count
    dry_run: Switch
    was_there: Switch
    version: MaybeVersion = None
    stale: Stale = None
    trial: TrialAnswer | None

    @classmethod
    def made(cls, done: Undone) -> Self:
        """Return what was done, or would be."""
        return cls.of(done.kept, done, done.changed, dry_run=done.changed is None)
