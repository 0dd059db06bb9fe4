"""What is erased of a page or a domain, and what others keep: on both databases."""

import sqlite3
import uuid
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import URL, func, insert, select, text, update

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.engine.errors import DamagedStoreError, file_of
from scrapy_dedup.store.records.records import GoneRecord, KeepPolicy, Record
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.tables.models import Base, Claim, Memo, Project, SeenScope, SourceRow
from scrapy_dedup.store.upkeep.cache import MemoFigures, StoredMemos
from scrapy_dedup.store.upkeep.forgetting import ChosenRows, erase, find, find_garbage, remove_garbage, stored_domains
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import (
    DOMAIN,
    NOON,
    a_chunk,
    a_chunks,
    a_crawled_url,
    a_decision,
    a_document,
    a_key,
    a_source,
    a_time,
    a_url,
    a_visit,
    an_answer,
)
from tests.store.engine.test_copying import note_seen
from tests.store.test_repositories import fill
from tests.store.test_writer import everything_about

OTHER = {"domain": "other.example", "url": "https://other.example/a"}
MARKER = "zanzibarine"
WHOLE = ChosenRows((DOMAIN,), (DOMAIN,), None, page_key)
# What belongs to no page: runs, and what is but a hash.
_STAYS = {"claims", "crawl_runs", "discovery_session", "projects", "run_workers", "seen_scopes", "seen_urls"}


def a_page(number: int = 1) -> ChosenRows:
    urls = (a_url(number), f"{a_url(number)}?utm_source=mail")
    return ChosenRows(
        (DOMAIN,), urls, (a_key(number), a_key("alias")), lambda url: a_key(number) if url in urls else b""
    )


def erased(project: ProjectStore, chosen: ChosenRows, *, announce: bool = False) -> Counter[str]:
    """Return what was erased, after checking that this was announced, told of, and all."""
    announced, told = find(project, chosen), Counter[str]()
    done = erase(project, chosen, lambda number: told.update(all=number), fingerprint=a_key, announce=announce)
    assert done == announced
    assert told["all"] == done.total() - done["memos"]
    assert find(project, chosen) == Counter()
    return done


def filled(store: Store) -> dict[str, int]:
    with store.session(read_only=True) as session:
        return {
            name: number
            for name in Base.metadata.tables
            if (number := session.scalar(text(f"SELECT count(*) FROM {name}")) or 0)
        }


def left_in(url: URL, words: Iterable[bytes]) -> list[bytes]:
    """Return which of some words stand in the store's file, or in its log."""
    path = file_of(url)
    assert path is not None
    raw = b"".join(one.read_bytes() for one in (path, Path(f"{path}-wal")) if one.exists())
    return [word for word in words if word in raw]


def leave_on_free_pages(path: Path, word: str) -> None:
    """Delete rows as an SQLite does that was built without SECURE_DELETE."""
    with closing(sqlite3.connect(path)) as connection:
        script = f"CREATE TABLE t AS SELECT '{word * 900}' a; DROP TABLE t;"
        connection.executescript(f"PRAGMA secure_delete = OFF; {script} PRAGMA wal_checkpoint(TRUNCATE);")


def test_nothing_is_left_of_a_domain_in_any_table_nor_in_the_file(store, project, url):
    project.begin_run(spider="site", jobdir=None, started_at=NOON)
    fill(project)
    project.report_run(project.run.id, {"incomplete_domains": f"a.example {DOMAIN}", "pages": 7}, NOON)
    project.write([a_source(3, content=MARKER * 9, cleaned_content=MARKER), a_chunks(3, a_chunk(text=MARKER))])
    if path := file_of(url):
        leave_on_free_pages(path, MARKER)
    project.write([a_source(3, content="x", cleaned_content="y")])
    project.write(
        [a_document("there", canonical_url=a_url(1), **OTHER), a_decision("there", reason=f"it is {a_url(1)}")]
    )
    StoredMemos(project, 10**6).keep(a_key("memo"), "models.ask", f'"of {DOMAIN}"', NOON)
    with store.session(read_only=True) as session:
        bodies = [raw[8:40] for raw in session.scalars(select(SourceRow.content)) if raw and len(raw) > 40]
    words = [DOMAIN.encode(), a_url(1).encode(), MARKER.encode(), *bodies]
    assert set(filled(store)) == set(Base.metadata.tables)

    erased(project, WHOLE)

    assert set(filled(store)) == _STAYS | {"documents", "forgotten", "memos"}
    assert filled(store)["documents"] == filled(store)["memos"] == 1
    assert stored_domains(project) == {"other.example"}
    with store.session(read_only=True) as session:
        assert session.scalar(select(Project.stored_bytes)) == 0
    assert [run.stats for run in project.last_runs() if run.stats] == [{"pages": 7}]
    if file_of(url) is not None:
        assert left_in(url, words) == []


