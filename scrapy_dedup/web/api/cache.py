"""What is held of pages, so that they need not be fetched and extracted again."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field

from scrapy_dedup.answers.cache import (
    cache_check_answer,
    cache_list_answer,
    cache_removal_answer,
    cache_stats_answer,
)
from scrapy_dedup.answers.cache_pages import cached_page_answer
from scrapy_dedup.answers.pages import CrawledRunAnswer
from scrapy_dedup.answers.words import Answer, Chars, Count, Domain, Instant, Key, MaybeUrl, Project, Url
from scrapy_dedup.service import cache_upkeep as upkeep
from scrapy_dedup.service.cache_check import check_cache
from scrapy_dedup.service.cache_export import count_pages
from scrapy_dedup.service.cache_stats import cache_stats
from scrapy_dedup.service.jobs import Progress
from scrapy_dedup.web.api.asked import LONGEST, Body, DomainInQuery, Here, Limit, Named, Switch, UrlInQuery, now
from scrapy_dedup.web.api.jobs import JobAnswer, job_started
from scrapy_dedup.web.problems import ProblemError

router = APIRouter(tags=["cache"])
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class CacheStatsAnswer(Answer):
    """As `scrapy dedup cache stats --json`."""

    project: Project
    run: CrawledRunAnswer | None
    price: Annotated[float | None, Field(examples=[None])]
    money_saved: Annotated[float | None, Field(examples=[None])]
    total: Annotated[dict[str, Any], Field(examples=[{"visits": 12, "hit_rate": 0.5}])]
    domains: Annotated[list[dict[str, Any]], Field(examples=[[{"domain": "example.org", "visits": 12}]])]


class CachedPageAnswer(Answer):
    """A page with extractions."""

    url: Url
    domain: Domain
    extractions: Count
    current: Count
    packed_bytes: Chars
    extracted_at: Instant


class CacheListAnswer(Answer):
    """As `scrapy dedup cache list --json`."""

    pages: list[CachedPageAnswer]
    total: Count


class CachedAnswer(Answer):
    """As `scrapy dedup cache show --json`."""

    url: Url
    page_key: Key
    known: Switch
    stands_for: MaybeUrl
    record: Annotated[dict[str, Any] | None, Field(examples=[None])]
    metadata: Annotated[dict[str, Any] | None, Field(examples=[None])]
    validators: Annotated[dict[str, Any], Field(examples=[{"etag": None}])]
    extractions: Annotated[list[dict[str, Any]], Field(examples=[[]])]


class CacheRemovalAnswer(Answer):
    """What was deleted, or would be; unknown are URLs without a page."""

    dry_run: Switch
    extractions: Count
    packed_bytes: Chars
    unknown: Annotated[list[str], Field(examples=[[]])]


class InvalidateBody(Body):
    """Which pages are extracted anew: exactly one of urls, domain, pattern, all."""

    urls: Annotated[list[Annotated[str, Field(max_length=LONGEST)]] | None, Field(max_length=1_000)] = None
    domain: Annotated[Named | None, Field(examples=["example.org"])] = None
    pattern: Annotated[str | None, Field(min_length=1, max_length=LONGEST, examples=[None])] = None
    all: Switch = False
    dry_run: Switch = False


class ExpireBody(Body):
    """How old the extractions are that are deleted."""

    older_than: Annotated[
        str,
        Field(
            description="A number and s, m, h, d or w.", pattern="^[0-9]{1,9}(\\.[0-9]{1,9})?[smhdw]$", examples=["30d"]
        ),
    ]
    dry_run: Switch = False


class GcBody(Body):
    """Whether it is only to be said what would be deleted."""

    dry_run: Switch = False


class VerifyBody(Body):
    """Whether what is damaged is deleted, so that its pages come again."""

    fix: Switch = False


@router.get(
    "/projects/{project}/cache/stats",
    operation_id="show_cache_stats",
    response_description="Of the last run, or of all visits that are kept.",
)
def stats(
    asked: Here,
    *,
    all_: Annotated[bool, Query(alias="all", description="All visits that are kept.", examples=[True])] = False,
    price: Annotated[float | None, Query(description="Of one callback.", ge=0, le=1e6, examples=[0.002])] = None,
) -> CacheStatsAnswer:
    """Return what coming again spared."""
    found = cache_stats(asked.store, asked.project, all_runs=all_, price=price)
    return CacheStatsAnswer.model_validate(cache_stats_answer(found))


@router.get(
    "/projects/{project}/cache/pages",
    operation_id="list_cached_pages",
    response_description="The first pages with extractions, and how many there are.",
)
def list_all(asked: Here, domain: DomainInQuery = None, limit: Limit = 100) -> CacheListAnswer:
    """Return pages with extractions, in the order of domain and URL."""
    found = upkeep.list_pages(*asked.known, domain, limit)
    return CacheListAnswer.model_validate(cache_list_answer(found))


@router.get(
    "/projects/{project}/cache/page",
    operation_id="show_cached_page",
    response_description="What is held; `known` is false where nothing is.",
)
def show(asked: Here, url: UrlInQuery) -> CachedAnswer:
    """Return what the cache holds of a page."""
    found = upkeep.find_page(*asked.known, url, asked.settings)
    return CachedAnswer.model_validate(cached_page_answer(found))


@router.post(
    "/projects/{project}/cache/invalidate",
    operation_id="invalidate_cache",
    response_description="What was deleted, or would be.",
)
def invalidate(asked: Here, body: InvalidateBody) -> CacheRemovalAnswer:
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
    return CacheRemovalAnswer.model_validate(cache_removal_answer(removal))


@router.post(
    "/projects/{project}/cache/expire",
    operation_id="expire_cache",
    response_description="What was deleted, or would be.",
)
def expire(asked: Here, body: ExpireBody) -> CacheRemovalAnswer:
    """Delete extractions that were made long ago."""
    return CacheRemovalAnswer.model_validate(
        cache_removal_answer(upkeep.expire(asked.project, _before(body.older_than), dry_run=body.dry_run))
    )


def _before(age: str) -> datetime:
    try:
        return now() - timedelta(**{_UNITS[age[-1]]: float(age[:-1])})
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


@router.post(
    "/projects/{project}/cache/gc",
    operation_id="collect_cache_garbage",
    response_description="What was deleted, or would be.",
)
def gc(asked: Here, body: GcBody) -> CacheRemovalAnswer:
    """Delete extractions of contents that their pages no longer have."""
    return CacheRemovalAnswer.model_validate(
        cache_removal_answer(upkeep.collect_garbage(asked.project, dry_run=body.dry_run))
    )


@router.post(
    "/projects/{project}/cache/verify",
    operation_id="verify_cache",
    status_code=202,
    response_model=JobAnswer,
    response_description="The job that does it; its result is as `scrapy dedup cache verify --json`.",
)
def verify(asked: Here, body: VerifyBody) -> Response:
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
