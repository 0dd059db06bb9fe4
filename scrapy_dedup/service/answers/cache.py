"""What the cache says of itself, as `--json` prints it and REST answers it."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

Count = Annotated[int, Field(ge=0, examples=[12])]
Text = Annotated[str, Field(examples=["example.org"])]
Seconds = Annotated[float, Field(ge=0, examples=[12.5])]
Share = Annotated[float, Field(ge=0, le=1, examples=[0.42])]
Switch = Annotated[bool, Field(examples=[False])]
Instant = Annotated[
    datetime, PlainSerializer(datetime.isoformat, return_type=str), Field(examples=["2026-03-01T12:00:00+00:00"])
]


class _Answer(BaseModel):
    """What has these members and no others; made of a value whose attributes are named alike."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


class DomainCacheAnswer(_Answer):
    """What coming again spared on a domain; without a name, on all."""

    domain: Text
    visits: Count
    hits: Count
    misses: Count
    hit_rate: Share
    not_modified: Count
    bytes_received: Count
    bytes_saved: Count
    seconds_saved: Seconds
    extractions: Count
    packed_bytes: Count


class CacheRunAnswer(_Answer):
    """The run whose visits are counted."""

    id: Annotated[UUID, Field(examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]
    spider: Text
    status: Text
    started_at: Instant


class CacheStatsAnswer(_Answer):
    """What the last run spared; without a run, what all visits did that are kept."""

    project: Text
    run: CacheRunAnswer | None
    total: DomainCacheAnswer
    domains: list[DomainCacheAnswer]


class CacheRemovalAnswer(_Answer):
    """What was deleted, or would be; unknown are URLs without a page."""

    dry_run: Switch
    extractions: Count
    packed_bytes: Count
    unknown: Annotated[list[str], Field(examples=[[]])]


class CacheDamageAnswer(_Answer):
    """A part of a page that is not what was stored."""

    url: Text
    part: Text
    reason: Text


class CacheCheckAnswer(_Answer):
    """What was looked at, and what is damaged: how much by part, and the first 200."""

    pages: Count
    extractions: Count
    damaged: Annotated[dict[str, int], Field(examples=[{"extraction": 1}])]
    damages: list[CacheDamageAnswer]
    fixed: Switch


class CacheTransferAnswer(_Answer):
    """What was written into a tree, or read from one; index_rebuilt says why its index was not used."""

    pages: Count
    extractions: Count
    pages_held: Count
    pages_left_out: Count
    index_rebuilt: Annotated[str | None, Field(examples=[None])]
    problems: Annotated[list[str], Field(examples=[[]])]
