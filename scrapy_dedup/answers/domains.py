"""The registry: domains, blacklists, twins, what search engines proposed, and what is decided about sites."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AliasPath, Field

from scrapy_dedup.answers import (
    Answer,
    Count,
    Cursor,
    Domain,
    Id,
    Instant,
    MaybeId,
    MaybeUrl,
    OfProject,
    OfWrite,
    Share,
    Switch,
    Title,
    Url,
    Version,
)
from scrapy_dedup.core.domains import CandidateOutcome, is_blacklisted
from scrapy_dedup.core.patterns import KEYS, PatternHeld
from scrapy_dedup.service.domains.candidates import CandidateIntake, JudgedCandidate
from scrapy_dedup.service.views.undoing import KeptKind, Undone
from scrapy_dedup.store.domains.candidates import StoredCandidate
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.pages.site_configs import StoredSiteConfig

Status = Literal["DISCOVERED", "PROCESSED_HIGH_QUALITY", "PROCESSED_LOW_QUALITY", "BLACKLISTED"]
Confidence = Annotated[float | None, Field(examples=[0.8])]
Engine = Annotated[str, Field(examples=["engine one"])]


class DomainAnswer(Answer):
    """A registered domain."""

    domain_id: Id
    domain_name: Domain
    status: Annotated[Status, Field(examples=["DISCOVERED"])]
    status_before: Annotated[Status | None, Field(examples=[None])]
    discovery_session_id: MaybeId
    high_quality_candidate_count: Count
    low_quality_candidate_count: Count
    best_confidence_score: Confidence
    mean_confidence_score: Confidence
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


class DomainListAnswer(OfProject):
    """Some of the registered domains, and how many there are."""

    domains: list[DomainAnswer]
    next: Cursor
    total: Count
    statuses: Annotated[dict[str, int], Field(examples=[{"DISCOVERED": 12}])]
    twins: Count
    twin_share: Share
    joined: Count


class ChangedDomainsAnswer(OfWrite):
    """The domains that were changed, or would be; new are those that were not registered.

    No domain fits what is unmatched, and nothing is kept of it for names to come.
    """

    domains: list[DomainAnswer]
    new: Annotated[Sequence[str], Field(examples=[["new.example"]])]
    unmatched: Annotated[Sequence[str], Field(examples=[["*.spam.example"]])]


class BlacklistAnswer(OfProject):
    """Some of the domains that are not crawled."""

    domains: list[DomainAnswer]
    next: Cursor


class CandidateAnswer(Answer):
    """A URL that a search engine proposed, and for which its domain came."""

    url: Url
    engine: Engine
    domain_name: Domain
    title: Title
    confidence: Confidence
    rank: Annotated[int | None, Field(examples=[1])]
    session_id: Id
    session_name: Annotated[str | None, Field(examples=["tea shops"])]
    outcome: Annotated[str, Field(examples=["new"])]
    created_at: Instant


class OneDomainAnswer(Answer):
    """A domain, with its candidates, newest first."""

    domain: DomainAnswer
    joined: Annotated[str | None, Field(description="A name for which it stands, too.", examples=[None])]
    blacklisted: Switch
    candidates: list[CandidateAnswer]

    @classmethod
    def made(
        cls, domain: StoredDomain, joined: str | None, candidates: Iterable[StoredCandidate], at: datetime
    ) -> Self:
        """Return a domain, the twin that it stands for, too, and whether it is blacklisted at an instant."""
        return cls.of(domain=domain, joined=joined, blacklisted=is_blacklisted(domain, at), candidates=candidates)


class TwinsAnswer(Answer):
    """Two domains with and without `www.`, and whether they count as one."""

    domain: Annotated[Domain, Field(validation_alias="name")]
    twin: Annotated[str, Field(validation_alias="other", examples=["www.example.org"])]
    pages: Annotated[dict[str, int], Field(examples=[{"example.org": 12, "www.example.org": 12}])]
    pages_alike: Annotated[Count, Field(validation_alias=AliasPath("evidence", "alike"))]
    pages_unlike: Annotated[Count, Field(validation_alias=AliasPath("evidence", "unlike"))]
    joined: Annotated[Switch, Field(validation_alias="is_joined")]
    was_joined: Switch
    reason: Annotated[str, Field(examples=["too few pages of both are known"])]


class PairsAnswer(OfWrite):
    """Domains that count as one, or do not."""

    pairs: list[TwinsAnswer]


class RefusedAnswer(Answer):
    """A domain that was not taken, and why."""

    where: Annotated[str, Field(examples=["domains, line 1"])]
    reason: Annotated[str, Field(examples=["'a b' is no domain"])]


class ImportAnswer(OfWrite):
    """What became of a list of domains."""

    new: Count
    known: Count
    refused: list[RefusedAnswer]


class SessionAnswer(Answer):
    """A discovery session; without id after a dry run."""

    name: Annotated[str, Field(examples=["tea shops"])]
    id: MaybeId


class JudgedAnswer(Answer):
    """What became of one URL."""

    where: Annotated[str, Field(examples=["results, line 1"])]
    url: Url
    engine: Engine
    domain: Annotated[str | None, Field(examples=["example.org"])]
    outcome: CandidateOutcome
    reason: Annotated[str, Field(description="Of an invalid one.", examples=[""])]


class CandidatesAnswer(OfWrite):
    """What became of search results: URLs by outcome, and the first of them."""

    interrupted: Switch
    session: SessionAnswer
    read: Count
    outcomes: Annotated[dict[str, int], Field(examples=[{"new": 1}])]
    engines: Annotated[dict[str, dict[str, int]], Field(examples=[{"engine one": {"new": 1}}])]
    urls: list[JudgedAnswer]
    urls_left_out: Count

    @classmethod
    def made(
        cls, project: str, intake: CandidateIntake, urls: Sequence[JudgedCandidate], *, interrupted: bool = False
    ) -> Self:
        """Return how many URLs had which outcome, and what became of those that are given."""
        tally = intake.tally
        read = tally.outcomes.total()
        return cls.of(
            project=project,
            dry_run=intake.dry_run,
            interrupted=interrupted,
            session={"name": intake.session, "id": intake.session_id},
            read=read,
            outcomes=_outcomes(tally.outcomes),
            engines={engine: _outcomes(outcomes) for engine, outcomes in sorted(tally.engines.items())},
            urls=urls,
            urls_left_out=read - len(urls),
        )


def _outcomes(numbers: Mapping[CandidateOutcome, int]) -> dict[str, int]:
    return {outcome.value: numbers[outcome] for outcome in CandidateOutcome}


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


class ConfigsAnswer(OfProject):
    """What is decided about all domains."""

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
    """What was stored: `version`, and `stale`, pages to be cleaned again. Of a dry run `trial` alone, else null."""

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
        return cls.of(done.kept, done, done.changed, dry_run=done.changed.trial is not None)
