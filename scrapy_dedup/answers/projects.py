"""Projects: what is stored of them, how much boilerplate their domains have, and the report."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from msgspec import to_builtins
from pydantic import ConfigDict, Field

from scrapy_dedup.answers import (
    Answer,
    Chars,
    Count,
    Domain,
    Id,
    Instant,
    OfProject,
    OfWrite,
    Project,
    Share,
    Switch,
    Url,
)
from scrapy_dedup.answers.pages import CrawledRunAnswer
from scrapy_dedup.core.boilerplate.repeats import ProjectAnalysisResult
from scrapy_dedup.report.values import Report
from scrapy_dedup.service.report.overview import Overview
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import Method


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


class DeletionAnswer(OfProject):
    """What the removal of a project takes away: rows by table."""

    deleted: Switch
    rows: Annotated[Mapping[str, int], Field(examples=[{"documents": 12}])]
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
    method: Method
    pages_analyzed: Count
    blocks_total: Count
    blocks_boilerplate: Count
    bytes_removed_avg: Annotated[float, Field(examples=[310.0])]
    threshold_pct: Annotated[float | None, Field(examples=[0.7])]
    min_pages: Annotated[int | None, Field(examples=[5])]
    min_block_chars: Annotated[int | None, Field(examples=[50])]
    updated_at: Instant


class BoilerplateStatsAnswer(OfProject):
    """What is known of each domain."""

    domains: list[LearnedAnswer]


class StatsAnswer(OfProject):
    """The figures of a project's domains, those with the largest share of boilerplate first."""

    domains: list[DomainFiguresAnswer]
    total: TotalAnswer
    domains_above_10_percent: Count
    learned: list[LearnedAnswer]

    @classmethod
    def made(cls, found: Overview, learned: Sequence[Mapping[str, Any]]) -> Self:
        """Return the figures of domains, and what is learned of each."""
        total = TotalAnswer.of(found.total, domains=len(found.domains))
        return cls.of(found, total=total, domains_above_10_percent=found.domains_with_much, learned=learned)


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


class AnalysisAnswer(OfWrite):
    """What repeats on the stored pages of each domain."""

    parameters: ParametersAnswer
    domains_analyzed: Count
    domains_with_boilerplate: Count
    total_pages_cleaned: Count
    total_bytes_removed: Chars
    domain_results: list[DomainAnalysisAnswer]

    @classmethod
    def made(
        cls,
        project: str,
        settings: Settings,
        result: ProjectAnalysisResult,
        groups: Sequence[str] | None,
        *,
        dry_run: bool,
    ) -> Self:
        """Return the outcome of an analysis, and by which settings, and of which source groups."""
        parameters = ParametersAnswer.of(settings, method=settings.boilerplate_method, source_groups=groups)
        return cls.of(result, project=project, dry_run=dry_run, parameters=parameters)


class ReportAnswer(OfProject):
    """What was fetched, dropped and kept: the fields of a report, without its pictures."""

    model_config = ConfigDict(extra="allow")

    generated_at: Instant
    pages_fetched: Count
    domains: list[dict[str, Any]]
    layers: list[dict[str, Any]]
    repeated: list[dict[str, Any]]

    @classmethod
    def made(cls, report: Report) -> Self:
        """Return a report."""
        found = to_builtins(report, builtin_types=(bytes,))
        for picture in (layout["picture"] for domain in found["layouts"] for layout in domain["layouts"]):
            if picture is not None:
                del picture["png"]
        return cls.model_validate(found)


Text = Annotated[str, Field(examples=["extraction"])]


class DomainCacheAnswer(Answer):
    """What coming again spared on a domain; without a name, on all."""

    domain: Domain
    visits: Count
    hits: Count
    misses: Count
    hit_rate: Share
    not_modified: Count
    bytes_received: Chars
    bytes_saved: Chars
    extractions: Count
    packed_bytes: Chars


class MemosAnswer(Answer):
    """What is kept of costly functions."""

    memos: Count
    size_bytes: Chars


class CacheStatsAnswer(OfProject):
    """What the last run spared; without a run, what all visits did that are kept."""

    run: CrawledRunAnswer | None
    total: DomainCacheAnswer
    domains: list[DomainCacheAnswer]
    memos: MemosAnswer


class CacheRemovalAnswer(Answer):
    """What was deleted, or would be; unknown are URLs, or a domain, without a page."""

    dry_run: Switch
    extractions: Count
    packed_bytes: Chars
    memos: Count
    unknown: Annotated[list[str], Field(examples=[[]])]


class CacheDamageAnswer(Answer):
    """A part of a page that is not what was stored."""

    url: Url
    part: Text
    reason: Text


class CacheCheckAnswer(Answer):
    """What was looked at, and what is damaged: how much by part, and the first 200."""

    pages: Count
    extractions: Count
    damaged: Annotated[dict[str, int], Field(examples=[{"extraction": 1}])]
    damages: list[CacheDamageAnswer]
    fixed: Switch


class CacheTransferAnswer(Answer):
    """What was written into a tree, or read from one; index_rebuilt says why its index was not used."""

    pages: Count
    extractions: Count
    pages_held: Count
    pages_left_out: Count
    index_rebuilt: Annotated[str | None, Field(examples=[None])]
    problems: Annotated[list[str], Field(examples=[[]])]
