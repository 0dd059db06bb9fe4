"""A whole store as a SQLite file, from either database, and from such a file into either."""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Row, Table, func, insert, select, text
from sqlalchemy.exc import DBAPIError

from scrapy_dedup.store.base import Base
from scrapy_dedup.store.database import Database
from scrapy_dedup.store.engines import WRITES, file_of, make_engine
from scrapy_dedup.store.errors import StoreError, shown, translated
from scrapy_dedup.store.migrating import migrate
from scrapy_dedup.store.models import Project
from scrapy_dedup.store.schema import Refused, Schema
from scrapy_dedup.store.sqlite_file import inspect_file, use_log

TIMEOUT: Final = timedelta(seconds=10)
_ROWS_AT_ONCE: Final = 2_000
_PAGES_AT_ONCE: Final = 2_000
Progress = Callable[[int], None]


def write_snapshot(database: Database, file: Path, progress: Progress) -> dict[str, int]:
    """Write the store as it is at one instant to a new SQLite file; return the rows of each table.

    Whoever writes meanwhile goes on, and is not in it.

    Args:
        database: with the present schema.
        file: is not there yet.
        progress: told how many rows, or pages of a SQLite file, were written.

    Raises:
        StoreError: reading failed, or there is no room for the file.
    """
    if database.url.get_backend_name() == "sqlite":
        _copy_file(database, file, progress)
    else:
        with _opened(file, create=True) as target:
            _copy_from_server(database, target, progress)
    with _opened(file) as connection:
        counts = _counts(connection)
    _close_file(file)
    return counts


def _copy_file(database: Database, file: Path, progress: Progress) -> None:
    with database.raw() as source, closing(sqlite3.connect(file)) as target:
        copied = 0

        def moved(_status: int, left: int, total: int) -> None:
            nonlocal copied
            progress(total - left - copied)
            copied = total - left

        # In a transaction, so that what others commit meanwhile does not make it begin anew.
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(target, pages=_PAGES_AT_ONCE, progress=moved)
        source.execute("COMMIT")


def _copy_from_server(database: Database, target: Connection, progress: Progress) -> None:
    with database.transaction() as source:
        # All tables as they are at the first statement.
        source.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        copy_rows(source, target, progress)


def copy_rows(source: Connection, target: Connection, progress: Progress) -> None:
    """Copy the rows of all tables into tables without rows; what others refer to comes first."""
    put = _copy_in if target.dialect.driver == "psycopg" else _insert
    for table in Base.metadata.sorted_tables:
        rows = source.execution_options(yield_per=_ROWS_AT_ONCE).execute(select(table))
        put(target, table, _told(rows.partitions(), progress))


def _told(parts: Iterable[Sequence[Row[Any]]], progress: Progress) -> Iterator[Sequence[Row[Any]]]:
    for some in parts:
        yield some
        progress(len(some))


def _insert(target: Connection, table: Table, parts: Iterable[Sequence[Row[Any]]]) -> None:
    for some in parts:
        target.execute(insert(table), [dict(row._mapping) for row in some])  # noqa: SLF001 - SQLAlchemy's own name


def _copy_in(target: Connection, table: Table, parts: Iterable[Sequence[Row[Any]]]) -> None:
    """Insert rows by COPY, which PostgreSQL does in less time than by INSERT.

    Source: docs of psycopg 3, "Using COPY TO and COPY FROM", row by row.
    """
    columns = list(table.columns)
    to_driver = [column.type.dialect_impl(target.dialect).bind_processor(target.dialect) for column in columns]
    names = ", ".join(f'"{column.name}"' for column in columns)
    statement = f'COPY "{table.name}" ({names}) FROM STDIN'
    driver: Any = target.dialect.loaded_dbapi
    cursor: Any = target.connection.cursor()
    try:
        with cursor, cursor.copy(statement) as copy:
            for row in chain.from_iterable(parts):
                copy.write_row([made(one) if made else one for made, one in zip(to_driver, row, strict=True)])
    except driver.Error as error:
        raise DBAPIError.instance(statement, None, error, driver.Error) from error


def is_empty(database: Database) -> bool:
    """Return whether there is no project."""
    with database.transaction() as connection:
        return connection.execute(select(Project.id).limit(1)).first() is None


