"""Workers of one run: who joins which, who is dead, and when the run is over."""

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from scrapy_dedup.core.runs import Lead
from scrapy_dedup.service.recrawl import INCOMPLETE, incomplete_domains, seen_by_all
from scrapy_dedup.store.records.records import RunStatus
from scrapy_dedup.store.records.stored import Run, WorkerEnding
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import RunWorker
from scrapy_dedup.store.writer import ProjectStore
from tests.store.at_once import at_once
from tests.store.builders import DOMAIN, a_crawled_url, a_document, a_key, a_snapshot
from tests.tables import table

LONG = timedelta(minutes=5)
SHORT = timedelta(milliseconds=1)

# A server that started after a worker gives it some seconds to be heard: not what these tests are about.
NOW = datetime.now(UTC)

Begin = Callable[..., ProjectStore]


def a_time(hours: float = 0) -> datetime:
    return NOW + timedelta(hours=hours + 1)


@pytest.fixture
def begin(store) -> Begin:
    """Give workers, each with a part of the store of its own, as processes have them."""

    def one(job: str = "night", *, lease: timedelta = LONG, spider: str = "site", hours: float = 0) -> ProjectStore:
        project = store.project("shop")
        project.begin_run(spider=spider, jobdir="/jobs/1", started_at=a_time(hours), job=job, lease=lease)
        return project

    return one


def run_of(worker: ProjectStore) -> Run:
    assert worker.run is not None
    return worker.run


def leave(worker: ProjectStore, status: RunStatus = "finished", **given: Any) -> WorkerEnding:
    """End a worker, and its run with it if it is the last one."""
    run_id, reason = run_of(worker).id, "finished" if status == "finished" else "shutdown"
    stats, at = given.pop("stats", {}), given.pop("finished_at", a_time(2))
    ending = worker.leave_run(run_id, status=status, reason=reason, stats=stats, finished_at=at, **given)
    if ending.is_last:
        worker.end_run(run_id, status=ending.status, reason=reason, stats=stats, finished_at=at)
    return ending


def statuses(worker: ProjectStore) -> list[str]:
    run_id = run_of(worker).id
    return [each.status for each in worker.workers_of([run_id])[run_id]]


def begun(url: str, _number: int) -> tuple[uuid.UUID, object]:
    with Store.open(url, timeout=timedelta(seconds=30)) as store:
        run = store.project("shop").begin_run(spider="site", jobdir=None, started_at=datetime.now(UTC), job="night")
    return run.id, run.worker


def test_those_that_start_at_once_have_one_run(url):
    told = at_once(4, begun, url)

    assert len({run for run, _ in told}) == 1
    assert len({worker for _, worker in told}) == 4


@pytest.mark.parametrize(
    ("lease", "killed"), [pytest.param(LONG, False, id="stopped"), pytest.param(SHORT, True, id="killed")]
)
def test_a_run_that_nobody_is_left_of_goes_on(begin, lease, killed):
    first = begin(lease=lease)
    if not killed:
        leave(first, "stopped")
    time.sleep(SHORT.total_seconds() * 2)

    second = begin(hours=1)

    assert (run_of(second).id, run_of(second).resumed, run_of(second).killed) == (run_of(first).id, True, killed)
    assert statuses(second) == ["resumed", "running"]
    assert leave(second) == WorkerEnding(is_last=True, status="finished")


def forget_to_be_heard(worker: ProjectStore) -> None:
    with worker.transaction(write=True) as connection:
        lease = update(RunWorker).where(RunWorker.id == run_of(worker).worker)
        connection.execute(lease.values(lease_until=NOW - timedelta(minutes=1)))


def test_a_run_whose_last_worker_was_killed_when_all_was_done_is_over(begin):
    """Its first pages are done: whoever went on with it would fetch nothing."""
    first, ghost = begin(), begin(hours=0.5)
    ghost.report_run(run_of(ghost).id, {"dedup/items/in": 4}, a_time(1))
    assert not leave(first, stats={"dedup/items/in": 3}).is_last
    forget_to_be_heard(ghost)

    second = begin(hours=24)

    assert run_of(second).id != run_of(first).id
    assert not run_of(second).resumed
    new, old = first.last_runs()
    assert (new.status, new.stats) == ("running", {})
    assert (old.status, old.reason, old.finished_at) == ("finished", "finished", a_time(2))
    assert old.stats == {"dedup/items/in": 7}
    assert statuses(first) == ["finished", "lost"]
    assert leave(second) == WorkerEnding(is_last=True, status="finished")


