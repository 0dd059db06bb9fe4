"""Judges a database by its schema, and brings it to the present one; only here, and only then, Alembic is imported.

A SQLite file is looked at without leaving a trace: what may not be opened stays as it is, byte for byte. An ordinary
connection to a file in WAL mode creates two files beside it, and its close may move what a killed process left in the
WAL. So a file without a WAL is read as immutable, one with a WAL by a read-only connection.
"""

import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from enum import Enum
from pathlib import Path

from msgspec import Struct
from sqlalchemy import Connection, Engine, inspect, text

from scrapy_dedup.store.engine.database import WRITES, is_writable, log_of, reading_uri
from scrapy_dedup.store.engine.errors import FREE_SPACE, advice, is_full
from scrapy_dedup.store.migrations import HEAD, REVISIONS, written_tables
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
    "It cannot be carried over. Begin a new one with: scrapy crawl SPIDER -s"
    " DEDUP_DATABASE_URL=sqlite:///.scrapy/new.db, or move this file away; on a server, name another database."
)


def judge(tables: Mapping[str, Collection[str]], revisions: Sequence[str]) -> Schema | Refused:
    """Judge a database by its tables and by what its version table holds.

    *tables* are all there are, those of the present revision with their columns; *revisions* are the rows of the
    version table, empty where there is none.
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
    lack = _lack(tables)
    return Refused(lack, "Restore a copy, or name another database.") if lack else Schema.CURRENT


def _lack(tables: Mapping[str, Collection[str]]) -> str | None:
    if missing := sorted(set(Base.metadata.tables) - set(tables)):
        return f"its tables {', '.join(missing)} are missing"
    for name, table in sorted(Base.metadata.tables.items()):
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
    return judge(tables, revisions)


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
    for statement in written_tables(connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
    connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES (:head)"), {"head": HEAD})  # noqa: S608 (a constant)


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


MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_PAUSE_SECONDS = 0.02
_MOVE_AWAY = "Restore a copy of it, or move it away and crawl again."


def inspect_file(path: Path, timeout: timedelta) -> Schema | Refused:
    """Judge a file by the columns of its tables; one that does not exist yet is EMPTY."""
    try:
        if not path.exists():
            return Schema.EMPTY
        if not path.is_file():
            return Refused("it is not a file", "Name a file in DEDUP_DATABASE_URL, such as sqlite:///.scrapy/dedup.db.")
        had_log = log_of(path).exists()
        found = _inspect_bytes(path, timeout)
        if isinstance(found, Refused) and not had_log and log_of(path).exists():
            # Another process began to write while the file was read as immutable.
            return _inspect_bytes(path, timeout)
    except OSError as error:
        return Refused(f"it cannot be read ({error.strerror})", "Give this process the right to read and write it.")
    return found


def refused_by_rights(path: Path) -> Refused | None:
    """Refuse a file that cannot be written to, or created."""
    if not path.exists():
        existing = next(folder for folder in path.parents if folder.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
            return Refused(f"it cannot be created in {existing}", "Give this process the right to write there.")
        return None
    if not is_writable(path):
        return Refused("the file is read-only", "Give this process the right to write to it.")
    if not is_writable(path.parent):
        return Refused(
            f"its folder {path.parent} is read-only", "SQLite keeps a log beside the file: allow writing there."
        )
    return None


def _inspect_bytes(path: Path, timeout: timedelta) -> Schema | Refused:
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header:
        return Schema.EMPTY
    if not header.startswith(MAGIC) or len(header) < _HEADER_BYTES:
        return Refused("it is not a SQLite database", "Name another file in DEDUP_DATABASE_URL, or move this one away.")
    try:
        with _reading(path, timeout) as connection:
            return _inspect_tables(connection)
    except sqlite3.DatabaseError as error:
        return _refused_by(error, path, timeout)


def _inspect_tables(connection: sqlite3.Connection) -> Schema | Refused:
    """Judge the schema and touch both ends of every table.

    SQLite itself finds a file that was cut short, from the page count in its
    header. A check of all pages would read the whole file: minutes, on a big one.
    """
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    revisions: list[str] = []
    if VERSION_TABLE in tables:
        revisions = [str(revision) for (revision,) in connection.execute(f"SELECT * FROM {VERSION_TABLE} ORDER BY 1")]  # noqa: S608 (a constant)
    asked = "SELECT name FROM pragma_table_info(?)"
    columns = {
        name: [column for (column,) in connection.execute(asked, (name,))] if name in Base.metadata.tables else []
        for name in tables
        if not name.startswith("sqlite_")
    }
    found = judge(columns, revisions)
    if found in {Schema.CURRENT, Schema.OLDER}:
        for table in sorted(set(Base.metadata.tables) & set(tables)):
            # The order in which its rows lie; where they have no number, that of their key, which comes first.
            column = "1" if "WITHOUT ROWID" in tables[table] else "rowid"
            for order in (column, f"{column} DESC"):
                connection.execute(f'SELECT * FROM "{table}" ORDER BY {order} LIMIT 1').fetchall()  # noqa: S608 (our own names)
    return found


def use_log(path: Path, timeout: timedelta) -> Refused | None:
    """Switch the file, created if need be, to a write-ahead log, for good.

    Readers then do not wait for writers. SQLite does not wait for others here, as it does elsewhere, so this does.
    """
    until = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            with closing(sqlite3.connect(path, timeout=0)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.DatabaseError as error:
            if "locked" not in str(error) or time.monotonic() >= until:
                return _refused_by(error, path, timeout)
            time.sleep(_PAUSE_SECONDS)
        else:
            return None


def _refused_by(error: sqlite3.DatabaseError, path: Path, timeout: timedelta) -> Refused:
    if "locked" in str(error):
        seconds = f"{timeout.total_seconds():g}"
        return Refused(
            f"another process kept it locked for {seconds} seconds",
            "End that process, or allow more by DEDUP_DATABASE_TIMEOUT.",
        )
    if isinstance(error, sqlite3.OperationalError):
        way_out = FREE_SPACE if is_full(str(error), path) else advice(str(error))
        return Refused(f"it cannot be used ({error})", way_out)
    return Refused(f"it is damaged ({error})", _MOVE_AWAY)


@contextmanager
def _reading(path: Path, timeout: timedelta) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(reading_uri(path), uri=True, timeout=timeout.total_seconds())) as connection:
        yield connection