def check_snapshot(file: Path) -> Refused | None:
    """Judge a file that is to become the store: its schema, every page of it, and that nothing in it acts by itself."""
    found = inspect_file(file, TIMEOUT, Base.metadata.tables)
    if isinstance(found, Refused):
        return found
    if found is Schema.EMPTY:
        return Refused("the file holds no store", "Take another backup.")
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            acting = connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view')"
                " OR sql LIKE '%VIRTUAL%' OR sql LIKE '%GENERATED%'"
            ).fetchall()
            if acting:
                return Refused(f"the file holds {acting[0][0]!r}, which acts by itself", "Take another backup.")
            damage = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.DatabaseError as error:
        return Refused(f"the file is damaged ({error})", "Take another backup.")
    return None if damage == "ok" else Refused(f"the file is damaged ({damage})", "Take another backup.")


def upgrade_snapshot(file: Path) -> dict[str, int]:
    """Bring a file that was judged to the present schema; return the rows of each table.

    Raises:
        StoreError: that failed.
    """
    with _opened(file, create=True) as connection:
        counts = _counts(connection)
    _close_file(file)
    return counts


def take_place(file: Path, url: URL, aside: Path) -> Path | None:
    """Let a file take the place of a SQLite store at once; return where the old one is, None where there was none.

    Whenever this is killed, the store is the old one or the new one, and whole.

    Raises:
        StoreError: somebody has the old store open.
        OSError: a file cannot be written.
    """
    path = file_of(url)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    _flush(file)
    if not path.exists():
        _replace(file, path)
        return None
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as old:
        try:
            # Only who is alone with a file can do without its log; then all of it is in one file.
            old.execute("PRAGMA journal_mode = DELETE")
            old.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise StoreError(f"store {shown(url)}: somebody uses it ({error}). End that first.") from error
        except sqlite3.DatabaseError:
            _set_log_aside(path, aside)
        _keep(path, aside)
        _replace(file, path)
    return aside


def _set_log_aside(path: Path, aside: Path) -> None:
    """Take the log of a damaged store out of the way: SQLite would read it as that of the new one."""
    for end in ("-wal", "-shm", "-journal"):
        log = path.with_name(path.name + end)
        if log.exists():
            log.rename(aside.with_name(aside.name + end))


def _keep(path: Path, aside: Path) -> None:
    """Give a file a second name, or a copy, where its file system has no links."""
    try:
        aside.hardlink_to(path)
    except OSError:
        with path.open("rb") as source, aside.open("xb") as target:
            shutil.copyfileobj(source, target)
            os.fsync(target.fileno())


def fill_server(file: Path, database: Database, progress: Progress) -> dict[str, int]:
    """Let the rows of a file take the place of those on a server, in one transaction; return the rows of each table.

    Raises:
        StoreError: it failed; all is as it was.
    """
    tables = Base.metadata.sorted_tables
    with _opened(file) as source, database.transaction(write=True) as target:
        names = ", ".join(f'"{table.name}"' for table in tables)
        target.execute(text(f"TRUNCATE {names}"))
        copy_rows(source, target, progress)
        for table in tables:
            _count_on(target, table)
        wanted, found = _counts(source), _counts(target)
        if wanted != found:
            raise StoreError(f"store {shown(database.url)}: not all rows arrived. Nothing was changed. Try again.")
    return found


def _count_on(connection: Connection, table: Table) -> None:
    """Let the server number new rows behind those that came with their numbers."""
    for column in table.primary_key:
        sequence = connection.scalar(
            text("SELECT pg_get_serial_sequence(:table, :column)"), {"table": table.name, "column": column.name}
        )
        if sequence is not None:
            last = connection.scalar(select(func.max(column)))
            connection.execute(
                text("SELECT setval(CAST(:sequence AS regclass), :last, :used)"),
                {"sequence": sequence, "last": last or 1, "used": last is not None},
            )


def _counts(connection: Connection) -> dict[str, int]:
    return {
        name: connection.scalar(select(func.count()).select_from(table)) or 0
        for name, table in sorted(Base.metadata.tables.items())
    }


@contextlib.contextmanager
def _opened(file: Path, *, create: bool = False) -> Iterator[Connection]:
    """Give a connection to a SQLite file, in a transaction; its schema is made, or brought up to date, if asked for."""
    url = URL.create("sqlite", database=str(file))
    with translated(url):
        if create and (refused := use_log(file, TIMEOUT)):
            raise StoreError(f"store {shown(url)}: {refused}")
        engine = make_engine(url, TIMEOUT)
        try:
            if create and (refused := migrate(engine)):
                raise StoreError(f"store {shown(url)}: {refused}")
            with engine.execution_options(**{WRITES: create}).begin() as connection:
                yield connection
        finally:
            engine.dispose()


def _close_file(file: Path) -> None:
    """Move all that is in a file's log into it."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")


def _replace(file: Path, path: Path) -> None:
    file.replace(path)
    # The name is safe once its folder is.
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush(file: Path) -> None:
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())
