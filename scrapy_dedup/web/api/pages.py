"""Pages: lists, search, and why what was removed of one; runs, and which pages were found new, changed or removed."""

from collections.abc import Iterator
from datetime import UTC
from itertools import islice
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from msgspec import Meta, Struct
from msgspec.structs import replace

from scrapy_dedup.answers import pages as answers
from scrapy_dedup.service.views import changes, page_lists
from scrapy_dedup.service.views.explain import explain
from scrapy_dedup.store.engine.codec import from_cursor, to_cursor
from scrapy_dedup.store.records.records import DocumentStatus
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.web.api.asked import After, DomainInQuery, Here, Limit, UrlInQuery
from scrapy_dedup.web.problems import ProblemError
from scrapy_dedup.web.server import OpenProject

router = APIRouter(prefix="/projects/{project}", tags=["pages"])


@router.get("/pages", response_description="Pages, those that were written last first.")
def list_pages(
    asked: Here,
    domain: DomainInQuery,
    status: Annotated[DocumentStatus | None, Query(description="Only these.", examples=["completed"])] = None,
    verdict: Annotated[
        Literal["new", "changed", "unchanged", "removed", "duplicate", "skipped"] | None,
        Query(description="Only these.", examples=["changed"]),
    ] = None,
    limit: Limit = 50,
    after: After = None,
) -> answers.PageListAnswer:
    """Return pages, of the project or of one domain; a part that is empty may still have a `next`."""
    choice = page_lists.PageChoice(domain, status, verdict, limit, after)  # type: ignore[arg-type]
    return answers.PageListAnswer.of(page_lists.list_pages(asked.project, choice), project=asked.project.name)


@router.get("/pages/search", response_description="Pages that have all words.")
def search_pages(
    asked: Here,
    q: Annotated[str, Query(description="Words, in URL, title or text.", max_length=500, examples=["green tea"])],
    domain: DomainInQuery,
    limit: Annotated[int, Query(description="So many at most.", ge=1, le=100, examples=[20])] = 20,
    after: After = None,
) -> answers.SearchAnswer:
    """Return the pages that have some words, newest first."""
    choice = page_lists.SearchChoice(q, domain, limit, after)
    return answers.SearchAnswer.made(asked.project.name, page_lists.search_pages(asked.project, choice))


@router.get("/pages/explain", response_description="What is known of the URL; `known` is false where it was never met.")
def explain_url(asked: Here, url: UrlInQuery) -> answers.ExplanationAnswer:
    """Return what is known of a URL, and why its blocks were removed."""
    return answers.ExplanationAnswer.made(explain(asked.project, url, asked.settings))


runs = APIRouter(prefix="/projects/{project}", tags=["runs"])
RunInPath = Annotated[
    str, Path(description="A run's id or its beginning, or `last`.", max_length=100, examples=["last"])
]


_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class ChangesPlace(Struct, frozen=True):
    """A place in a list of changes, with what the list's first part said: since when, and how many there are."""

    start: changes.Since
    counts: tuple[_Count, _Count, _Count]
    passed: _Count


@runs.get("/runs", response_description="Newest first.")
def list_runs(asked: Here, limit: Limit = 10) -> answers.RunsAnswer:
    """Return the last runs, and what each found."""
    runs = [answers.RunAnswer.made(one) for one in asked.project.runs(limit)]
    return answers.RunsAnswer.of(project=asked.project.name, runs=runs)


@runs.get("/runs/{run}", response_description="The run.")
def show_run(asked: Here, run: RunInPath) -> answers.OneRunAnswer:
    """Return what one run found, or how far it is."""
    named = changes.find_run(asked.project, run.strip().lower())
    found = asked.project.run_figures(named.id) if named else None
    if found is None:
        raise ProblemError(404, f"project {asked.project.name!r} has no run {run!r}")
    return answers.OneRunAnswer.at(found, now())


@runs.get("/changes", response_description="By verdict (new, changed, removed), and then by time.")
def list_changes(
    asked: Here,
    domain: DomainInQuery,
    since_: Annotated[
        str,
        Query(
            alias="since",
            description="A run's id or its beginning, `last`, a date, or an age such as `7d`.",
            max_length=100,
            examples=["last"],
        ),
    ] = changes.LAST,
    verdict: Annotated[
        Literal["new", "changed", "removed"] | None, Query(description="Only these.", examples=["changed"])
    ] = None,
    *,
    diff: Annotated[bool, Query(description="With the passages that changed.", examples=[False])] = False,
    limit: Limit = 50,
    after: After = None,
) -> answers.ChangesAnswer:
    """Return which pages were found new, changed or removed since a run or a date."""
    choice = changes.ChangesChoice(domain, verdict, diff=diff)
    place = _going_on(after) if after is not None else _beginning(asked, since_, choice)
    counts = dict(zip(changes.VERDICTS, place.counts, strict=True))
    rows = list(islice(_from(asked, place, choice), limit))
    passed = place.passed + len(rows)
    more = bool(rows) and passed < sum(place.counts)
    following = to_cursor(replace(place, passed=passed)) if more else None
    return answers.ChangesAnswer.made(asked.project.name, place.start, counts, rows, following)


def _beginning(asked: OpenProject, said: str, choice: changes.ChangesChoice) -> ChangesPlace:
    start: changes.Since = changes.since(asked.project, said, now())
    counts = changes.count_changes(asked.project, start, choice)
    new, changed, removed = (counts[verdict] for verdict in changes.VERDICTS)
    return ChangesPlace(start, (new, changed, removed), 0)


def _from(asked: OpenProject, place: ChangesPlace, choice: changes.ChangesChoice) -> Iterator[changes.PageChange]:
    """Iterate over the changes behind a place; verdicts that lie before it are not looked through again."""
    passed = place.passed
    for verdict, count in zip(changes.VERDICTS, place.counts, strict=True):
        if passed >= count:
            passed -= count
            continue
        some = changes.iterate_changes(asked.project, place.start, replace(choice, verdict=verdict), asked.settings)
        yield from islice(some, passed, count)
        passed = 0


def _going_on(cursor: str) -> ChangesPlace:
    place: ChangesPlace = from_cursor(cursor, ChangesPlace)
    try:
        # The store compares in UTC, which has no such instant at the edge of all years.
        at = place.start.at.astimezone(UTC)
    except OverflowError as error:
        raise ProblemError(422, "after: no list of changes begins at such an instant") from error
    return replace(place, start=replace(place.start, at=at))
