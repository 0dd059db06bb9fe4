"""Copies a whole store into an empty one, whatever database either is in: a backup, its way back, the move to a server.

A backup is a SQLite store like any other, and may come from anywhere: it is opened as sqlite.org/security.html advises
for untrusted files, and nothing that stands in it is executed.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Result, Table, func, insert, select, text

from scrapy_dedup.store.engine.database import WRITES, make_engine, parse_url
from scrapy_dedup.store.engine.errors import StoreError, file_of, shown, translated
from scrapy_dedup.store.engine.schema import MAGIC, VERSION_TABLE, Refused, Schema, create, inspect_connection
from scrapy_dedup.store.tables.models import Base, Project

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Given what is counted, and how many there are; gives what is told of how many more are done."""


# A row may hold a page of some megabytes.
_ROWS_AT_ONCE: Final = 250
_ANOTHER_FILE: Final = "Take another file."


def copy_store(source: str | URL, target: str | URL, timeout: timedelta, progress: Progress) -> dict[str, int]:
    """Copy all rows as they are at one instant; return how many there are, by table.

    Crawls may write to the *source* meanwhile. The *target* is a SQLite file that is not there yet, or a PostgreSQL
    database without rows; *timeout* is how long to wait for the locks of others.

    Raises:
        StoreError: one of them cannot be used, or is damaged; the source is as it was, and so is the target.
        OSError: a file cannot be read or written; likewise.
    """
    here, there = _lasting(source), _lasting(target)
    with _writing(there, timeout) as new, _reading(here, timeout) as old:
        wanted = _counts(old)
        with progress("rows", sum(wanted.values())) as moved:
            for table in Base.metadata.sorted_tables:
                with old.execution_options(yield_per=_ROWS_AT_ONCE).execute(select(table)) as rows:
                    for some in _parts(rows, table.name, here):
                        with translated(there):
                            new.execute(insert(table), some)
                        moved(len(some))
        with translated(there):
            found = _counts(new)
        if found != wanted:
            raise StoreError(f"store {shown(there)}: not all rows arrived. Nothing was written. Try again.")
    return wanted


def _lasting(url: str | URL) -> URL:
    parsed = parse_url(url)
    if parsed.get_backend_name() == "sqlite" and file_of(parsed) is None:
        raise StoreError(f"store {shown(parsed)}: it is in memory. Name a file, such as sqlite:///dedup.db.")
    return parsed


def _counts(connection: Connection) -> dict[str, int]:
    return {
        name: connection.scalar(select(func.count()).select_from(table)) or 0
        for name, table in sorted(Base.metadata.tables.items())
    }


def _parts(rows: Result[Any], table: str, url: URL) -> Iterator[list[dict[str, Any]]]:
    try:
        for some in rows.mappings().partitions():
            yield [dict(row) for row in some]
    except (ValueError, TypeError) as error:
        # SQLite lets any value stand in any column.
        what = f"its table {table} holds a value of another kind ({error})"
        raise StoreError(f"store {shown(url)}: {what}. {_ANOTHER_FILE}") from error


@contextmanager
def _transaction(url: URL, timeout: timedelta, named: URL, *, writes: bool) -> Iterator[Connection]:
    """Give a connection in a transaction, which an exception undoes; its errors name a store that may be another."""
    engine = make_engine(url, timeout, write=writes)
    try:
        with translated(named), engine.execution_options(**{WRITES: writes}).begin() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def _writing(url: URL, timeout: timedelta) -> Iterator[Connection]:
    """Give a connection to tables without rows; what is written is there at the end, as a whole, or not at all."""
    path = file_of(url)
    if path is None:
        with _transaction(url, timeout, url, writes=True) as connection:
            _make_empty(connection, url)
            yield connection
            for table in Base.metadata.tables.values():
                _count_on(connection, table)
        return
    _refuse_taken(path)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise StoreError(f"{path}: nothing can be written to its folder. Make the folder, or name another file.")
    with tempfile.TemporaryDirectory(prefix=".dedup-", dir=path.parent) as folder:
        part = Path(folder, "store.db")
        with _transaction(URL.create("sqlite", database=str(part)), timeout, url, writes=True) as connection:
            create(connection)
            yield connection
            _refuse_damaged(connection, url)
        _refuse_taken(path)
        part.replace(path)
        # The name is safe once its folder is.
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _refuse_taken(path: Path) -> None:
    # A log that an older file left would be taken for that of the new one.
    for name in (path.with_name(path.name + end) for end in ("", "-wal", "-shm", "-journal")):
        if name.exists():
            raise StoreError(f"{name}: it is there already. Name a file that is not there, or move this one away.")


