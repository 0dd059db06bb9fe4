"""Words of the REST interface's schema: what values look like, with an example of each."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

MOST_ON_A_PAGE: Final = 1_000
LONGEST: Final = 2_000

Count = Annotated[int, Field(ge=0, examples=[12])]
Chars = Annotated[int, Field(ge=0, examples=[48_210])]
Share = Annotated[float, Field(ge=0, le=1, examples=[0.42])]
Seconds = Annotated[float, Field(ge=0, examples=[12.5])]
Instant = Annotated[datetime, Field(examples=["2026-03-01T12:00:00+00:00"])]
Url = Annotated[str, Field(examples=["https://example.org/tea"])]
Domain = Annotated[str, Field(examples=["example.org"])]
Digits = Annotated[str, Field(pattern="^[0-9a-f]{16}$", examples=["9f1c2ab0d4e57768"])]
Key = Annotated[str, Field(pattern="^[0-9a-f]{32}$", examples=["5a3b1f0c9d8e7766554433221100ffee"])]
Id = Annotated[str, Field(examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]
Text = Annotated[str, Field(examples=["because of its menu"])]
Project = Annotated[str, Field(examples=["shop"])]
Cursor = Annotated[str | None, Field(description="Where the list goes on; null at its end.", examples=[None])]
Version = Annotated[int, Field(ge=0, examples=[3])]
Switch = Annotated[bool, Field(examples=[False])]
Reason = Annotated[str | None, Field(examples=["it fits 12 of 12 pages"])]
Verdict = Annotated[str | None, Field(examples=["changed"])]

Named = Annotated[str, Field(min_length=1, max_length=300, examples=["spam.example"])]
Selector = Annotated[str, Field(min_length=1, max_length=LONGEST, examples=["nav.menu"])]


class Answer(BaseModel):
    """What has these members and no others."""

    model_config = ConfigDict(extra="forbid")


class Body(BaseModel):
    """What a client sends; a misspelt member is an error."""

    model_config = ConfigDict(extra="forbid")


class ProblemAnswer(BaseModel):
    """Why there is no answer (RFC 9457)."""

    model_config = ConfigDict(extra="allow", title="Problem")

    type: Annotated[str, Field(examples=["about:blank"])]
    title: Annotated[str, Field(examples=["Not Found"])]
    status: Annotated[int, Field(examples=[404])]
    detail: Annotated[str, Field(examples=["there is no project 'shoop' in the store"])]


class ProjectAnswer(Answer):
    """A project, and how much is stored of it."""

    id: Id
    name: Project
    pages: Count
    runs: Count
    stored_bytes: Chars
    created_at: Instant


class ProjectsAnswer(Answer):
    """The projects of the store, by name."""

    projects: list[ProjectAnswer]


class DeletionAnswer(Answer):
    """What the removal of a project takes away: rows by table."""

    project: Project
    deleted: Switch
    rows: Annotated[dict[str, int], Field(examples=[{"documents": 12}])]
    total: Count


class FiguresAnswer(Answer):
    """Characters of visible text before and after cleaning."""

    pages: Count
    chars_in: Chars
    chars_out: Chars
    removed_share: Share


class DomainFiguresAnswer(FiguresAnswer):
    """Those of one domain."""

    domain: Domain


class TotalAnswer(FiguresAnswer):
    """Those of all domains."""

    domains: Count


class LearnedAnswer(Answer):
    """What is known of a domain by one method."""

    domain: Domain
    method: Literal["template", "html", "text"]
    pages_analyzed: Count
    blocks_total: Count
    blocks_boilerplate: Count
    bytes_removed_avg: Annotated[float, Field(examples=[310.0])]
    threshold_pct: Annotated[float | None, Field(examples=[0.7])]
    min_pages: Annotated[int | None, Field(examples=[5])]
    min_block_chars: Annotated[int | None, Field(examples=[50])]
    updated_at: Instant


class StatsAnswer(Answer):
    """As `scrapy dedup stats --json`."""

    project: Project
    domains: list[DomainFiguresAnswer]
    total: TotalAnswer
    domains_above_10_percent: Count
    learned: list[LearnedAnswer]


class BoilerplateStatsAnswer(Answer):
    """What is known of each domain."""

    project: Project
    domains: list[LearnedAnswer]


class ParametersAnswer(Answer):
    """By what an analysis decided."""

    threshold_pct: Share
    min_pages: Count
    min_block_chars: Count
    method: Annotated[str, Field(examples=["auto"])]
    source_groups: Annotated[list[str] | None, Field(examples=[None])]


class DomainAnalysisAnswer(Answer):
    """What was found on a domain."""

    domain: Domain
    pages_analyzed: Count
    pages_cleaned: Count
    blocks_boilerplate: Count
    bytes_removed_total: Chars


class AnalysisAnswer(Answer):
    """As `scrapy dedup analyze --json`."""

    project: Project
    dry_run: Switch
    parameters: ParametersAnswer
    domains_analyzed: Count
    domains_with_boilerplate: Count
    total_pages_cleaned: Count
    total_bytes_removed: Chars
    domain_results: list[DomainAnalysisAnswer]


class ReportAnswer(BaseModel):
    """As `scrapy dedup report --json`."""

    model_config = ConfigDict(extra="allow")

    project: Project
    generated_at: Instant
    pages_fetched: Count
    domains: list[dict[str, Any]]
    layers: list[dict[str, Any]]
    repeated: list[dict[str, Any]]


class JobAnswer(Answer):
    """A piece of work as it stands."""

    id: Id
    kind: Annotated[str, Field(examples=["analyze-boilerplate"])]
    project: Project
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    done: Count
    total: Annotated[int | None, Field(examples=[24])]
    result: Annotated[
        dict[str, Any] | None, Field(description="Of a job that is done: as the command's --json.", examples=[None])
    ]
    error: Annotated[str | None, Field(examples=[None])]
    created_at: Instant
    started_at: Instant | None
    ended_at: Instant | None


class JobsAnswer(Answer):
    """The jobs of a project, newest first."""

    project: Project
    jobs: list[JobAnswer]
