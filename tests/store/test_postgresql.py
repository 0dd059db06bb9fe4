"""What PostgreSQL alone can do to whoever opens or writes a store."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import URL, text

from scrapy_dedup.store.engine import schema
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.records.records import CleanedRecord
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.store import Store
from tests.store.builders import DOMAIN, a_boilerplate, a_document, a_source, document_of

SHORT = timedelta(milliseconds=300)


@pytest.fixture
def url(postgresql) -> Iterator[URL]:
    with postgresql.database() as url:
        yield url


@pytest.fixture
def made(postgresql) -> Iterator[URL]:
    """A store that is there."""
    with postgresql.new_store() as url:
        yield url


def refused(url: URL | str, match: str, timeout: timedelta = SHORT) -> str:
    with pytest.raises(StoreError, match=match) as caught:
        Store.open(url, timeout=timeout)
    return str(caught.value)


def test_a_wrong_password_is_told_and_hidden(url):
    message = refused(url.set(password="a secret"), "authentication failed.*Check user and password")

    assert "secret" not in message
    assert ":***@" in message


def test_a_password_with_any_character_works(postgresql, url):
    name = f"user_{url.database}"
    postgresql.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'p@s:s/w#?%d'")
    postgresql.execute(f"GRANT ALL ON SCHEMA public TO {name}", str(url.database))

    spelt = url.set(username=name, password="p@s:s/w#?%d").render_as_string(hide_password=False)
    with Store.open(spelt) as store:
        assert "w#" not in repr(store)
    postgresql.execute(f"DROP OWNED BY {name}", str(url.database))
    postgresql.execute(f"DROP ROLE {name}")


def test_a_server_that_is_not_there_is_told(url):
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))

        refused(url.set(port=bound.getsockname()[1]), "refused.*Start the server")


def test_a_server_that_does_not_answer_is_given_up(url):
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        refused(url.set(port=silent.getsockname()[1]), "timeout")


def test_the_database_of_another_program_stays_as_it_is(postgresql, url):
    postgresql.execute("CREATE TABLE customers (id INTEGER)", str(url.database))

    refused(url, "other tables .customers.*Name another")

    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    assert postgresql.execute(tables, str(url.database)) == [("customers",)]


@pytest.mark.parametrize(
    ("revision", "match"), [("9999", "newer .*Upgrade scrapy-dedup"), ("0011", "older .*on a server, name another")]
)
def test_a_store_of_an_unknown_schema_stays_as_it_is(postgresql, url, revision, match):
    Store.open(url).close()
    postgresql.execute(f"UPDATE alembic_version SET version_num = '{revision}'", str(url.database))

    refused(url, match)


def test_a_lock_that_outlasts_the_timeout_stops(postgresql, url):
    """Another process creates the tables, and does not come to an end."""
    with closing(postgresql.connect(str(url.database))) as other:
        other.execute(f"SELECT pg_advisory_lock({schema._POSTGRESQL_LOCK})")

        refused(url, r"lock timeout.*longer than DEDUP_DATABASE_TIMEOUT")

    Store.open(url, timeout=SHORT).close()


def test_a_write_fails_when_another_one_lasts_too_long(made):
    with Store.open(made, timeout=SHORT) as store:
        project = store.project("shop")
        with store.session() as session:
            session.execute(text("SELECT * FROM projects FOR UPDATE"))

            with pytest.raises(StoreError, match=r"lock timeout.*longer than DEDUP_DATABASE_TIMEOUT"):
                project.write([a_document()])

        project.write([a_document()])
        assert document_of(project).status == "completed"


def test_reads_do_not_wait_for_writes(made):
    with Store.open(made, timeout=SHORT) as store:
        project = store.project("shop")
        project.write([a_document(), a_boilerplate()])
        with store.session() as session:
            session.execute(text("LOCK TABLE documents, projects IN SHARE ROW EXCLUSIVE MODE"))

            assert project.page_states([]) == {}
            assert project.is_known(DOMAIN)
            assert document_of(project).status == "completed"


def test_a_connection_that_was_cut_is_replaced(postgresql, made):
    with Store.open(made) as store:
        project = store.project("shop")
        project.write([a_document()])
        cut = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()"
        postgresql.execute(f"{cut} AND pid <> pg_backend_pid()", str(made.database))

        project.write([a_document(2)])

        assert document_of(project, 2).status == "completed"


def test_an_analysis_waits_for_its_turn(made):
    """It reads while a crawl writes, and neither waits for the other in a circle."""
    with Store.open(made, timeout=timedelta(seconds=20)) as store:
        project = store.project("shop")
        project.write(a_source(name) for name in range(200))
        failed: list[BaseException] = []

        def crawl() -> None:
            try:
                for _ in range(10):
                    project.write(a_source(name) for name in reversed(range(200)))
            except BaseException as error:  # noqa: BLE001
                failed.append(error)

        writer = threading.Thread(target=crawl)
        writer.start()
        for _ in range(5):
            with store.session() as session:
                repository = SourceRepository(session)
                pages = repository.iterate(project.id, DOMAIN)
                repository.set_cleaned(project.id, (CleanedRecord(page.page_key, "less") for page in pages))
                session.commit()
        writer.join()

    assert failed == []


def test_an_error_of_the_server_shows_no_content(made):
    """Its further lines hold the row."""
    with Store.open(made) as store, pytest.raises(StoreError, match="too long") as caught:
        store.project("shop").write([a_document(title="a secret title", verdict="x" * 17)])

    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
