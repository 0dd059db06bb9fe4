from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import OperationalError

from scrapy_dedup.store import migrating, migrations
from scrapy_dedup.store.engines import WRITES, make_engine, parse_url
from scrapy_dedup.store.migrations import HEAD, REVISIONS
from scrapy_dedup.store.models import Base
from scrapy_dedup.store.schema import Schema
from scrapy_dedup.store.store import DEFAULT_TIMEOUT, Store
from tests.store.builders import NOON, a_key
from tests.store.test_writer import dump, everything_about

FOLDER = str(Path(str(migrations.__file__)).parent)


def an_engine(path: Path) -> Engine:
    engine = make_engine(parse_url(f"sqlite:///{path}"), DEFAULT_TIMEOUT)
    return engine.execution_options(**{WRITES: True})


def test_the_revisions_named_in_code_are_those_of_alembic() -> None:
    config = Config()
    config.set_main_option("script_location", FOLDER)
    scripts = ScriptDirectory.from_config(config)

    assert [script.revision for script in scripts.walk_revisions()] == list(reversed(REVISIONS))
    assert scripts.get_heads() == [HEAD]


def test_migrations_make_exactly_the_tables_of_the_models(path: Path) -> None:
    Store.open(f"sqlite:///{path}").close()
    engine = an_engine(path)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_migrations_name_every_constraint_as_the_models_do(path: Path) -> None:
    """A later migration on PostgreSQL finds them by these names."""
    Store.open(f"sqlite:///{path}").close()
    migrated, created = an_engine(path), an_engine(path.with_name("created.db"))
    Base.metadata.create_all(created)

    def names(engine: Engine) -> dict[str, list[object]]:
        found = inspect(engine)
        return {
            table: [
                found.get_pk_constraint(table)["name"],
                sorted(str(key["name"]) for key in found.get_foreign_keys(table)),
                sorted(str(key["name"]) for key in found.get_unique_constraints(table)),
                sorted(str(index["name"]) for index in found.get_indexes(table)),
            ]
            for table in Base.metadata.tables
        }

    assert names(migrated) == names(created)
    migrated.dispose()
    created.dispose()


def test_down_and_up_again_works_with_data(path: Path) -> None:
    with Store.open(f"sqlite:///{path}") as store:
        project = store.project("shop")
        project.begin_run(spider="site", jobdir=None, started_at=NOON)
        project.write(everything_about(1))

    engine = an_engine(path)
    with engine.begin() as connection:
        migrating.downgrade(connection, "base")
    assert set(inspect(engine).get_table_names()) == {"alembic_version"}
    assert migrating.migrate(engine) is None
    engine.dispose()

    with Store.open(f"sqlite:///{path}") as store:
        project = store.project("shop")
        assert project.page(a_key(1)) is None
        project.write(everything_about(1))
        assert project.page(a_key(1)) is not None


def test_a_present_schema_is_left_alone(path: Path) -> None:
    with Store.open(f"sqlite:///{path}") as store:
        store.project("shop").write(everything_about(1))
        before = dump(store)

    engine = an_engine(path)
    assert migrating.migrate(engine) is None
    with engine.connect() as connection:
        assert migrating.inspect_connection(connection) is Schema.CURRENT
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1
    engine.dispose()

    with Store.open(f"sqlite:///{path}") as store:
        assert dump(store) == before


def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    engine = an_engine(path)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE decisions (id INTEGER)"))  # in the way of the sixth table
    before = path.read_bytes()

    with pytest.raises(OperationalError, match="already exists"), engine.begin() as connection:
        migrating.upgrade(connection)
    engine.dispose()

    assert path.read_bytes() == before
