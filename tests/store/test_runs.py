import uuid

import pytest
from sqlalchemy import insert

from scrapy_dedup.store.records.records import RunStatus
from scrapy_dedup.store.records.stored import Run
from scrapy_dedup.store.tables.models import CrawlRun
from scrapy_dedup.store.workers import RUNS_KEPT
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import NOON, a_time
from tests.tables import table


def begin(project: ProjectStore, *, jobdir: str | None = "/jobs/1", spider: str = "site", hours: float = 0) -> Run:
    return project.begin_run(spider=spider, jobdir=jobdir, started_at=a_time(hours))


def end(project: ProjectStore, run: Run, status: RunStatus) -> None:
    project.end_run(run.id, status=status, reason="shutdown", stats={"n": 1}, finished_at=a_time(1))


@table("store/a_run_goes_on_in_its_jobdir_unless_it_finished")
def test_a_run_goes_on_in_its_jobdir_unless_it_finished(project, ended, *, resumed, killed):
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
def test_without_a_jobdir_every_run_is_new(project, ended):
    """Several crawls at once are normal: one that runs is not one that was killed."""
    first = begin(project, jobdir=None)
    if ended:
        end(project, first, ended)

    second = begin(project, jobdir=None, hours=2)

    assert second.id != first.id
    assert not second.killed


def test_the_newest_runs_of_each_spider_are_kept(project):
    rare = begin(project, jobdir=None, spider="rare")
    told = {"project_id": project.id, "spider": "site", "status": "running", "stats": {}}
    before = [told | {"id": uuid.uuid4(), "started_at": a_time(hour)} for hour in range(RUNS_KEPT)]
    with project.transaction(write=True) as connection:
        connection.execute(insert(CrawlRun), before)
    runs = [begin(project, jobdir=None, hours=RUNS_KEPT + hour).id for hour in range(5)]

    kept = project.last_runs(2 * RUNS_KEPT)

    assert [run.id for run in kept] == [*reversed([*(row["id"] for row in before[5:]), *runs]), rare.id]


def test_a_jobdir_belongs_to_a_spider_and_a_project(store, project):
    runs = {
        begin(project).id,
        begin(project, jobdir="/jobs/2").id,
        begin(project, spider="other").id,
        begin(store.project("other")).id,
    }

    assert len(runs) == 4