@table("store/a_run_goes_on_if_nobody_knows_that_its_queue_was_empty")
def test_a_run_goes_on_if_nobody_knows_that_its_queue_was_empty(begin, last, began):
    first, second, ghost = begin(), begin(), begin(hours=began)
    leave(first)
    leave(second, last, finished_at=a_time(3))
    forget_to_be_heard(ghost)

    assert run_of(begin(hours=24)).id == run_of(ghost).id


def test_a_worker_whose_lease_is_over_is_lost_and_comes_back_when_it_is_heard(begin):
    other, slow = begin(), begin(lease=SHORT, hours=1)
    time.sleep(SHORT.total_seconds() * 2)
    begin(hours=2)
    assert statuses(other) == ["running", "lost", "running"]

    slow.lease = LONG
    slow.report_run(run_of(slow).id, {}, a_time(3))

    assert statuses(other) == ["running", "running", "running"]


def test_a_worker_that_was_given_up_reopens_the_run_that_others_ended(begin):
    other, slow = begin(), begin(lease=SHORT, hours=1)
    time.sleep(SHORT.total_seconds() * 2)
    assert leave(other) == WorkerEnding(is_last=True, status="finished")

    slow.lease = LONG
    slow.report_run(run_of(slow).id, {"dedup/items/in": 1}, a_time(3))

    assert slow.last_runs()[0].status == "running"
    assert leave(slow, stats={"dedup/items/in": 2}).is_last


def test_a_run_is_finished_with_its_last_worker_whatever_became_of_the_others(begin):
    """What they had came back to the queue that the last one emptied."""
    stopped, last = begin(), begin(hours=1)
    begin(lease=SHORT, hours=2)
    leave(stopped, "stopped")
    time.sleep(SHORT.total_seconds() * 2)

    assert leave(last) == WorkerEnding(is_last=True, status="finished")
    assert statuses(last) == ["stopped", "finished", "lost"]


def test_pages_that_any_worker_met_are_not_missing(store, begin):
    """Whatever its clock said, and whether or not its callback failed; but not one that is gone."""
    before = store.project("shop")
    before.begin_run(spider="site", jobdir=None, started_at=a_time(-24))
    names = ("seen", "begun", "failed", "gone", "unmet")
    before.write([a_document(name, updated_at=a_time(-24), last_seen_at=a_time(-24)) for name in names])
    one, late = begin(), begin(hours=1)
    one.write([a_snapshot("seen", at=a_time(-5)), a_document("begun", status="processing", updated_at=a_time(-5))])
    tried = {"status": "failed", "last_crawled_at": a_time(1)}
    one.write([a_crawled_url(name, http_status=status, **tried) for name, status in (("failed", 200), ("gone", 404))])

    missing = late.missing_pages(run_of(late).id, [DOMAIN], shared=True)

    assert {page.page_key for page in missing} == {a_key("gone"), a_key("unmet")}
    assert late.leads(run_of(late).id, [a_key(name) for name in names], shared=True) == {
        a_key("seen"): Lead.READ,
        a_key("begun"): Lead.UNREAD,
        a_key("failed"): Lead.UNREAD,
        a_key("gone"): Lead.GONE,
        a_key("unmet"): Lead.UNREAD,
    }


def test_domains_are_whole_if_no_worker_says_otherwise_and_few_urls_failed(begin):
    one, other = begin(), begin(hours=1)
    run_id = run_of(one).id
    for worker, urls in ((one, "12"), (other, "345")):
        worker.write([a_crawled_url(name, domain="whole.example") for name in urls])
        worker.write([a_crawled_url(("f", name), domain="failing.example", status="failed") for name in urls])
        worker.write([a_crawled_url(("s", name), domain="sitemap.example") for name in urls])
    one.report_run(run_id, {INCOMPLETE: ["sitemap.example"]}, a_time())

    assert seen_by_all(other, run_id, 0.1) == ["whole.example"]

    other.report_run(run_id, {INCOMPLETE: incomplete_domains([], rows_lost=True)}, a_time())
    assert seen_by_all(other, run_id, 0.1) == []


def test_a_run_stands_as_all_of_its_workers_do(begin):
    first, second = begin(), begin()
    run_id = run_of(first).id
    first.report_run(run_id, {"dedup/items/in": 3, "memusage/max": 10}, a_time())
    second.report_run(run_id, {"dedup/items/in": 4, "memusage/max": 30}, a_time())
    assert first.last_runs()[0].stats == {"dedup/items/in": 7, "memusage/max": 30}

    leave(first, stats={"dedup/items/in": 5})
    second.report_run(run_id, {"dedup/items/in": 6}, a_time(1))
    first.report_run(run_id, {"dedup/items/in": 1_000}, a_time(1))

    assert first.last_runs()[0].stats["dedup/items/in"] == 11
    leave(second, stats={"dedup/items/in": 8})
    assert first.last_runs()[0].stats == {"dedup/items/in": 13}
