"""Words of the schema for what is held of pages."""

from typing import Annotated, Any

from pydantic import Field

from scrapy_dedup.web.models import (
    LONGEST,
    Answer,
    Body,
    Chars,
    Count,
    Domain,
    Instant,
    Key,
    Named,
    Project,
    Switch,
    Url,
)
from scrapy_dedup.web.models_pages import CrawledRunAnswer, MaybeUrl


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
