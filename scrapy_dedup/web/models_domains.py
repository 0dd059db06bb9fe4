"""Words of the schema for the registry of domains."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from scrapy_dedup.web.models import (
    LONGEST,
    Answer,
    Body,
    Count,
    Cursor,
    Domain,
    Id,
    Instant,
    Named,
    Project,
    Share,
    Switch,
    Url,
)

Status = Literal["DISCOVERED", "PROCESSED_HIGH_QUALITY", "PROCESSED_LOW_QUALITY", "BLACKLISTED"]
Names = Annotated[list[Named], Field(min_length=1, max_length=1_000, examples=[["spam.example", "www.ads.example"]])]


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


class BlacklistAnswer(ChangedDomainsAnswer):
    """Some of the domains that are not crawled."""

    next: Cursor


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


class NewDomainsAnswer(ChangedDomainsAnswer):
    """The domains that were changed, or would be; new are those that were not registered."""

    new: Annotated[list[str], Field(examples=[["new.example"]])]


class CandidateAnswer(Answer):
    """A URL that a search engine proposed, and for which its domain came."""

    url: Url
    engine: Annotated[str, Field(examples=["engine one"])]
    domain_name: Domain
    title: Annotated[str | None, Field(examples=["Tea"])]
    confidence: Annotated[float | None, Field(examples=[0.8])]
    rank: Annotated[int | None, Field(examples=[1])]
    session_id: Id
    session_name: Annotated[str | None, Field(examples=["tea shops"])]
    outcome: Annotated[str, Field(examples=["new"])]
    created_at: Instant


class OneDomainAnswer(Answer):
    """As `scrapy dedup domains show --json`."""

    domain: DomainAnswer
    joined: Annotated[str | None, Field(description="A name for which it stands, too.", examples=[None])]
    blacklisted: Switch
    candidates: list[CandidateAnswer]


class TwinsAnswer(Answer):
    """Two domains with and without `www.`, and whether they count as one."""

    domain: Domain
    twin: Annotated[str, Field(examples=["www.example.org"])]
    pages: Annotated[dict[str, int], Field(examples=[{"example.org": 12, "www.example.org": 12}])]
    pages_alike: Count
    pages_unlike: Count
    joined: Switch
    was_joined: Switch
    reason: Annotated[str, Field(examples=["too few pages of both are known"])]


class PairsAnswer(Answer):
    """As `scrapy dedup domains join --json`."""

    project: Project
    dry_run: Switch
    pairs: list[TwinsAnswer]


class JoinBody(Body):
    """Of which domains; none: of all that have a twin."""

    domains: Annotated[tuple[Named, ...], Field(max_length=1_000, examples=[["example.org"]])] = ()
    dry_run: Switch = False


class ImportBody(Body):
    """Domains with what is known of them: the columns of the registry, of which `domain_name` is needed."""

    domains: Annotated[
        list[dict[str, Any]],
        Field(
            min_length=1,
            max_length=10_000,
            examples=[[{"domain_name": "spam.example", "status": "BLACKLISTED", "blacklist_reason": "spam"}]],
        ),
    ]
    dry_run: Switch = False


class RefusedAnswer(Answer):
    """A domain that was not taken, and why."""

    where: Annotated[str, Field(examples=["domains, line 1"])]
    reason: Annotated[str, Field(examples=["'a b' is no domain"])]


class ImportAnswer(Answer):
    """As `scrapy dedup domains import --json`."""

    project: Project
    dry_run: Switch
    new: Count
    known: Count
    refused: list[RefusedAnswer]


class CandidatesBody(Body):
    """What search engines proposed: each with `url`, and engine, title, confidence (0.0 to 1.0), rank if known."""

    session: Annotated[
        str | None, Field(description="One of that name goes on.", min_length=1, max_length=200, examples=["tea shops"])
    ] = None
    engine: Annotated[
        str, Field(description="Of results that do not name theirs.", min_length=1, max_length=100, examples=["rest"])
    ] = "rest"
    results: Annotated[
        list[dict[str, Any]],
        Field(min_length=1, max_length=10_000, examples=[[{"url": "https://example.org/tea", "engine": "engine one"}]]),
    ]
    dry_run: Switch = False


class SessionAnswer(Answer):
    """A discovery session; without id after a dry run."""

    name: Annotated[str, Field(examples=["tea shops"])]
    id: Annotated[str | None, Field(examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]


class JudgedAnswer(Answer):
    """What became of one URL."""

    where: Annotated[str, Field(examples=["results, line 1"])]
    url: Annotated[str, Field(examples=["https://example.org/tea"])]
    engine: Annotated[str, Field(examples=["engine one"])]
    domain: Annotated[str | None, Field(examples=["example.org"])]
    outcome: Annotated[Literal["new", "known", "processed", "blacklisted", "twin", "invalid"], Field(examples=["new"])]
    reason: Annotated[str, Field(description="Of an invalid one.", examples=[""])]


class CandidatesAnswer(Answer):
    """As `scrapy dedup candidates --json`."""

    project: Project
    dry_run: Switch
    interrupted: Annotated[Literal[False], Field(examples=[False])]
    session: SessionAnswer
    read: Count
    outcomes: Annotated[dict[str, int], Field(examples=[{"new": 1}])]
    engines: Annotated[dict[str, dict[str, int]], Field(examples=[{"engine one": {"new": 1}}])]
    urls: list[JudgedAnswer]
    urls_left_out: Count
