import uuid
from datetime import timedelta
from typing import Any

import pytest

from scrapy_dedup.core.urls import page_key
from scrapy_dedup.report.values import Recrawl
from scrapy_dedup.service.commits import LAYER
from scrapy_dedup.service.findings import READABLE_CHARS, findings
from scrapy_dedup.service.overview import make_report
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records import DecisionRecord, DocumentRecord, VisitRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import DOMAIN, NOON, a_url

HOUR = timedelta(hours=1)


def begin(project: ProjectStore, hours: float) -> uuid.UUID:
    return project.begin_run(spider="site", jobdir=None, started_at=NOON + hours * HOUR).id


def visit(project: ProjectStore, name: object, verdict: Any, hours: float, *, diff: str = "", **more: Any) -> None:
    """Store what a crawl stores of a page that it found so."""
    at, key = NOON + hours * HOUR, page_key(a_url(name))
    fields: dict[str, Any] = {"fetched": "get", "reason": "", "bytes_received": 1_000, "callback_run": True, **more}
    project.write([VisitRecord(key, at, verdict=verdict, **fields)])
    project.write([DocumentRecord(key, a_url(name), DOMAIN, "completed", at, title=f"Page {name}")])
    if diff:
        project.write([DecisionRecord(key, LAYER, "changed", "", at, {"diff": diff})])


def found(store: Store, project: ProjectStore, run_id: uuid.UUID | None = None) -> Recrawl | None:
    runs = {run.id: run for run in project.last_runs()}
    run = runs[run_id] if run_id else next(iter(project.last_runs(1)))
    return findings(store, project, Settings(), run)


def crawl_with_diffs(project: ProjectStore, *lengths: int) -> None:
    begin(project, 0)
    for number, chars in enumerate(lengths):
        visit(project, number, "changed", 1, diff="d" * chars, change_class="content")


def diffs(store: Store, project: ProjectStore) -> list[int]:
    recrawl = found(store, project)
    return [len(page.diff) for page in recrawl.diffs] if recrawl else []


@pytest.mark.parametrize(
    "verdicts",
    [pytest.param([], id="nothing"), pytest.param(["new", "new", None], id="new-pages"), pytest.param(["duplicate"])],
)
def test_crawl_that_met_no_known_page_found_nothing_to_tell(
    store: Store, project: ProjectStore, verdicts: list[str | None]
) -> None:
    begin(project, 0)
    for name, verdict in enumerate(verdicts):
        visit(project, name, verdict, 1)

    assert found(store, project) is None


def test_figures_are_those_of_the_run_alone(store: Store, project: ProjectStore) -> None:
    first = begin(project, 0)
    for name in range(5):
        visit(project, name, "new", 1)
    second = begin(project, 5)
    visit(project, 0, "changed", 6)
    visit(project, 1, "unchanged", 6, callback_run=False)
    visit(project, 2, "unchanged", 6, callback_run=False, fetched="304", bytes_received=100)
    visit(project, 3, "unchanged", 6, callback_run=False, fetched="skip", bytes_received=0)
    visit(project, 4, "removed", 6, callback_run=False, fetched="skip", bytes_received=0)
    visit(project, 5, "new", 6)
    third = begin(project, 10)
    visit(project, 1, "unchanged", 11, callback_run=False)

    assert found(store, project, first) is None
    assert found(store, project, second) == Recrawl(
        began_at=NOON + 5 * HOUR,
        new=1,
        changed=1,
        unchanged=3,
        removed=1,
        requests=4,
        not_modified=1,
        callbacks_run=2,
        callbacks_saved=3,
        bytes_received=3_100,
        bytes_saved=1_900,
        diffs=(),
    )
    last = found(store, project, third)
    assert last
    assert (last.unchanged, last.callbacks_saved) == (1, 1)


def test_report_is_on_the_last_run_or_the_one_that_was_asked_for(store: Store, project: ProjectStore) -> None:
    for hours, verdict in enumerate(("new", "changed", "unchanged")):
        begin(project, hours)
        visit(project, 1, verdict, hours)
    runs = project.last_runs()

    def unchanged(*asked: Any) -> int | None:
        recrawl = make_report(store, project, Settings(), NOON, *asked).recrawl
        return recrawl.unchanged if recrawl else None

    assert [unchanged(), unchanged(runs[0]), unchanged(runs[1]), unchanged(runs[2])] == [1, 1, 0, None]


@pytest.mark.parametrize(
    ("lengths", "shown"),
    [
        pytest.param([30, 10, 20], [10, 20, 30], id="three-are-all-shown"),
        pytest.param([30], [30], id="one"),
        pytest.param([30, 20], [20, 30], id="two"),
        pytest.param([0, 0, 7, 0], [7], id="some-without-a-diff"),
        pytest.param(range(9, 0, -1), [2, 5, 8], id="a-small-a-middling-and-a-large-one"),
        pytest.param([READABLE_CHARS + 9, *range(1, 4), READABLE_CHARS + 8], [1, 2, 3], id="those-that-can-be-read"),
        pytest.param([READABLE_CHARS + 9, READABLE_CHARS + 1, READABLE_CHARS + 5, 1], [1, 3_001, 3_005], id="too-few"),
        pytest.param([0, 0], [], id="none-is-kept"),
    ],
)
def test_three_of_the_changes_are_shown(store: Store, project: ProjectStore, lengths: list[int], shown: list[int]):
    crawl_with_diffs(project, *lengths)

    assert diffs(store, project) == shown


def test_diff_of_a_later_run_is_not_this_ones(store: Store, project: ProjectStore) -> None:
    crawl_with_diffs(project, 5)
    run = project.last_runs(1)[0].id
    begin(project, 10)
    visit(project, 1, "changed", 11, diff="other")

    recrawl = found(store, project, run)

    assert recrawl
    told = [(page.url, page.title, page.change, page.diff) for page in recrawl.diffs]
    assert told == [(a_url(0), "Page 0", "content", "ddddd")]
