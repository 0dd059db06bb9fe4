"""What is held of pages, so that they need not be fetched and extracted again."""

from typing import Annotated, Any, Final

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import AwareDatetime, Field

from scrapy_dedup.answers.projects import CacheCheckAnswer, CacheRemovalAnswer, CacheStatsAnswer
from scrapy_dedup.service.cache import cache
from scrapy_dedup.service.jobs import Progress
from scrapy_dedup.store.records.stored import ExtractionChoice
from scrapy_dedup.store.upkeep.cache import StoredCache
from scrapy_dedup.web.api.asked import LONGEST, Body, Here, Named, Switch, WriteBody
from scrapy_dedup.web.api.jobs import JobAnswer, job_started
from scrapy_dedup.web.problems import ProblemError
from scrapy_dedup.web.server import OpenProject

router = APIRouter(prefix="/projects/{project}/cache", tags=["cache"])
_REMOVED: Final = "What was deleted, or would be."


class InvalidateBody(WriteBody):
    """Which pages are extracted anew: exactly one of urls, domain, all."""

    urls: Annotated[list[Annotated[str, Field(max_length=LONGEST)]] | None, Field(max_length=1_000)] = None
    domain: Annotated[Named | None, Field(examples=["example.org"])] = None
    all: Switch = False


class ExpireBody(WriteBody):
    """Before which instant the extractions were made that are deleted."""

    before: Annotated[AwareDatetime, Field(examples=["2026-03-01T12:00:00+00:00"])]


class VerifyBody(Body):
    """Whether what is damaged is deleted, so that its pages come again."""

    fix: Switch = False


@router.get("/stats", response_description="Of the last run.")
def show_cache_stats(asked: Here) -> CacheStatsAnswer:
    """Return what coming again spared."""
    return CacheStatsAnswer.of(cache.cache_stats(asked.project))


@router.post("/invalidate", response_description=_REMOVED)
def invalidate_cache(asked: Here, body: InvalidateBody) -> CacheRemovalAnswer:
    """Have pages extracted anew."""
    if sum((body.urls is not None, body.domain is not None, body.all)) != 1:
        raise ProblemError(422, "this needs exactly one of urls, domain, all")
    chosen = body.model_dump(include={"urls", "domain", "dry_run"})
    return CacheRemovalAnswer.of(cache.invalidate(asked.project, asked.settings, **chosen))


def _remove(asked: OpenProject, choice: ExtractionChoice, *, dry_run: bool) -> CacheRemovalAnswer:
    return CacheRemovalAnswer.of(cache.remove(asked.project, choice, dry_run=dry_run))


@router.post("/expire", response_description=_REMOVED)
def expire_cache(asked: Here, body: ExpireBody) -> CacheRemovalAnswer:
    """Delete extractions that were made long ago."""
    return _remove(asked, ExtractionChoice(created_before=body.before), dry_run=body.dry_run)


@router.post("/clean", response_description=_REMOVED)
def clean_cache(asked: Here, body: WriteBody) -> CacheRemovalAnswer:
    """Delete extractions of contents that their pages no longer have."""
    return _remove(asked, ExtractionChoice(outdated=True), dry_run=body.dry_run)


@router.post(
    "/verify",
    status_code=202,
    response_model=JobAnswer,
    response_description="The job that does it; its result is as `scrapy dedup store cache verify --json`.",
)
def verify_cache(asked: Here, body: VerifyBody) -> Response:
    """Unpack all that is held, and compare texts with their hashes."""

    def work(progress: Progress) -> dict[str, Any]:
        total, checked = StoredCache(asked.project).count_pages(), 0

        def tell(pages: int) -> None:
            nonlocal checked
            checked += pages
            progress(checked, total)

        check = cache.verify(asked.project, asked.settings, tell, fix=body.fix)
        return CacheCheckAnswer.of(check).model_dump(mode="json")

    return job_started(asked, asked.start("verify-cache", work))
