"""Looks at a SQLite file without leaving a trace: what may not be opened stays as it is, byte for byte.

An ordinary connection to a file in WAL mode creates two files beside it, and
its close may move what a killed process left in the WAL. So a file without a
WAL is read as immutable, one with a WAL by a read-only connection.

By itself it begins anew only when nobody reads from it: readers that overlap, as those of a crawl do, let it grow for
as long as they do (https://www.sqlite.org/wal.html#avoiding_excessively_large_wal_files).
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Table

from scrapy_dedup.store.engine.errors import FREE_SPACE, advice, is_full
from scrapy_dedup.store.engine.migrating import VERSION_TABLE, Refused, Schema, judge

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_PAUSE_SECONDS = 0.02
_MOVE_AWAY = "Restore a copy of it, or move it away and crawl again."

# Four of what a large batch of pages writes, in bytes.
LONGEST = 128_000_000
# Reading what one page asks for takes less; those who read for longer are not waited for.
_PATIENCE_MILLISECONDS = 200


def inspect_file(path: Path, timeout: timedelta, expected: Mapping[str, Table]) -> Schema | Refused:
    """Judge a file by the columns of its tables; one that does not exist yet is EMPTY when it could be created."""
    try:
        refused = _refused_by_rights(path)
        if refused or not path.exists():
            return refused or Schema.EMPTY
        had_log = log_of(path).exists()
        found = _inspect_bytes(path, timeout, expected)
        if isinstance(found, Refused) and not had_log and log_of(path).exists():
            # Another process began to write while the file was read as immutable.
            return _inspect_bytes(path, timeout, expected)
    except OSError as error:
        return Refused(f"it cannot be read ({error.strerror})", "Give this process the right to read and write it.")
    return found


def _refused_by_rights(path: Path) -> Refused | None:
    """Refuse what cannot be written to; the mode counts for root, too, whom the system lets through."""
    if not path.exists():
        existing = next(folder for folder in path.parents if folder.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
            return Refused(f"it cannot be created in {existing}", "Give this process the right to write there.")
        return None
    if not path.is_file():
        return Refused("it is not a file", "Name a file in DEDUP_DATABASE_URL, such as sqlite:///.scrapy/dedup.db.")
    if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        return Refused("the file is read-only", "Give this process the right to write to it.")
    if not path.parent.stat().st_mode & 0o222 or not os.access(path.parent, os.W_OK | os.X_OK):
        return Refused(
            f"its folder {path.parent} is read-only", "SQLite keeps a log beside the file: allow writing there."
        )
    return None


def _inspect_bytes(path: Path, timeout: timedelta, expected: Mapping[str, Table]) -> Schema | Refused:
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header:
        return Schema.EMPTY
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        return Refused("it is not a SQLite database", "Name another file in DEDUP_DATABASE_URL, or move this one away.")
    try:
        with _reading(path, timeout) as connection:
            return _inspect_tables(connection, expected)
    except sqlite3.DatabaseError as error:
        return _refused_by(error, path, timeout)


def _inspect_tables(connection: sqlite3.Connection, expected: Mapping[str, Table]) -> Schema | Refused:
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
        name: [column for (column,) in connection.execute(asked, (name,))] if name in expected else []
        for name in tables
        if not name.startswith("sqlite_")
    }
    found = judge(columns, revisions, expected)
    if found in {Schema.CURRENT, Schema.OLDER}:
        for table in sorted(set(expected) & set(tables)):
            # The order in which its rows lie; where they have no number, that of their key, which comes first.
            column = "1" if "WITHOUT ROWID" in tables[table] else "rowid"
            for order in (column, f"{column} DESC"):
                connection.execute(f'SELECT * FROM "{table}" ORDER BY {order} LIMIT 1').fetchall()  # noqa: S608 (our own names)
    return found


def use_log(path: Path, timeout: timedelta) -> Refused | None:
    """Switch the file, created if need be, to a write-ahead log, for good.

    Readers then do not wait for writers. SQLite does not wait for others here,
    as it does elsewhere, so this does.
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
            f"another process kept it locked for {seconds} seconds", "End that process, or allow a longer timeout."
        )
    if isinstance(error, sqlite3.OperationalError):
        way_out = FREE_SPACE if is_full(str(error), path) else advice(str(error))
        return Refused(f"it cannot be used ({error})", way_out)
    return Refused(f"it is damaged ({error})", _MOVE_AWAY)


@contextmanager
def _reading(path: Path, timeout: timedelta) -> Iterator[sqlite3.Connection]:
    mode = "mode=ro" if log_of(path).exists() else "immutable=1"
    uri = f"{path.absolute().as_uri()}?{mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=timeout.total_seconds())) as connection:
        yield connection


def log_of(path: Path) -> Path:
    """Return where the log of a database is."""
    return path.with_name(f"{path.name}-wal")


def is_long(path: Path) -> bool:
    """Return whether the log of a database has grown beyond what it needs."""
    try:
        return log_of(path).stat().st_size > LONGEST
    except OSError:
        return False


def empty_log(connection: sqlite3.Connection) -> None:
    """Move what is in the log into the file, and cut it to nothing; while somebody reads for long, it stays.

    Raises:
        sqlite3.Error: such as a full disk; what was committed is safe.
    """
    connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MILLISECONDS}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
