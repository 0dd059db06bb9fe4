"""What the cache says of itself."""

from typing import Annotated

from pydantic import Field

from scrapy_dedup.answers import Answer, Chars, Count, Domain, Id, Instant, Project, Share, Status, Switch, Url

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


class CacheRunAnswer(Answer):
    """The run whose visits are counted."""

    id: Id
    spider: Annotated[str, Field(examples=["shop"])]
    status: Status
    started_at: Instant


class MemosAnswer(Answer):
    """What is kept of costly functions."""

    memos: Count
    size_bytes: Chars


class CacheStatsAnswer(Answer):
    """What the last run spared; without a run, what all visits did that are kept."""

    project: Project
    run: CacheRunAnswer | None
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
