"""What is removed because nobody comes back for it, and what stays: on both databases."""

import uuid
from collections import Counter
from datetime import datetime, timedelta

import pytest
from sqlalchemy import URL, func, insert, select, update

from scrapy_dedup.store.records.records import GoneRecord, KeepPolicy, Record
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.tables.models import Base, Claim, Project, SeenScope
from scrapy_dedup.store.upkeep.forgetting import find_garbage, remove_garbage
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import NOON, a_crawled_url, a_document, a_key, a_source, a_time
from tests.store.engine.test_copying import note_seen
from tests.store.test_writer import everything_about

LATER = a_time(24 * 365)


def removed(project: ProjectStore, before: datetime = LATER) -> list[int]:
    """Return what was removed, after checking that this was announced, told of, and all."""
    announced = find_garbage(project, before)
    told: Counter[str] = Counter()
    done = remove_garbage(project, before, lambda number: told.update(all=number))
    assert done == announced
    assert told["all"] == sum(done.values())
    assert not any(find_garbage(project, before).values())
    return list(done.values())


def counts(store: Store) -> dict[str, int]:
    with store.session(read_only=True) as session:
        tables = Base.metadata.tables
        return {name: session.scalar(select(func.count()).select_from(table)) or 0 for name, table in tables.items()}


def test_all_there_is_of_a_page_that_is_gone_for_long_goes_and_nothing_else(store: Store) -> None:
    project, other = store.project("shop", KeepPolicy(pages=2)), store.project("other")
    project.write([*everything_about("here"), a_crawled_url("alias", document_key=a_key("here"))])
    other.write([*everything_about("gone"), GoneRecord(a_key("gone"), NOON)])
    before = counts(store)
    project.write([a_source("gone", content="older", fetched_at=a_time(-1))])
    project.write([*everything_about("gone"), a_crawled_url("old address", document_key=a_key("gone"))])
    project.write([GoneRecord(a_key("gone"), NOON)])

    assert removed(project) == [1, 0, 0]

    # What happened stays, within its own bound.
    assert counts(store) == before | {"visits": before["visits"] + 1}
    assert project.page(a_key("gone")) is None
    assert project.page(a_key("here")) is not None
    assert other.page(a_key("gone")) is not None
    with store.session(read_only=True) as session:
        sizes = {tuple(row) for row in session.execute(select(Project.stored_bytes))}
    # Each has one page of the same texts.
    assert len(sizes) == 1


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([a_crawled_url(last_crawled_at=LATER), GoneRecord(a_key(), NOON)], id="asked-for-lately"),
        pytest.param(
            [a_crawled_url("alias", document_key=a_key(), last_crawled_at=LATER), GoneRecord(a_key(), NOON)],
            id="alias-asked-for-lately",
        ),
        pytest.param([a_crawled_url(), GoneRecord(a_key(), LATER)], id="gone-lately"),
        pytest.param([a_crawled_url()], id="not-gone"),
    ],
)
def test_page_stays_while_it_is_there_or_crawls_ask_for_it(project: ProjectStore, records: list[Record]) -> None:
    project.write([a_document(), *records])

    assert removed(project) == [0, 0, 0]
    assert project.page(a_key()) is not None


def test_many_pages_go_in_parts(store: Store, project: ProjectStore) -> None:
    project.write([record for n in range(600) for record in (a_document(n), a_source(n), GoneRecord(a_key(n), NOON))])

    assert removed(project) == [600, 0, 0]
    assert (counts(store)["documents"], counts(store)["sources"]) == (0, 0)


def a_run(project: ProjectStore, *, ended: bool = False, days: float = 0) -> uuid.UUID:
    """Return a run that was heard of so many days ago."""
    at = now() - timedelta(days=days)
    run = project.begin_run(spider="s", jobdir=None, started_at=at)
    if ended:
        project.end_run(run.id, status="finished", reason="finished", stats={}, finished_at=at)
    return run.id


def test_claims_and_seen_urls_go_with_runs_that_nobody_goes_on_with(
    store: Store, project: ProjectStore, url: URL
) -> None:
    finished, silent = a_run(project, ended=True), a_run(project, days=400)
    running, resumable = a_run(project), a_run(project, days=3)
    with store.session() as session:
        for run_id in (finished, silent, running, resumable):
            project_and_run = {"project_id": project.id, "run_id": run_id}
            these = {**project_and_run, "kind": 1, "worker_id": run_id, "is_out": False}
            session.execute(insert(Claim).values([{**these, "key": a_key(n), "owner": a_key(n)} for n in range(300)]))
        session.commit()
    ends = [f"run {finished}", f"run {silent}", f"run {resumable}", "job left", "odd\x1b"]
    stays = [f"run {running}", "job young", "job in-use"]
    project.begin_run(spider="s", jobdir="in-use", started_at=now())
    for name in (*ends, *stays):
        note_seen(project, url, *range(3), scope=name)
    age_scopes(store, *ends, "job in-use")

    assert removed(project, now() - timedelta(days=180)) == [0, 600, 15]

    with store.session(read_only=True) as session:
        assert set(session.scalars(select(SeenScope.name))) == set(stays)
        assert set(session.scalars(select(Claim.run_id))) == {running, resumable}


def age_scopes(store: Store, *names: str) -> None:
    with store.session() as session:
        session.execute(update(SeenScope).where(SeenScope.name.in_(names)).values(begun_at=NOON))
        session.commit()
