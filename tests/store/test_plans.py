"""Which index a question uses: a partial index goes unused, silently, when the question's words change."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, event, text

from scrapy_dedup.core.duplicates import Sketch
from scrapy_dedup.store.engine.database import Database
from scrapy_dedup.store.pages.reads import ListPlace, PageLists
from scrapy_dedup.store.records.records import KeepPolicy
from scrapy_dedup.store.records.shared import Question, others
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import Base
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import (
    DOMAIN,
    NOON,
    a_chunk,
    a_chunks,
    a_decision,
    a_document,
    a_key,
    a_layout_count,
    a_signature,
    a_snapshot,
    a_source,
    a_state,
    a_template,
    a_text_signature,
    a_time,
    a_visit,
    an_alarm,
    an_extraction,
)
from tests.tables import table


@contextmanager
def plans(database: Database) -> Iterator[list[str]]:
    """Collect how SQLite answers every question that is asked inside."""
    found: list[str] = []

    def explain(connection: Connection, _cursor: object, statement: str, values: object, *_: object) -> None:
        if re.match("SELECT|DELETE|UPDATE", statement) and not isinstance(values, list):
            raw = connection.connection.driver_connection
            found.extend(row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", values))

    event.listen(database._engine, "before_cursor_execute", explain)
    yield found
    event.remove(database._engine, "before_cursor_execute", explain)


@pytest.fixture
def store(path) -> Iterator[Store]:
    """Plans depend on the database: here it is SQLite's choice."""
    with Store.open(f"sqlite:///{path}") as opened:
        yield opened


@pytest.fixture
def project(store) -> ProjectStore:
    project = store.project("p", KeepPolicy(pages=2, max_bytes=1000, decisions=10, visits=10))
    project.begin_run(spider="site", jobdir=None, started_at=NOON)
    return project


def test_aliases_and_missing_pages_are_found_by_their_indexes_and_keys_of_a_run_in_their_order(project):
    project.write([a_document(1)])
    with plans(project._database) as found:
        project.urls_of_document(a_key(1))
        list(project.missing_pages(project.run.id, [DOMAIN]))
    with plans(project._database) as keys:
        list(project.finished_keys(project.run.id))

    assert any("ix_crawled_urls_project_id_document_key (project_id=? AND document_key=?)" in plan for plan in found)
    assert any("ix_documents_domain_newest (project_id=? AND domain=?)" in plan for plan in found)
    assert not any(plan.startswith("SCAN d") for plan in found)
    assert all("ix_documents_run_id_updated_at_page_key" in plan for plan in keys)
    assert not any("TEMP B-TREE" in plan for plan in keys)


def test_no_write_reads_a_whole_table_or_all_that_a_project_has_in_it(project):
    with plans(project._database) as found:
        for hour in range(30):
            project.write([a_source(hour % 9, content=f"{hour}", fetched_at=a_time(hour)), a_document(1)])
            project.write([a_decision(hour, decided_at=a_time(hour)), a_visit(hour, at=a_time(hour)), a_snapshot(1)])
            project.write([an_extraction(1, hour, created_at=a_time(hour))])
            project.write([a_signature(hour), a_layout_count(layout=hour), an_alarm(layout=hour)])
            project.write([a_template(state="live", body={"turn": hour}), a_state("retired")])
            project.write([a_text_signature(hour % 9), a_chunks(hour % 9, a_chunk(), a_chunk(1, f"{hour}"))])

    assert len(set(found)) > 5
    assert {plan.split()[1] for plan in found if plan.startswith("SCAN")}.isdisjoint(Base.metadata.tables)
    # These are counted: once by a run, and whenever their bound is reached.
    assert {plan.split()[1] for plan in found if plan.endswith("(project_id=?)")} <= {"decisions", "visits"}


@table("store/the_pages_of_a_domain_are_read_in_parts_by_an_index_that_has_their_order")
def test_the_pages_of_a_domain_are_read_in_parts_by_an_index_that_has_their_order(
    store, project, *, oldest_first, index
):
    project.write(a_source(number) for number in range(3))
    with plans(project._database) as found, store.session(read_only=True) as session:
        repository = SourceRepository(session, keys_at_once=2)
        assert len(list(repository.iterate(project.id, DOMAIN, oldest_first=oldest_first))) == 3

    assert any(index in plan for plan in found), found


@pytest.mark.parametrize("texts", [1, 2, 40])
def test_what_pages_have_in_common_is_found_by_indexes(project, texts):
    question = Question(
        a_key(1),
        DOMAIN,
        title_key=a_key(2),
        text_hash=a_key(3),
        bands=tuple(range(16)),
        hashes=frozenset(map(a_key, range(texts))),
    )
    with plans(project._database) as found:
        project.others(question)
        project.texts_of([a_key(number) for number in range(texts)])

    assert {plan.split()[1] for plan in found if plan.startswith("SCAN")}.isdisjoint(Base.metadata.tables)
    assert not any(plan.endswith("(project_id=?)") for plan in found), found


@pytest.mark.parametrize("counted_at", [None, 0, 1, 20])
def test_new_rows_of_a_server_that_has_not_counted_them_are_found_by_indexes_too(postgresql, counted_at):
    with postgresql.new_store() as url, Store.open(url) as store:
        project = store.project("shop")
        for page in range(200):
            if page == counted_at:
                with project.transaction(write=True) as connection:
                    connection.execute(text("ANALYZE"))
            bands = tuple(range(20 * page, 20 * page + 20))
            chunks = (a_chunk(at, f"{page} {at}") for at in range(10))
            project.write([a_text_signature(page, sketch=Sketch(9, bytes(128), bands)), a_chunks(page, *chunks)])
        question = Question(a_key("new"), DOMAIN, a_key(), a_key(), (-1, -2), frozenset([a_key()]), is_new=True)

        read = text("SELECT relname, seq_tup_read FROM pg_stat_xact_user_tables")
        with project.transaction() as connection:
            # What the connection's writes have read stands there, too.
            before: dict[str, int] = dict(map(tuple, connection.execute(read)))
            found = others(connection, project.id, None, question)
            after: dict[str, int] = dict(map(tuple, connection.execute(read)))

        assert [name for name, rows in after.items() if rows > before.get(name, 0) + 1_000] == []
        assert not any((found.titles, found.texts, found.near, found.holders))


@pytest.mark.parametrize(("domain", "index"), [(DOMAIN, "ix_documents_domain_newest"), (None, "ix_documents_newest")])
def test_lists_of_pages_are_read_in_the_order_of_an_index(store, project, domain, index):
    project.write([a_document(1)])
    with plans(project._database) as found, store.session(read_only=True) as session:
        lists = PageLists(session, project.id, domain)
        lists.some(None, 10)
        lists.some(ListPlace(NOON, a_key(1)), 10)
        lists.count(10)

    assert any(f"{index} (project_id=? AND" in plan for plan in found)
    assert all(f" {index} " in plan for plan in found if plan.startswith("SEARCH documents") and "COVERING" not in plan)
    assert not any("TEMP B-TREE" in plan or plan.startswith("SCAN d") for plan in found)
