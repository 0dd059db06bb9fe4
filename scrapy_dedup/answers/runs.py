"""Runs, and which pages were found new, changed or removed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AliasPath, Field

from scrapy_dedup.answers.words import Answer, Chars, Count, Cursor, Id, Instant, Key, MaybeId, MaybeUrl, Project
from scrapy_dedup.core.runs import DropAlarm
from scrapy_dedup.service.views.changes import VERDICTS, Since
from scrapy_dedup.store.records.stored import RunFigures, StoredRun

Spider = Annotated[str, Field(examples=["site"])]
State = Annotated[str, Field(examples=["finished"])]
Why = Annotated[str | None, Field(examples=["finished"])]


class WorkerAnswer(Answer):
    """One of the crawlers that share a run: running, finished, stopped, lost, or resumed by a later part of it."""

    name: Annotated[str, Field(examples=["crawler-1:4711"])]
    status: State
    reason: Why
    started_at: Instant
    finished_at: Instant | None
    responses: Count
    items: Count


class DropAlarmAnswer(Answer):
    """A layer left out a tenth of a domain's pages or more: the first, each with the page that stands for it."""

    domain: Annotated[str, Field(examples=["example.org"])]
    layer: Annotated[str, Field(examples=["duplicate"])]
    dropped: Count
    pages: Count
    pairs: Annotated[list[tuple[str, str]], Field(examples=[[("https://example.org/b", "https://example.org/a")]])]


class RunAnswer(Answer):
    """What a run found."""

    id: Id
    spider: Spider
    status: State
    reason: Why
    started_at: Instant
    finished_at: Instant | None
    seen_at: Instant | None
    so_far: Annotated[dict[str, int] | None, Field(examples=[{"responses": 90, "items": 80}])]
    seconds: Annotated[float | None, Field(examples=[12.5])]
    visits: Count
    verdicts: Annotated[dict[str, int], Field(examples=[{"new": 12}])]
    callbacks: Count
    bytes_received: Chars
    request_seconds: Annotated[float, Field(ge=0, examples=[12.5])]
    workers: list[WorkerAnswer]
    drop_alarms: list[DropAlarmAnswer]

    @classmethod
    def made(cls, figures: RunFigures) -> Self:
        """Return what a run found."""
        one = figures.run
        return cls.of(
            one,
            figures,
            so_far=_so_far(one),
            seconds=one.took.total_seconds() if one.took is not None else None,
            request_seconds=round(figures.seconds, 3),
            workers=[WorkerAnswer.of(worker, **_counted(worker.stats)) for worker in figures.workers],
            drop_alarms=[DropAlarmAnswer.of(alarm) for alarm in DropAlarm.of_run(one.stats)],
        )


class OneRunAnswer(RunAnswer):
    """The same, its stats so far, and for how long a run that should be heard has said nothing."""

    silent_seconds: Annotated[float | None, Field(examples=[None])]
    stats: Annotated[dict[str, float], Field(examples=[{"dedup/url/dropped": 9}])]

    @classmethod
    def at(cls, figures: RunFigures, at: datetime) -> Self:
        """Return what a run found and counted, and how it stands at an instant."""
        silence = figures.run.silence(at)
        silent_seconds = silence.total_seconds() if silence is not None else None
        stats = {name: one for name, one in figures.run.stats.items() if isinstance(one, int | float)}
        return cls.of(RunAnswer.made(figures), silent_seconds=silent_seconds, stats=stats)


class RunsAnswer(Answer):
    """The last runs of a project, newest first."""

    project: Project
    runs: list[RunAnswer]


def _so_far(one: StoredRun) -> dict[str, int] | None:
    """Return what a run that is under way, or was killed, has counted; None where it never said so."""
    if one.finished_at is not None or one.seen_at is None:
        return None
    return _counted(one.stats)


def _counted(stats: Mapping[str, Any]) -> dict[str, int]:
    counted = {"responses": "response_received_count", "items": "item_scraped_count"}
    return {name: int(stats.get(stat, 0)) for name, stat in counted.items()}


class SinceAnswer(Answer):
    """From when on; run is null for a date."""

    at: Instant
    run: MaybeId


class CountsAnswer(Answer):
    """Changes by verdict."""

    new: Count
    changed: Count
    removed: Count


class ChangeAnswer(Answer):
    """A page that one visit found new, changed or removed; diff and no_diff are null where they were not asked for."""

    verdict: Annotated[
        Literal["new", "changed", "removed"],
        Field(validation_alias=AliasPath("visit", "verdict"), examples=["changed"]),
    ]
    change_class: Annotated[
        str | None, Field(validation_alias=AliasPath("visit", "change_class"), examples=["content"])
    ]
    reason: Annotated[str, Field(validation_alias=AliasPath("visit", "reason"), examples=["2 of 40 passages differ"])]
    url: MaybeUrl
    domain: Annotated[str | None, Field(examples=["example.org"])]
    page_key: Annotated[Key, Field(validation_alias=AliasPath("visit", "page_key"))]
    at: Annotated[Instant, Field(validation_alias=AliasPath("visit", "at"))]
    run: Annotated[MaybeId, Field(validation_alias=AliasPath("visit", "run_id"))]
    http_status: Annotated[int | None, Field(validation_alias=AliasPath("visit", "http_status"), examples=[200])]
    diff: Annotated[str | None, Field(examples=["-black tea\n+green tea"])]
    no_diff: Annotated[str | None, Field(examples=[None])]


class ChangesAnswer(Answer):
    """Which pages were found new, changed or removed; next is null where all of them stand here."""

    project: Project
    since: SinceAnswer
    counts: Annotated[CountsAnswer, Field(description="Of all changes.")]
    changes: list[ChangeAnswer]
    next: Cursor

    @classmethod
    def made(
        cls, project: str, start: Since, counts: Mapping[str, int], changes: object = (), following: str | None = None
    ) -> Self:
        """Return some of the changes since an instant, and how many there are of each verdict."""
        return cls.of(
            project=project,
            since={"at": start.at, "run": start.run_id},
            counts={verdict: counts.get(verdict, 0) for verdict in VERDICTS},
            changes=changes,
            next=following,
        )