def _make_empty(connection: Connection, url: URL) -> None:
    if _judged(connection, url) is Schema.EMPTY:
        create(connection)
        return
    # Every other row belongs to a project: nobody adds one from here on.
    connection.execute(text(f'LOCK TABLE "{Project.__tablename__}" IN SHARE ROW EXCLUSIVE MODE'))
    filled = sorted(name for name, rows in _counts(connection).items() if rows)
    if filled:
        raise StoreError(
            f"store {shown(url)}: it is not empty, there are rows in {', '.join(filled[:3])}."
            " Name an empty database, or delete its projects with `scrapy dedup store projects delete`."
        )


def _count_on(connection: Connection, table: Table) -> None:
    """Let a server number new rows behind those that came with their numbers."""
    for column in table.primary_key:
        names = {"table": table.name, "column": column.name}
        sequence = connection.scalar(text("SELECT pg_get_serial_sequence(:table, :column)"), names)
        if sequence is not None:
            values = {"sequence": sequence, "next": (connection.scalar(select(func.max(column))) or 0) + 1}
            connection.execute(text("SELECT setval(CAST(:sequence AS regclass), :next, FALSE)"), values)


@contextmanager
def _reading(url: URL, timeout: timedelta) -> Iterator[Connection]:
    """Give a connection to a whole store, which sees it as it is now."""
    path = file_of(url)
    if path is not None:
        # A pipe gives nothing, and holds whoever opens it.
        if not path.exists():
            raise StoreError(f"{path}: it is not there. Name another file, or crawl first.")
        if not path.is_file():
            raise StoreError(f"{path}: it is no regular file. {_ANOTHER_FILE}")
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise StoreError(f"{path}: it is no SQLite file, so neither a store nor a backup. {_ANOTHER_FILE}")
    with _transaction(url, timeout, url, writes=False) as connection:
        if path is None:
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        else:
            _refuse_acting(connection, url)
        if _judged(connection, url) is Schema.EMPTY:
            raise StoreError(f"store {shown(url)}: there is none. Run a crawl first, or name another one.")
        if path is not None:
            _refuse_others(connection, url)
            _refuse_damaged(connection, url)
        yield connection


def _judged(connection: Connection, url: URL) -> Schema:
    found = inspect_connection(connection)
    if isinstance(found, Refused):
        raise StoreError(f"store {shown(url)}: {found}")
    if found not in {Schema.EMPTY, Schema.CURRENT}:
        command = "scrapy dedup store projects list -s DEDUP_DATABASE_URL=..."
        raise StoreError(
            f"store {shown(url)}: its schema is an older one. Bring it up to date first, with `{command}`."
        )
    return found


def _refuse_acting(connection: Connection, url: URL) -> None:
    """Refuse triggers, views and virtual tables, before any table is read."""
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        connection.exec_driver_sql(f"PRAGMA {pragma}")
    # What has no pages of its own is made by code.
    acting = "SELECT name FROM sqlite_master WHERE coalesce(rootpage, 0) = 0 OR type NOT IN ('table', 'index') LIMIT 1"
    name = connection.exec_driver_sql(acting).scalar()
    if name is not None:
        raise StoreError(f"store {shown(url)}: it holds {name!r}, which acts by itself. {_ANOTHER_FILE}")


def _refuse_others(connection: Connection, url: URL) -> None:
    """Refuse tables and columns, computed ones among them, that are not those of a store."""
    ours: dict[str, Sequence[str]] = {name: table.columns.keys() for name, table in Base.metadata.tables.items()}
    ours[VERSION_TABLE] = ["version_num"]
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    for name in sorted(connection.exec_driver_sql(tables).scalars()):
        columns = connection.exec_driver_sql("SELECT name, hidden FROM pragma_table_xinfo(?)", (name,))
        if sorted(map(tuple, columns)) != sorted((column, 0) for column in ours.get(name, ())):
            raise StoreError(f"store {shown(url)}: its table {name!r} is not one of a store. {_ANOTHER_FILE}")


def _refuse_damaged(connection: Connection, url: URL) -> None:
    damage = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
    if damage == "ok":
        stray = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        damage = f"a row of {stray[0]} belongs to no {stray[2]}" if stray else "ok"
    if damage != "ok":
        raise StoreError(f"store {shown(url)}: it is damaged ({damage}). Nothing was written. {_ANOTHER_FILE}")
