"""Analyses of what repeats on the stored pages of domains and projects, for commands, REST and MCP."""

import uuid
from collections.abc import Sequence
from typing import Any, Unpack

from sqlalchemy.orm import Session

from scrapy_dedup.core.boilerplate.repeats import DomainAnalysisResult, ProjectAnalysisResult
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service.stored.domain_analysis import AnalysisParameters, DomainAnalysis
from scrapy_dedup.settings import COUNTING, PARAMETERS, Settings
from scrapy_dedup.store.repositories import DomainBoilerplateRepository, SourceRepository
from scrapy_dedup.store.writer import ProjectStore


class NoPagesError(DedupError):
    """There is nothing to analyse; the message says what to do."""


def pages_to_analyze(session: Session, project: ProjectStore, groups: Sequence[str] | None) -> dict[str, int]:
    """Return how many stored pages there are of each domain: of the project, or of some groups of its pages.

    Raises:
        NoPagesError: there are none, or none of one of the groups, whose name may be mistyped.
    """
    sources = SourceRepository(session)
    found = dict(sources.get_domains_for_project(project.id, groups))
    unknown = (one for one in groups or () if not found or not sources.get_domains_for_project(project.id, [one]))
    missing = next(unknown, None)
    if found and missing is None:
        return found
    of_group = f" of the group {missing!r}" if missing is not None else ""
    raise NoPagesError(
        f"project {project.name!r} keeps no pages{of_group}: run a crawl first, and keep its pages (DEDUP_KEEP_PAGES)"
    )


def settings_of_analysis(settings: Settings, parameters: AnalysisParameters) -> Settings:
    """Return the settings by which an analysis decides.

    One that names threshold_pct, min_pages or min_block_chars counts repeats, whatever method the settings name: pages
    of HTML by DOM path and text, where the settings do not ask for text alone.

    Raises:
        SettingError: a parameter is out of its range, or beside a method that is named and has none.
    """
    of_method = {name: parameters.get(name) for name in PARAMETERS if parameters.get(name) is not None}
    method = parameters.get("method")
    if method is None and of_method and settings.boilerplate_method not in COUNTING:
        method = "html"
    named = {"boilerplate_method": method} if method is not None else {}
    return settings.override({**named, **of_method}, "")


class DomainDedupService:
    """Analyses over the pages that are stored, independent of any crawl; each can be repeated with the same outcome."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self._session = session
        self._settings = settings

    def analyze_domain(
        self, project_id: uuid.UUID, domain: str, **parameters: Unpack[AnalysisParameters]
    ) -> DomainAnalysisResult:
        """Find what repeats on a domain's stored pages and store every page without it; the caller commits.

        What is stored is what this analysis found, whatever an earlier one did: a block that is boilerplate no longer
        is in `cleaned_content` again, and with fewer than min_pages pages all blocks are. Parameters hold for this
        analysis: the next one without them cuts as the settings ask for. Pages of HTML and pages of text are counted
        apart, and summed in the result. Originals are never changed.

        Returns:
            `pages_cleaned` counts the pages that lost a block, `bytes_removed_total` UTF-8 bytes of visible text.

        Raises:
            SettingError: a parameter is out of its range.
            StoreError: the store failed.
        """
        chosen = settings_of_analysis(self._settings, parameters)
        analysis = DomainAnalysis(self._session, chosen, project_id, domain, parameters)
        result = analysis.run()
        self._session.flush()
        return result

    def analyze_project(self, project_id: uuid.UUID, **parameters: Unpack[AnalysisParameters]) -> ProjectAnalysisResult:
        """Analyse all domains that have stored pages, in the order of their names, and commit once.

        Raises:
            SettingError: a parameter is out of its range.
            StoreError: the store failed; nothing was written.
        """
        groups = parameters.get("source_groups")
        domains = SourceRepository(self._session).get_domains_for_project(project_id, groups)
        results = [self.analyze_domain(project_id, domain, **parameters) for domain, _ in domains]
        if not parameters.get("dry_run"):
            self._session.commit()
        return summed(results)

    def get_domain_stats(self, project_id: uuid.UUID) -> list[dict[str, Any]]:
        """Return what is known of each domain by each method, in the order of domains and methods.

        Keys: domain, method, pages_analyzed, blocks_total, blocks_boilerplate, bytes_removed_avg, threshold_pct,
        min_pages, min_block_chars, updated_at (ISO 8601).
        """
        names = (
            "domain method pages_analyzed blocks_total blocks_boilerplate bytes_removed_avg threshold_pct min_pages "
            "min_block_chars"
        ).split()
        return [
            {**{name: getattr(row, name) for name in names}, "updated_at": row.updated_at.isoformat()}
            for row in DomainBoilerplateRepository(self._session).list_by_project(project_id)
        ]


def summed(results: list[DomainAnalysisResult]) -> ProjectAnalysisResult:
    """Return the analyses of some domains as that of their project."""
    return ProjectAnalysisResult(
        domains_analyzed=len(results),
        domains_with_boilerplate=sum(result.blocks_boilerplate > 0 for result in results),
        total_pages_cleaned=sum(result.pages_cleaned for result in results),
        total_bytes_removed=sum(result.bytes_removed_total for result in results),
        domain_results=results,
    )
