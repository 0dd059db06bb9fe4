"""Brings a database to the present schema; the only module that imports Alembic, and only when it has to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from scrapy_dedup.store.engine.engines import WRITES
from scrapy_dedup.store.engine.schema import VERSION_TABLE, Refused, Schema, judge
from scrapy_dedup.store.migrations import HEAD
from scrapy_dedup.store.tables.models import Base

_SCRIPTS = Path(__file__).parents[1] / "migrations"
# Any constant will do, as long as every version of this package takes the same.
_POSTGRESQL_LOCK = 0x64656475
_COLUMNS = {
    "postgresql": "SELECT table_name, column_name FROM information_schema.columns"
    " WHERE table_schema = current_schema()",
    "sqlite": "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'",
}


def inspect_connection(connection: Connection) -> Schema | Refused:
    """Judge the database behind a connection."""
    tables: dict[str, list[str]] = {name: [] for name in inspect(connection).get_table_names()}
    for table, column in connection.execute(text(_COLUMNS[connection.dialect.name])):
        tables.get(table, []).append(column)
    revisions: list[str] = []
    if VERSION_TABLE in tables:
        query = text(f"SELECT version_num FROM {VERSION_TABLE} ORDER BY 1")  # noqa: S608 (a constant)
        revisions = [str(revision) for revision in connection.scalars(query)]
    return judge(tables, revisions, Base.metadata.tables)


def migrate(engine: Engine) -> Refused | None:
    """Create or upgrade the schema under a lock; whoever comes second finds the work done.

    Nothing is changed when an upgrade fails: it is one transaction.
    """
    writing = engine.execution_options(**{WRITES: True})
    with writing.connect() as connection, _without_foreign_keys(connection), connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _POSTGRESQL_LOCK})
        found = inspect_connection(connection)
        if isinstance(found, Refused):
            return found
        if found is Schema.EMPTY:
            create(connection)
        elif found is not Schema.CURRENT:
            upgrade(connection)
    return None


def create(connection: Connection) -> None:
    """Make the present schema at once: what the migrations make one after the other, without importing Alembic."""
    if connection.dialect.name == "postgresql":
        _use_partial_indexes_on_postgresql()
    Base.metadata.create_all(connection)
    connection.execute(
        text(f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
    )
    connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES (:head)"), {"head": HEAD})  # noqa: S608 (a constant)


def _use_partial_indexes_on_postgresql() -> None:
    """Give PostgreSQL the conditions of SQLite's partial indexes.

    Not said where the indexes are declared: naming a dialect there imports it, which takes long.
    """
    for table in Base.metadata.tables.values():
        for index in table.indexes:
            condition = index.dialect_options["sqlite"]["where"]
            if condition is not None:
                index.dialect_options["postgresql"]["where"] = condition


@contextmanager
def _without_foreign_keys(connection: Connection) -> Iterator[None]:
    """Keep SQLite, which alters a table by copying and dropping it, from emptying the tables below it."""
    if connection.dialect.name != "sqlite":
        yield
        return
    raw = connection.connection.driver_connection
    assert raw is not None
    raw.execute("PRAGMA foreign_keys = OFF")  # without effect inside a transaction, so not through SQLAlchemy
    try:
        yield
    finally:
        raw.execute("PRAGMA foreign_keys = ON")


def upgrade(connection: Connection) -> None:
    """Run Alembic's upgrade on the connection, in its transaction."""
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
