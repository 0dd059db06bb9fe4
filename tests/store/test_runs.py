import uuid
from datetime import timedelta
from pathlib import Path

import pytest

from scrapy_dedup.store.records.records import RunStatus
from scrapy_dedup.store.records.stored import Run
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import NOON, a_document, a_key, a_time
from tests.tables import table


def begin(project: ProjectStore, *, jobdir: str | None = "/jobs/1", spider: str = "site", hours: float = 0) -> Run:
    return project.begin_run(spider=spider, jobdir=jobdir, started_at=a_time(hours))


def end(project: ProjectStore, run: Run, status: RunStatus) -> None:
    project.end_run(run.id, status=status, reason="shutdown", stats={"n": 1}, finished_at=a_time(1))


@table("store/a_run_goes_on_in_its_jobdir_unless_it_finished")
def test_a_run_goes_on_in_its_jobdir_unless_it_finished(
    project: ProjectStore, ended: RunStatus | None, *, resumed: bool, killed: bool
) -> None:
    first = begin(project)
    assert (first.resumed, first.killed, project.run, project.last_runs()[0].status) == (False, False, first, "running")
    if ended:
        end(project, first, ended)

    second = begin(project, hours=2)

    assert (second.id == first.id, second.resumed, second.killed) == (resumed, resumed, killed)
    newest, *before = project.last_runs()
    assert (newest.status, newest.finished_at) == ("running", None)
    assert newest.started_at == (NOON if resumed else a_time(2))
    assert [run.status for run in before] == ([] if resumed else ["finished"])


@pytest.mark.parametrize("ended", [None, "stopped"])
def test_without_a_jobdir_every_run_is_new(project: ProjectStore, ended: RunStatus | None) -> None:
    """Several crawls at once are normal: one that runs is not one that was killed."""
    first = begin(project, jobdir=None)
    if ended:
        end(project, first, ended)

    second = begin(project, jobdir=None, hours=2)

    assert second.id != first.id
    assert not second.killed


def test_a_jobdir_belongs_to_a_spider_and_a_project(store: Store, project: ProjectStore) -> None:
    runs = {
        begin(project).id,
        begin(project, jobdir="/jobs/2").id,
        begin(project, spider="other").id,
        begin(store.project("other")).id,
    }

    assert len(runs) == 4


def test_how_a_run_ended_is_kept(project: ProjectStore) -> None:
    run = begin(project)
    stats = {"items": 3, "start_time": NOON, "share": 0.5, "elapsed": timedelta(seconds=1), "path": Path("/x")}

    project.end_run(run.id, status="finished", reason="finished", stats=stats, finished_at=a_time(1))

    (stored,) = project.last_runs()
    assert (stored.spider, stored.jobdir) == ("site", "/jobs/1")
    assert (stored.reason, stored.finished_at) == ("finished", a_time(1))
    assert stored.stats == {"items": 3, "start_time": str(NOON), "share": 0.5, "elapsed": "0:00:01", "path": "/x"}


def test_finished_documents_of_a_run_are_told_from_others(project: ProjectStore) -> None:
    before = begin(project, jobdir=None)
    project.write([a_document("before")])
    run = begin(project)
    project.write(a_document(name, status="completed" if name % 3 else "processing") for name in range(8_000))
    project.write([a_document("failed", status="failed")])

    assert sorted(project.finished_keys(run.id)) == sorted(a_key(name) for name in range(8_000) if name % 3)
    assert list(project.finished_keys(before.id)) == [a_key("before")]
    assert list(project.finished_keys(uuid.uuid4())) == []


def test_documents_of_a_run_are_found_by_key(project: ProjectStore) -> None:
    first = begin(project, jobdir=None)
    project.write([a_document(1), a_document(2)])
    second = begin(project, jobdir=None)
    project.write([a_document(2, verdict="changed")])

    assert project.documents_in_run(first.id, [a_key(1), a_key(2), a_key(3)]).keys() == {a_key(1)}
    assert project.documents_in_run(second.id, [a_key(1), a_key(2)])[a_key(2)].verdict == "changed"
    assert project.documents_in_run(second.id, []) == {}