@pytest.mark.parametrize("chosen", [pytest.param(WHOLE, id="domain"), pytest.param(a_page(), id="page")])
def test_other_pages_keep_what_they_have_and_are_given_the_texts(store, project, chosen):
    shared = a_chunk(text="shared")
    left_out = a_chunk(text="shared", state="removed", holder=a_key(1), layer="chunk")
    others: list[Record] = [
        a_document("there", **OTHER),
        a_source("there", **OTHER),
        a_crawled_url("there", **OTHER),
        a_visit("there"),
        a_chunks("there", left_out),
    ]
    project.write([a_document(1), a_chunks(1, shared), *others])
    before = filled(store) | {"documents": 1, "document_chunks": 1}
    project.write(
        [
            a_source(1),
            a_crawled_url(1),
            a_visit(1),
            an_answer(),
            a_decision(1),
            a_crawled_url("alias", document_key=a_key(1)),
        ]
    )
    project.write([an_answer(wire_key=a_key("mail"), url=f"{a_url(1)}?utm_source=mail")])

    assert erased(project, chosen) == Counter(
        documents=1, document_chunks=1, sources=1, crawled_urls=2, visits=1, responses=2, decisions=1
    )

    assert filled(store) == before
    (chunk,) = project.chunks_of(a_key("there"))
    assert (chunk.state, chunk.holder) == ("due", None)


def test_page_goes_and_its_neighbour_stays(store, project):
    for number in (1, 2):
        answer = an_answer(wire_key=a_key(("wire", number)), url=a_url(number))
        project.write([a_document(number), a_source(number), a_crawled_url(number), answer])

    assert erased(project, a_page()) == Counter(documents=1, sources=1, crawled_urls=1, responses=1)

    assert project.page(a_key(1)) is None
    assert project.page(a_key(2)) is not None
    assert filled(store)["responses"] == 1


def test_queues_forget_the_addresses(store, project, url):
    project.write([a_crawled_url(1)])
    note_seen(project, url, a_url(1), "another", scope="job night")

    erased(project, WHOLE)

    assert filled(store)["seen_urls"] == 1


def test_key_alone_stays_of_what_was_delivered_until_that_is_told_or_the_page_came_again(project):
    seen = {"last_seen_at": NOON}
    delivered = [a_document(number, **seen) for number in (1, 2)]
    project.write(
        [
            *delivered,
            a_document(3, status="processing"),
            a_document(4, verdict="duplicate", **seen),
            a_document(5, gone_at=NOON, **seen),
        ]
    )

    erased(project, WHOLE, announce=True)
    assert project.forgotten() == sorted([a_key(1), a_key(2)])

    project.write([GoneRecord(a_key(1), NOON)])
    assert project.forgotten() == [a_key(2)]
    project.write([a_document(2)])
    assert project.forgotten() == []


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


def test_all_there_is_of_a_page_that_is_gone_for_long_goes_and_nothing_else(store):
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
def test_page_stays_while_it_is_there_or_crawls_ask_for_it(project, records):
    project.write([a_document(), *records])

    assert removed(project) == [0, 0, 0]
    assert project.page(a_key()) is not None


def test_many_pages_go_in_parts(store, project):
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


def test_claims_and_seen_urls_go_with_runs_that_nobody_goes_on_with(store, project, url):
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


ROOMY = 10**9


def key(name: object) -> bytes:
    return a_key(name) + a_key(f"{name} again")


@pytest.mark.parametrize("change", ["cut", "altered", "emptied"])
def test_what_was_altered_is_damaged_and_can_be_kept_anew(project, change):
    memos = StoredMemos(project, ROOMY)
    memos.keep(key(1), "models.ask", '{"price":10}', NOON)
    with project.transaction(write=True) as connection:
        (result,) = connection.execute(Memo.__table__.select().with_only_columns(Memo.result)).one()
        altered = {"cut": result[:-1], "altered": result.replace(b"10", b"11"), "emptied": b""}[change]
        assert altered != result
        connection.execute(update(Memo).values(result=altered))

    with pytest.raises(DamagedStoreError, match="cannot be unpacked"):
        memos.find(key(1), None)
    memos.keep(key(1), "models.ask", '{"price":12}', NOON)
    assert memos.find(key(1), None) == '{"price":12}'


def test_beyond_the_bound_the_oldest_go(project):
    """By whichever process wrote them."""
    for number in range(60):
        StoredMemos(project, 10_000).keep(key(number), "models.ask", f'"{number:0100}"', a_time(number))

    figures = StoredMemos(project).figures()
    held = [number for number in range(60) if StoredMemos(project).find(key(number), None)]
    assert 7_000 < figures.size_bytes <= 10_000
    assert held == list(range(60 - figures.memos, 60))
    StoredMemos(project, 150).keep(key("larger than all"), "models.ask", '"x"', a_time(99))
    assert StoredMemos(project).figures() == figures


def test_memos_are_deleted_by_their_age_or_all(project):
    memos = StoredMemos(project, ROOMY)
    for number in range(4):
        memos.keep(key(number), "models.ask", "1", a_time(number))
    all_of_them = memos.figures()

    assert memos.remove(a_time(3), dry_run=True).memos == 3
    assert memos.figures() == all_of_them
    assert memos.remove(a_time(3), dry_run=False).memos == 3
    assert memos.find(key(3), None) == "1"
    assert memos.remove(None, dry_run=False).memos == 1
    assert memos.figures() == MemoFigures(0, 0)
