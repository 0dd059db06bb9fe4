"""Projects, their figures, and the analysis of their stored pages."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response

from scrapy_dedup.answers import projects as answers
from scrapy_dedup.service import projects
from scrapy_dedup.service.jobs import Progress
from scrapy_dedup.service.report.overview import make_report, named_run, overview
from scrapy_dedup.service.stored.analysis import PASSES, DomainDedupService, pages_to_analyze, settings_of_analysis
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.web.api.asked import DryRun, Here
from scrapy_dedup.web.api.jobs import JobAnswer, job_started, prefers_async
from scrapy_dedup.web.problems import AsciiResponse, ProblemError
from scrapy_dedup.web.server import OpenProject, server_of

router = APIRouter(prefix="/projects", tags=["projects"])


@router.get("", response_description="Every project.")
def list_projects(request: Request) -> answers.ProjectsAnswer:
    """Return the projects of the store, by name."""
    return answers.ProjectsAnswer.of(projects=projects.list_projects(server_of(request).store))


@router.get("/{project}", response_description="The project.")
def show_project(asked: Here) -> answers.ProjectAnswer:
    """Return how much is stored of a project."""
    for one in projects.list_projects(asked.server.store):
        if one.id == asked.project.id:
            return answers.ProjectAnswer.of(one)
    raise ProblemError(404, f"there is no project {asked.project.name!r} in the store")


@router.delete("/{project}", response_description="What was removed, or would be.")
def delete_project(asked: Here, *, dry_run: DryRun = False) -> answers.DeletionAnswer:
    """Remove a project with all that is stored of it."""
    return answers.DeletionAnswer.of(projects.delete_project(asked.server.store, asked.project.name, dry_run=dry_run))


@router.get("/{project}/stats", response_description="The figures of each domain, worst first.")
def show_stats(asked: Here) -> answers.StatsAnswer:
    """Return how much boilerplate each domain has."""
    return answers.StatsAnswer.made(overview(asked.project), _learned(asked))


@router.get("/{project}/boilerplate-stats", response_description="What is known of each domain, by each method.")
def show_boilerplate_stats(asked: Here) -> answers.BoilerplateStatsAnswer:
    """Return what analyses and crawls found to repeat on each domain."""
    return answers.BoilerplateStatsAnswer.of(project=asked.project.name, domains=_learned(asked))


def _learned(asked: OpenProject) -> list[dict[str, Any]]:
    with asked.project.session(read_only=True) as session:
        return DomainDedupService(session, asked.settings).get_domain_stats(asked.project.id)


@router.get("/{project}/report", response_description="The report.")
def show_report(
    asked: Here,
    run: Annotated[
        str | None, Query(description="A run's id or its beginning, or `last`.", max_length=100, examples=["last"])
    ] = None,
) -> answers.ReportAnswer:
    """Return what was fetched, dropped and kept, of the project or of one run."""
    report = make_report(asked.project, asked.settings, now(), named_run(asked.project, run))
    return answers.ReportAnswer.made(report)


@router.post(
    "/{project}/analyze-boilerplate",
    response_model=answers.AnalysisAnswer,
    response_description="What was found, and stored.",
    responses={202: {"model": JobAnswer, "description": "The job that finds it, with `Prefer: respond-async`."}},
)
def analyze_boilerplate(
    asked: Here,
    source_groups: Annotated[
        list[str] | None, Query(description="Only pages of these groups.", max_length=100, examples=[["products"]])
    ] = None,
    threshold_pct: Annotated[
        float | None, Query(description="Share of pages that makes a block boilerplate.", ge=0.1, le=1, examples=[0.7])
    ] = None,
    min_pages: Annotated[
        int | None, Query(description="Nothing is found on fewer pages.", ge=2, le=100, examples=[5])
    ] = None,
    min_block_chars: Annotated[
        int | None, Query(description="Method text: shorter blocks stay.", ge=10, le=500, examples=[50])
    ] = None,
    *,
    dry_run: DryRun = False,
    prefer: Annotated[
        str | None, Header(description="`respond-async` for a job.", max_length=200, examples=["respond-async"])
    ] = None,
) -> Response:
    """Find what repeats on the stored pages of each domain, and store the pages without it.

    With `threshold_pct`, `min_pages` or `min_block_chars` blocks are counted, by the method `html` for pages of HTML;
    without one of them the pages are cut as the settings ask for, again.
    """
    chosen = settings_of_analysis(
        asked.settings, {"threshold_pct": threshold_pct, "min_pages": min_pages, "min_block_chars": min_block_chars}
    )

    def work(progress: Progress) -> dict[str, Any]:
        return _analyse(asked, chosen, source_groups, progress, dry_run=dry_run)

    if prefers_async(prefer):
        return job_started(asked, asked.start("analyze-boilerplate", work))
    return AsciiResponse(work(lambda _done, _total: None))


def _analyse(
    asked: OpenProject, chosen: Settings, groups: list[str] | None, progress: Progress, *, dry_run: bool
) -> dict[str, Any]:
    total, read_so_far = PASSES * sum(pages_to_analyze(asked.project, groups).values()), 0

    def tell(_domain: str, read: int) -> None:
        nonlocal read_so_far
        read_so_far += read
        progress(read_so_far, total)

    with asked.project.session(read_only=dry_run) as session:
        service = DomainDedupService(session, chosen)
        result = service.analyze_project(asked.project.id, source_groups=groups, dry_run=dry_run, progress=tell)
    answer = answers.AnalysisAnswer.made(asked.project.name, chosen, result, groups, dry_run=dry_run)
    return answer.model_dump(mode="json")
