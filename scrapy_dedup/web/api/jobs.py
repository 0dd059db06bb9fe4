"""Jobs: what takes long, and what needs Scrapy."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path
from fastapi.responses import Response
from pydantic import Field

from scrapy_dedup.answers import Answer, Count, Id, Instant, OfProject, Project
from scrapy_dedup.core.domains import checked_domain
from scrapy_dedup.service.jobs import Job, JobState
from scrapy_dedup.web.api.asked import PREFIX, Here, Named, WriteBody
from scrapy_dedup.web.problems import AsciiResponse, ProblemError
from scrapy_dedup.web.server import OpenProject

router = APIRouter(prefix="/projects/{project}", tags=["jobs"])
JobInPath = Annotated[UUID, Path(description="A job.", examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]


class JobAnswer(Answer):
    """A piece of work as it stands."""

    id: Id
    kind: Annotated[str, Field(examples=["analyze-boilerplate"])]
    project: Project
    state: JobState
    done: Count
    total: Annotated[int | None, Field(examples=[24])]
    result: Annotated[
        dict[str, Any] | None, Field(description="Of a job that is done: as the command's --json.", examples=[None])
    ]
    error: Annotated[str | None, Field(examples=[None])]
    created_at: Instant
    started_at: Instant | None
    ended_at: Instant | None


class JobsAnswer(OfProject):
    """The jobs of a project, newest first."""

    jobs: list[JobAnswer]


class RefineBody(WriteBody):
    """Which stored pages are cleaned again."""

    domains: Annotated[tuple[Named, ...], Field(max_length=1_000, examples=[["example.org"]])] = ()


class LearnBody(WriteBody):
    """Which domain is learned by the browser."""

    target: Annotated[
        str,
        Field(description="A domain, or a page's address.", min_length=1, max_length=2_000, examples=["example.org"]),
    ]
    all: Annotated[bool, Field(description="Show pages of layouts that are sure, too.", examples=[False])] = False


def prefers_async(prefer: str | None) -> bool:
    """Whether a Prefer header asks for a job."""
    return prefer is not None and "respond-async" in [word.strip().lower() for word in prefer.split(",")]


def job_started(asked: OpenProject, job: Job) -> Response:
    """Return a job, and where it is found."""
    answer = JobAnswer.of(job).model_dump(mode="json")
    return AsciiResponse(answer, 202, {"Location": f"{PREFIX}/projects/{asked.project.id}/jobs/{job.id}"})


@router.post(
    "/refine",
    status_code=202,
    response_model=JobAnswer,
    response_description="The job that does it; its result is as `scrapy dedup templates refine --json`.",
)
def refine(asked: Here, body: RefineBody) -> Response:
    """Clean the stored pages again by what is known now, and emit those whose text changes."""
    words = [f"--domain={checked_domain(name, asked.settings.domain_scope)}" for name in body.domains]
    words += ["--dry-run"] if body.dry_run else []
    return job_started(asked, asked.start_verb("refine", *words))


@router.post(
    "/learn",
    status_code=202,
    response_model=JobAnswer,
    response_description="The job that does it; its result is as `scrapy dedup templates learn --json`.",
)
def learn(asked: Here, body: LearnBody) -> Response:
    """Show pages of a domain in the browser, and learn from them how its layouts are cut."""
    if body.target.startswith("-") or not body.target.isprintable():
        raise ProblemError(422, f"{body.target[:100]!r} is neither a domain nor a URL")
    flags = [name for name, chosen in (("--all", body.all), ("--dry-run", body.dry_run)) if chosen]
    return job_started(asked, asked.start_verb("learn", body.target, *flags))


@router.get("/jobs", response_description="Newest first.")
def list_jobs(asked: Here) -> JobsAnswer:
    """Return the jobs of a project that run, wait, or ended lately."""
    return JobsAnswer.of(project=asked.project.name, jobs=asked.server.jobs.list(asked.project.name))


@router.get("/jobs/{job}", response_description="The job.")
def show_job(asked: Here, job: JobInPath) -> JobAnswer:
    """Return how far a job is, and what came of it."""
    return JobAnswer.of(_found(asked, job))


@router.delete("/jobs/{job}", response_description="The job; one that runs ends as soon as it looks up.")
def cancel_job(asked: Here, job: JobInPath) -> JobAnswer:
    """Let a job end; what it wrote in one transaction is undone."""
    _found(asked, job)
    return JobAnswer.of(asked.server.jobs.cancel(job) or _found(asked, job))


def _found(asked: OpenProject, job: UUID) -> Job:
    found = asked.server.jobs.get(job)
    if found is None or found.project != asked.project.name:
        raise ProblemError(404, f"there is no job {job}: it was never started, or ended long ago")
    return found
