"""What is erased of a page or a domain, and what others keep: on both databases."""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import URL, select, text

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.engine.errors import file_of
from scrapy_dedup.store.records.records import GoneRecord, Record
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import Base, Project, SourceRow
from scrapy_dedup.store.upkeep.forgetting import ChosenRows, erase, find, stored_domains
from scrapy_dedup.store.upkeep.memos import StoredMemos
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
    a_url,
    a_visit,
    an_answer,
)
from tests.store.engine.test_copying import note_seen
from tests.store.test_repositories import fill

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


def test_nothing_is_left_of_a_domain_in_any_table_nor_in_the_file(
    store: Store, project: ProjectStore, url: URL
) -> None:
    project.begin_run(spider="site", jobdir=None, started_at=NOON)
    assert project.run is not None
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
def test_other_pages_keep_what_they_have_and_are_given_the_texts(
    store: Store, project: ProjectStore, chosen: ChosenRows
) -> None:
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


def test_page_goes_and_its_neighbour_stays(store: Store, project: ProjectStore) -> None:
    for number in (1, 2):
        answer = an_answer(wire_key=a_key(("wire", number)), url=a_url(number))
        project.write([a_document(number), a_source(number), a_crawled_url(number), answer])

    assert erased(project, a_page()) == Counter(documents=1, sources=1, crawled_urls=1, responses=1)

    assert project.page(a_key(1)) is None
    assert project.page(a_key(2)) is not None
    assert filled(store)["responses"] == 1


def test_queues_forget_the_addresses(store: Store, project: ProjectStore, url: URL) -> None:
    project.write([a_crawled_url(1)])
    note_seen(project, url, a_url(1), "another", scope="job night")

    erased(project, WHOLE)

    assert filled(store)["seen_urls"] == 1


def test_key_alone_stays_of_what_was_delivered_until_that_is_told_or_the_page_came_again(project: ProjectStore) -> None:
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
