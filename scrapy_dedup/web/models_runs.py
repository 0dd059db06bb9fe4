"""Words of the schema for runs, and the changes that they found."""

from typing import Annotated, Literal

from pydantic import Field

from scrapy_dedup.web.models import Answer, Chars, Count, Cursor, Id, Instant, Key, Project, Seconds
from scrapy_dedup.web.models_pages import MaybeUrl


class SinceAnswer(Answer):
    """From when on; run is null for a date."""

    at: Instant
    run: Annotated[str | None, Field(examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]


class CountsAnswer(Answer):
    """Changes by verdict."""

    new: Count
    changed: Count
    removed: Count


class ChangeAnswer(Answer):
    """A page that one visit found new, changed or removed; diff and no_diff only where they were asked for."""

    verdict: Annotated[Literal["new", "changed", "removed"], Field(examples=["changed"])]
    change_class: Annotated[str | None, Field(examples=["content"])]
    reason: Annotated[str, Field(examples=["2 of 40 passages differ"])]
    url: MaybeUrl
    domain: Annotated[str | None, Field(examples=["example.org"])]
    page_key: Key
    at: Instant
    run: Annotated[str | None, Field(examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]
    http_status: Annotated[int | None, Field(examples=[200])]
    diff: Annotated[str | None, Field(examples=["-black tea\n+green tea"])] = None
    no_diff: Annotated[str | None, Field(examples=[None])] = None


class ChangesAnswer(Answer):
    """As `scrapy dedup changes --json`, a part at a time."""

    project: Project
    since: SinceAnswer
    counts: CountsAnswer
    changes: list[ChangeAnswer]
    next: Cursor


class WorkerAnswer(Answer):
    """One of the crawlers that share a run: running, finished, stopped, lost, or resumed by a later part of it."""

    name: Annotated[str, Field(examples=["crawler-1:4711"])]
    status: Annotated[str, Field(examples=["finished"])]
    reason: Annotated[str | None, Field(examples=["finished"])]
    started_at: Instant
    finished_at: Instant | None
    responses: Count
    items: Count


class RunAnswer(Answer):
    """What a run found."""

    id: Id
    spider: Annotated[str, Field(examples=["site"])]
    status: Annotated[str, Field(examples=["finished"])]
    reason: Annotated[str | None, Field(examples=["finished"])]
    started_at: Instant
    finished_at: Instant | None
    seen_at: Instant | None
    so_far: Annotated[dict[str, int] | None, Field(examples=[{"responses": 90, "items": 80}])]
    seconds: Annotated[float | None, Field(examples=[12.5])]
    visits: Count
    verdicts: Annotated[dict[str, int], Field(examples=[{"new": 12}])]
    callbacks: Count
    bytes_received: Chars
    request_seconds: Seconds
    workers: list[WorkerAnswer]


class RunsAnswer(Answer):
    """As `scrapy dedup runs --json`."""

    project: Project
    runs: list[RunAnswer]


class LiveRunAnswer(RunAnswer):
    """What a run says of itself: its stats so far, and how long it has said nothing."""

    silent_seconds: Annotated[float | None, Field(description="Of a run that should be heard.", examples=[None])]
    stats: Annotated[dict[str, float], Field(examples=[{"dedup/url/dropped": 9}])]
