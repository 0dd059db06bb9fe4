"""Brings a database to the present schema; the only module that imports Alembic, and only when it has to."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from msgspec import Struct
from sqlalchemy import Connection, Engine, Table, inspect, text

from scrapy_dedup.store.engine.engines import WRITES
from scrapy_dedup.store.migrations import HEAD, REVISIONS
from scrapy_dedup.store.tables.models import Base

VERSION_TABLE = "alembic_version"
# Present in every revision, so that a store of a later one is told from a stranger's database.
_MARKS = frozenset({"projects", "crawled_urls", "domain_boilerplate"})


class Schema(Enum):
    """The state of a database that may be opened."""

    EMPTY = "empty"
    OLDER = "older"
    CURRENT = "current"


class Refused(Struct, frozen=True):
    """A database that must not be written to: what is wrong with it and what to do."""

    reason: str
    way_out: str

    def __str__(self) -> str:
        return f"{self.reason}. Nothing in it was changed. {self.way_out}"


_ANOTHER_NAME = "Name another one in DEDUP_DATABASE_URL."
_BEGIN_ANOTHER = (
    "Begin a new one with: scrapy crawl SPIDER -s DEDUP_DATABASE_URL=sqlite:///.scrapy/new.db, or move this one away."
)


def judge(
    tables: Mapping[str, Collection[str]], revisions: Sequence[str], expected: Mapping[str, Table]
) -> Schema | Refused:
    """Judge a database by its tables and by what its version table holds.

    Args:
        tables: names of all tables; of those that are expected their columns, too.
        revisions: rows of the version table; empty when there is no such table.
        expected: tables of the present revision.
    """
    if not revisions:
        if set(tables) <= {VERSION_TABLE}:
            return Schema.EMPTY
        names = ", ".join(sorted(set(tables) - {VERSION_TABLE})[:3])
        return Refused(f"it holds other tables ({names}) and no scrapy_dedup store", _ANOTHER_NAME)
    found = ", ".join(revisions)
    if found not in REVISIONS:
        return _unknown(found, tables)
    if found != HEAD:
        return Schema.OLDER
    lack = _lack(tables, expected)
    return Refused(lack, "Restore a copy, or name another database.") if lack else Schema.CURRENT


def _lack(tables: Mapping[str, Collection[str]], expected: Mapping[str, Table]) -> str | None:
    if missing := sorted(set(expected) - set(tables)):
        return f"its tables {', '.join(missing)} are missing"
    for name, table in sorted(expected.items()):
        if columns := sorted(set(table.columns.keys()) - set(tables[name])):
            return f"its table {name} has no {', '.join(columns)}"
    return None


def _unknown(revision: str, tables: Collection[str]) -> Refused:
    if not set(tables) >= _MARKS:
        return Refused(f"it belongs to another program (schema revision {revision!r})", _ANOTHER_NAME)
    if revision < REVISIONS[0]:
        return Refused(
            f"its schema revision {revision!r} is older than the first that this scrapy-dedup knows, {REVISIONS[0]!r}",
            _BEGIN_ANOTHER,
        )
    return Refused(
        f"its schema revision {revision!r} is newer than the last one that this scrapy-dedup knows, {HEAD!r}",
        "Upgrade scrapy-dedup, or name another database in DEDUP_DATABASE_URL.",
    )


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
