"""What is held of pages, so that they need not be fetched and extracted again."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response

from scrapy_dedup.service import cache_upkeep as upkeep
from scrapy_dedup.service.answers.cache import (
    cache_check_answer,
    cache_list_answer,
    cache_removal_answer,
    cache_stats_answer,
)
from scrapy_dedup.service.answers.cache_pages import cached_page_answer
from scrapy_dedup.service.cache_check import check_cache
from scrapy_dedup.service.cache_export import count_pages
from scrapy_dedup.service.cache_stats import cache_stats
from scrapy_dedup.service.jobs import Progress
from scrapy_dedup.web import models
from scrapy_dedup.web import models_cache as cache_models
from scrapy_dedup.web.api.asked import DomainInQuery, Here, Limit, UrlInQuery, now, reads, writes
from scrapy_dedup.web.api.jobs import job_started
from scrapy_dedup.web.etags import answered, done
from scrapy_dedup.web.problems import ProblemError

router = APIRouter(tags=["cache"])
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@router.get(
    "/projects/{project}/cache/stats",
    operation_id="show_cache_stats",
    responses=reads(cache_models.CacheStatsAnswer, "Of the last run, or of all visits that are kept."),
)
def stats(
    asked: Here,
    *,
    all_: Annotated[bool, Query(alias="all", description="All visits that are kept.", examples=[True])] = False,
    price: Annotated[float | None, Query(description="Of one callback.", ge=0, le=1e6, examples=[0.002])] = None,
) -> Response:
    """Return what coming again spared."""
    found = cache_stats(asked.store, asked.project, all_runs=all_, price=price)
    return answered(asked.request, cache_stats_answer(found))


@router.get(
    "/projects/{project}/cache/pages",
    operation_id="list_cached_pages",
    responses=reads(cache_models.CacheListAnswer, "The first pages with extractions, and how many there are."),
)
def list_all(asked: Here, domain: DomainInQuery = None, limit: Limit = 100) -> Response:
    """Return pages with extractions, in the order of domain and URL."""
    found = upkeep.list_pages(*asked.known, domain, limit)
    return answered(asked.request, cache_list_answer(found))


@router.get(
    "/projects/{project}/cache/page",
    operation_id="show_cached_page",
    responses=reads(cache_models.CachedAnswer, "What is held; `known` is false where nothing is."),
)
def show(asked: Here, url: UrlInQuery) -> Response:
    """Return what the cache holds of a page."""
    found = upkeep.find_page(*asked.known, url, asked.settings)
    return answered(asked.request, cached_page_answer(found))


@router.post(
    "/projects/{project}/cache/invalidate",
    operation_id="invalidate_cache",
    responses=writes(cache_models.CacheRemovalAnswer, "What was deleted, or would be."),
)
def invalidate(asked: Here, body: cache_models.InvalidateBody) -> Response:
    """Have pages extracted anew."""
    chosen = [body.urls is not None, body.domain is not None, body.pattern is not None, body.all]
    if sum(chosen) != 1:
        raise ProblemError(422, "this needs exactly one of urls, domain, pattern, all")
    if body.urls is not None:
        removal = upkeep.invalidate_urls(asked.project, body.urls, asked.settings, dry_run=body.dry_run)
    elif body.pattern is not None:
        removal = upkeep.invalidate_pattern(*asked.known, body.pattern, dry_run=body.dry_run)
    else:
        removal = upkeep.invalidate(asked.project, body.domain, dry_run=body.dry_run)
    return done(cache_removal_answer(removal))


@router.post(
    "/projects/{project}/cache/expire",
    operation_id="expire_cache",
    responses=writes(cache_models.CacheRemovalAnswer, "What was deleted, or would be."),
)
def expire(asked: Here, body: cache_models.ExpireBody) -> Response:
    """Delete extractions that were made long ago."""
    return done(cache_removal_answer(upkeep.expire(asked.project, _before(body.older_than), dry_run=body.dry_run)))


def _before(age: str) -> datetime:
    try:
        return now() - timedelta(**{_UNITS[age[-1]]: float(age[:-1])})
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


@router.post(
    "/projects/{project}/cache/gc",
    operation_id="collect_cache_garbage",
    responses=writes(cache_models.CacheRemovalAnswer, "What was deleted, or would be."),
)
def gc(asked: Here, body: cache_models.GcBody) -> Response:
    """Delete extractions of contents that their pages no longer have."""
    return done(cache_removal_answer(upkeep.collect_garbage(asked.project, dry_run=body.dry_run)))


@router.post(
    "/projects/{project}/cache/verify",
    operation_id="verify_cache",
    responses=writes(
        models.JobAnswer, "The job that does it; its result is as `scrapy dedup cache verify --json`.", 202
    ),
)
def verify(asked: Here, body: cache_models.VerifyBody) -> Response:
    """Unpack all that is held, and compare texts with their hashes."""

    def work(progress: Progress) -> dict[str, Any]:
        total, checked = count_pages(*asked.known), 0

        def tell(pages: int) -> None:
            nonlocal checked
            checked += pages
            progress(checked, total)

        check = check_cache(*asked.known, asked.settings, tell, fix=body.fix)
        return cache_check_answer(check, dry_run=False)

    return job_started(asked, "verify-cache", work)
