"""What the tools ask, answered by the services that the commands call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from scrapy_dedup.answers.domains import DomainAnswer
from scrapy_dedup.answers.pages import ExplanationAnswer, SearchAnswer
from scrapy_dedup.answers.projects import AnalysisAnswer, StatsAnswer
from scrapy_dedup.answers.runs import ChangesAnswer
from scrapy_dedup.answers.words import Answer, Domain, Project, Switch
from scrapy_dedup.core.domains.names import domain_name
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service.domains.registry import DomainService, StoredDomain
from scrapy_dedup.service.projects import find_project, project_of
from scrapy_dedup.service.report.overview import overview
from scrapy_dedup.service.stored.analysis import DomainDedupService, pages_to_analyze, settings_of_analysis
from scrapy_dedup.service.stored.domain_analysis import PASSES, AnalysisParameters
from scrapy_dedup.service.views.changes import ChangesChoice, count_changes, iterate_changes, since
from scrapy_dedup.service.views.explain import explain
from scrapy_dedup.service.views.page_search import SearchChoice, search_pages
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.writer import ProjectStore

BY: Final = "mcp"
"""Who blacklisted, as the registry says it."""

Progress = Callable[[int, int, str], None]
"""Called with how many pages were read, of how many, and the domain."""


class AskingError(DedupError):
    """What was asked for cannot be answered; the message says why, and what to do."""


class DomainStatusAnswer(Answer):
    """What the registry knows of a domain."""

    project: Project
    domain: Domain
    registered: Switch
    entry: DomainAnswer | None


@dataclass(frozen=True, slots=True)
class Desk:
    """Answers questions about the projects of a store.

    Every method raises DedupError, whose message says what to do.

    Attributes:
        project: the name of the project that is meant where none is named.
        clock: gives the present instant.
    """

    store: Store
    settings: Settings
    project: str
    clock: Callable[[], datetime] = now

    def project_of(self, id_or_name: str | None) -> ProjectStore:
        """Return a project by its UUID or name, the desk's own where none is named."""
        return find_project(self.store, self.project) if id_or_name is None else project_of(self.store, id_or_name)

    def analysis(
        self,
        project_id: str | None,
        changed: AnalysisParameters,
        groups: Sequence[str] | None,
        *,
        dry_run: bool,
        progress: Progress,
    ) -> AnalysisAnswer:
        """Return what an analysis of all domains found; it stores the pages without it, unless it is a dry run.

        Args:
            project_id: of this project.
            changed: what this analysis does differently from the settings; None leaves it to them.
            groups: only pages stored under one of these.
            dry_run: find out and write nothing.
            progress: is told how far it is.
        """
        settings = settings_of_analysis(self.settings, changed)
        project = self.project_of(project_id)
        with self.store.session(read_only=dry_run) as session:
            known = pages_to_analyze(session, project, groups)
            result = DomainDedupService(session, settings).analyze_project(
                project.id,
                source_groups=groups,
                dry_run=dry_run,
                progress=_counting(progress, PASSES * sum(known.values())),
            )
        return AnalysisAnswer.made(project.name, settings, result, groups, dry_run=dry_run)

    def stats(self, project_id: str | None) -> StatsAnswer:
        """Return how much boilerplate each domain has, worst first, and what is known of them."""
        project = self.project_of(project_id)
        found = overview(self.store, project)
        with self.store.session(read_only=True) as session:
            learned = DomainDedupService(session, self.settings).get_domain_stats(project.id)
        return StatsAnswer.made(found, learned)

    def explanation(self, project_id: str | None, url: str) -> ExplanationAnswer:
        """Return what is known of a URL, and why its blocks were removed."""
        project = self.project_of(project_id)
        return ExplanationAnswer.made(explain(self.store, project.name, url, self.settings))

    def search(self, project_id: str | None, choice: SearchChoice) -> SearchAnswer:
        """Return pages that have some words."""
        project = self.project_of(project_id)
        return SearchAnswer.made(project.name, search_pages(self.store, project, choice))

    def changes(self, project_id: str | None, said: str, choice: ChangesChoice, limit: int) -> ChangesAnswer:
        """Return so many changes since a run or an instant in the order of time, and the counts of all."""
        project = self.project_of(project_id)
        start = since(project, said, self.clock())
        counts = count_changes(project, start, choice)
        shown = list(islice(iterate_changes(project, start, choice, self.settings), limit))
        return ChangesAnswer.made(project.name, start, counts, shown)

    def domain(self, project_id: str | None, name: str) -> DomainStatusAnswer:
        """Return what the registry knows of a domain."""
        project = self.project_of(project_id)
        normal = domain_name(name, self.settings.domain_scope)
        if normal is None:
            raise AskingError(f"{name[:100]!r} is no domain: give a name such as www.example.com, or a URL")
        found = DomainService(self.store, project, self.settings).find_by_domain_name(normal)
        return _domain(project, found.domain_name if found else normal, found)

    def blacklisting(
        self, project_id: str | None, name: str, reason: str, expires_after: timedelta | None
    ) -> DomainStatusAnswer:
        """Return a domain after it was blacklisted; one that is new is registered."""
        project, at = self.project_of(project_id), self.clock()
        if not reason.strip():
            raise AskingError("reason: say in a few words why; people see it beside the domain")
        try:
            expires_at = at + expires_after if expires_after is not None else None
        except OverflowError as error:
            raise AskingError("expires_in_days: is too far away; leave it out for a blacklist without end") from error
        service = DomainService(self.store, project, self.settings)
        found = service.blacklist_domain(name, at, by=BY, reason=reason, expires_at=expires_at)
        return _domain(project, found.domain_name, found)


def _domain(project: ProjectStore, name: str, found: StoredDomain | None) -> DomainStatusAnswer:
    return DomainStatusAnswer.of(project=project.name, domain=name, registered=found is not None, entry=found)


def _counting(progress: Progress, total: int) -> Callable[[str, int], None]:
    """Return what counts pages, and tells of each hundredth part of them: a message a page would be millions."""
    done = told = 0

    def count(domain: str, pages: int) -> None:
        nonlocal done, told
        done += pages
        part = 100 * done // max(total, 1)
        if part > told:
            told = part
            progress(done, total, domain)

    return count
