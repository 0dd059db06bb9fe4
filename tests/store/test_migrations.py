import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from scrapy_dedup.store import migrating, migrations
from scrapy_dedup.store.engines import WRITES, file_of, make_engine, parse_url
from scrapy_dedup.store.migrations import HEAD, REVISIONS
from scrapy_dedup.store.models import Base
from scrapy_dedup.store.schema import VERSION_TABLE, Schema
from scrapy_dedup.store.store import DEFAULT_TIMEOUT, Store
from tests.store.builders import DOMAIN, NOON, a_key, a_url, document_of, state_of
from tests.store.test_writer import dump, everything_about

FOLDER = str(Path(str(migrations.__file__)).parent)


def an_engine(url: URL) -> Engine:
    return make_engine(parse_url(url), DEFAULT_TIMEOUT).execution_options(**{WRITES: True})


def test_the_revisions_named_in_code_are_those_of_alembic() -> None:
    config = Config()
    config.set_main_option("script_location", FOLDER)
    scripts = ScriptDirectory.from_config(config)

    assert [script.revision for script in scripts.walk_revisions()] == list(reversed(REVISIONS))
    assert scripts.get_heads() == [HEAD]


@pytest.fixture
def migrated(url: URL) -> Iterator[Engine]:
    """A database that every migration was run on."""
    engine = an_engine(url)
    with engine.begin() as connection:
        migrating.upgrade(connection)
    yield engine
    engine.dispose()


def test_migrations_make_exactly_the_tables_of_the_models(migrated: Engine) -> None:
    with migrated.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, Base.metadata) == []


def test_a_new_store_has_the_schema_of_one_that_was_migrated(migrated: Engine, new_url: Callable[[], URL]) -> None:
    """Names of constraints included: a later migration on PostgreSQL finds them by these."""
    created_url = new_url()
    Store.open(created_url).close()
    created = an_engine(created_url)

    assert schema(created) == schema(migrated)
    created.dispose()


def schema(engine: Engine) -> dict[str, dict[str, object]]:
    """Return everything that can be asked of the tables, in a form that can be compared."""
    found = inspect(engine)

    def by_name(parts: Iterable[Mapping[str, Any]]) -> list[str]:
        return sorted(str({**part, "dialect_options": options_of(part)}) for part in parts)

    def options_of(part: Mapping[str, Any]) -> dict[str, str]:
        return {name: str(value) for name, value in part.get("dialect_options", {}).items()}

    return {
        table: {
            "columns": [str({**column, "type": str(column["type"])}) for column in found.get_columns(table)],
            "primary key": found.get_pk_constraint(table),
            "foreign keys": by_name(found.get_foreign_keys(table)),
            "unique": by_name(found.get_unique_constraints(table)),
            "indexes": by_name(found.get_indexes(table)),
        }
        for table in sorted(found.get_table_names())
        if table != VERSION_TABLE
    }


def test_a_store_of_the_first_revision_keeps_its_data(url: URL) -> None:
    engine = an_engine(url)
    with engine.begin() as connection:
        migrating.upgrade(connection, "0001")
        fill_first_revision(connection)
    engine.dispose()

    with Store.open(url) as store:
        project = store.project("shop")
        (run,) = project.runs()
        done = state_of(project, "done")
        assert (run.run.spider, run.visits) == ("site", 0)
        assert (done.run_id, done.title, done.content_hash) == (run.run.id, "T", a_key("c"))
        assert done.first_seen_at == done.last_seen_at == done.validated_at == done.last_changed_at == NOON
        assert (done.visits_count, done.changes_count, done.missed_runs, done.blocks) == (1, 0, 0, None)
        assert project.page_states([a_key("begun")]) == {}
        assert document_of(project, "begun").status == "processing"
        project.write(everything_about("done"))
        assert state_of(project, "done").first_seen_at == NOON


LATER = {"page_signatures", "near_duplicates", "document_chunks", "site_config", "url_parameters"}
"""Tables of later revisions, but those of layouts."""


def test_a_store_of_the_second_revision_keeps_its_data(url: URL) -> None:
    with Store.open(url) as store:
        project = store.project("shop")
        project.begin_run(spider="site", jobdir=None, started_at=NOON)
        project.write(everything_about(1))
        before = dump(store)
    engine = an_engine(url)
    with engine.begin() as connection:
        migrating.downgrade(connection, "0002")
    assert not [name for name in inspect(engine).get_table_names() if name.startswith("layout_")]
    engine.dispose()

    with Store.open(url) as store:
        after = dump(store)
        assert {name: rows for name, rows in after.items() if rows} == {
            name: rows for name, rows in before.items() if rows and not name.startswith("layout_") and name not in LATER
        }
        project = store.project("shop")
        project.write(everything_about(1))
        assert len(project.templates(DOMAIN)) == len(project.alarms()) == 1


