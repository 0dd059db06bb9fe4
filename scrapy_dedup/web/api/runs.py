"""Runs, how far one is, and which pages were found new, changed or removed."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from scrapy_dedup.service.answers.changes import change_answer, changes_head
from scrapy_dedup.service.answers.runs import run_answer
from scrapy_dedup.service.changes import (
    LAST,
    VERDICTS,
    Choice,
    PageChange,
    Since,
    count_changes,
    iterate_changes,
    since,
)
from scrapy_dedup.store.stored_visits import RunFigures
from scrapy_dedup.web import models_runs as models
from scrapy_dedup.web.api.asked import After, Asked, DomainInQuery, Here, Limit, now, reads
from scrapy_dedup.web.etags import answered
from scrapy_dedup.web.paging import ChangesPlace, from_cursor, to_cursor
from scrapy_dedup.web.problems import ProblemError

router = APIRouter(tags=["runs"])
RunInPath = Annotated[UUID, Path(description="A run.", examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]


@router.get("/projects/{project}/runs", operation_id="list_runs", responses=reads(models.RunsAnswer, "Newest first."))
def list_all(asked: Here, limit: Limit = 10) -> Response:
    """Return the last runs, and what each found."""
    runs = [run_answer(one) for one in asked.project.runs(limit)]
    return answered(asked.request, {"project": asked.project.name, "runs": runs})


@router.get("/projects/{project}/runs/{run}", operation_id="show_run", responses=reads(models.RunAnswer, "The run."))
def show(asked: Here, run: RunInPath) -> Response:
    """Return what one run found."""
    return answered(asked.request, run_answer(_found(asked, run)))


@router.get(
    "/projects/{project}/runs/{run}/live",
    operation_id="watch_run",
    responses=reads(models.LiveRunAnswer, "The run, and what it says of itself."),
)
def live(asked: Here, run: RunInPath) -> Response:
    """Return how far a run is."""
    found = _found(asked, run)
    heard_at = found.run.seen_at
    silence = found.run.silence(now())
    told = {
        "seen_at": heard_at.isoformat() if heard_at else None,
        "silent_seconds": silence.total_seconds() if silence is not None else None,
        "stats": {name: float(one) for name, one in found.run.stats.items() if isinstance(one, int | float)},
    }
    return answered(asked.request, run_answer(found) | told)


def _found(asked: Asked, run: UUID) -> RunFigures:
    found = asked.project.run_figures(run)
    if found is None:
        raise ProblemError(404, f"project {asked.project.name!r} has no run {run}")
    return found


@router.get(
    "/projects/{project}/changes",
    operation_id="list_changes",
    responses=reads(models.ChangesAnswer, "By verdict (new, changed, removed), and then by time."),
)
def changes(
    asked: Here,
    since_: Annotated[
        str,
        Query(
            alias="since",
            description="A run's id or its beginning, `last`, a date, or an age such as `7d`.",
            max_length=100,
            examples=["last"],
        ),
    ] = LAST,
    domain: DomainInQuery = None,
    verdict: Annotated[
        Literal["new", "changed", "removed"] | None, Query(description="Only these.", examples=["changed"])
    ] = None,
    *,
    diff: Annotated[bool, Query(description="With the passages that changed.", examples=[False])] = False,
    limit: Limit = 50,
    after: After = None,
) -> Response:
    """Return which pages were found new, changed or removed since a run or a date."""
    choice = Choice(domain.lower() if domain else None, verdict, diff=diff)
    place = from_cursor(after) if after is not None else _beginning(asked, since_, choice)
    counts = dict(zip(VERDICTS, place.counts, strict=True))
    rows = [change_answer(one, with_diff=diff) for one in islice(_from(asked, place, choice), limit)]
    passed = place.passed + len(rows)
    more = bool(rows) and passed < sum(place.counts)
    found: dict[str, Any] = changes_head(asked.project.name, place.start, counts)
    return answered(
        asked.request, {**found, "changes": rows, "next": to_cursor(replace(place, passed=passed)) if more else None}
    )


def _beginning(asked: Asked, said: str, choice: Choice) -> ChangesPlace:
    start: Since = since(asked.project, said, now())
    counts = count_changes(asked.project, start, choice)
    return ChangesPlace(start, tuple(counts[verdict] for verdict in VERDICTS), 0)


def _from(asked: Asked, place: ChangesPlace, choice: Choice) -> Iterator[PageChange]:
    """Iterate over the changes behind a place; verdicts that lie before it are not looked through again."""
    passed = place.passed
    for verdict, count in zip(VERDICTS, place.counts, strict=True):
        if passed >= count:
            passed -= count
            continue
        some = iterate_changes(asked.project, place.start, replace(choice, verdict=verdict), asked.settings)
        yield from islice(some, passed, count)
        passed = 0