def test_ids_of_an_older_store_are_written_shorter(url: URL) -> None:
    """Those that may be empty, and those of rows that other rows refer to, among them."""
    with Store.open(url) as store:
        project = store.project("shop")
        project.begin_run(spider="site", jobdir=None, started_at=NOON, job="nightly")
        project.write(everything_about("with a run"))
        store.project("other").write(everything_about("without one"))
        before = dump(store)
    engine = an_engine(url)
    with engine.begin() as connection:
        migrating.downgrade(connection, "0008")
        if connection.dialect.name == "sqlite":
            kinds = "SELECT DISTINCT typeof(run_id), length(run_id) FROM documents"
            assert set(connection.execute(text(kinds)).all()) == {("text", 32), ("null", None)}
    engine.dispose()

    with Store.open(url) as store:
        assert dump(store) == before
        if file_of(url) is not None:
            with store.session(read_only=True) as session:
                assert session.execute(text("PRAGMA foreign_key_check")).all() == []
                kinds = "SELECT DISTINCT typeof(run_id), length(run_id) FROM documents"
                assert set(session.execute(text(kinds)).all()) == {("blob", 16), ("null", None)}


def fill_first_revision(connection: Connection) -> None:
    on_server = connection.dialect.name == "postgresql"
    project, run = (number if on_server else number.hex for number in (uuid.uuid4(), uuid.uuid4()))
    moment = NOON if on_server else NOON.strftime("%Y-%m-%d %H:%M:%S.%f")

    def add(table: str, **values: object) -> None:
        names = ", ".join(values)
        statement = f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in values)})"
        connection.execute(text(statement), values)

    add("projects", id=project, name="shop", stored_bytes=0, created_at=moment)
    add("crawl_runs", id=run, project_id=project, spider="site", status="finished", started_at=moment, stats="{}")
    document = {"project_id": project, "run_id": run, "domain": DOMAIN, "updated_at": moment}
    done = {"status": "completed", "title": "T", "content_hash": a_key("c")}
    add("documents", page_key=a_key("done"), url=a_url("done"), **done, **document)
    add("documents", page_key=a_key("begun"), url=a_url("begun"), status="processing", **document)


def test_down_to_the_first_revision_and_up_again_keeps_what_it_holds(url: URL) -> None:
    with Store.open(url) as store:
        project = store.project("shop")
        project.begin_run(spider="site", jobdir=None, started_at=NOON)
        project.write(everything_about(1))
        before = document_of(project)

    engine = an_engine(url)
    with engine.begin() as connection:
        migrating.downgrade(connection, "0001")
    assert not {"visits", "extractions", "domain_validators"} & set(inspect(engine).get_table_names())
    engine.dispose()

    with Store.open(url) as store:
        project = store.project("shop")
        assert document_of(project) == before
        assert len(project.runs()) == 1
        assert project.extractions_of(a_key(1)) == []


def test_down_and_up_again_works_with_data(url: URL) -> None:
    with Store.open(url) as store:
        project = store.project("shop")
        project.begin_run(spider="site", jobdir=None, started_at=NOON)
        project.write(everything_about(1))

    engine = an_engine(url)
    with engine.begin() as connection:
        migrating.downgrade(connection, "base")
    assert set(inspect(engine).get_table_names()) == {"alembic_version"}
    assert migrating.migrate(engine) is None
    engine.dispose()

    with Store.open(url) as store:
        project = store.project("shop")
        assert project.page(a_key(1)) is None
        project.write(everything_about(1))
        assert project.page(a_key(1)) is not None


def test_a_present_schema_is_left_alone(url: URL) -> None:
    with Store.open(url) as store:
        store.project("shop").write(everything_about(1))
        before = dump(store)

    engine = an_engine(url)
    assert migrating.migrate(engine) is None
    with engine.connect() as connection:
        assert migrating.inspect_connection(connection) is Schema.CURRENT
        if connection.dialect.name == "sqlite":
            assert connection.scalar(text("PRAGMA foreign_keys")) == 1
    engine.dispose()

    with Store.open(url) as store:
        assert dump(store) == before


def test_a_migration_that_fails_changes_nothing(url: URL) -> None:
    engine = an_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE decisions (id INTEGER)"))  # in the way of the sixth table

    with pytest.raises(DBAPIError, match="already exists"), engine.begin() as connection:
        migrating.upgrade(connection)

    assert inspect(engine).get_table_names() == ["decisions"]
    engine.dispose()
