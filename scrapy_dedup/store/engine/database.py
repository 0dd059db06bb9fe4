"""An open database: its engine, sessions and transactions, and what SQLite and PostgreSQL need to behave alike."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, NoSuchModuleError
from sqlalchemy.pool import NullPool, Pool, QueuePool, StaticPool

from scrapy_dedup.store.engine.circuit import Circuit
from scrapy_dedup.store.engine.codec import column_text, to_json
from scrapy_dedup.store.engine.errors import AwayStoreError, StoreError, file_of, has_room, shown, translated

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


# An engine with this option opens its transactions for writing.
WRITES = "scrapy_dedup_writes"
# Of what SQLite keeps of a file in memory, in KiB, for each connection. Keys are random: a batch touches pages all over
# the indexes. Whoever reads needs the upper levels of their trees, and has nothing left of it once somebody writes.
_CACHE_WRITING = 16_000
_CACHE_READING = 4_000
_CACHE = "scrapy_dedup_cache"
# For a try whether a server is there; libpq takes no less.
_TRIAL = timedelta(seconds=2)


def parse_url(url: str | URL) -> URL:
    """Return the URL of a database that the store can use.

    Raises:
        StoreError: it is not a URL, or names neither SQLite nor PostgreSQL.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        example = "such as sqlite:///.scrapy/dedup.db"
        raise StoreError(f"store: DEDUP_DATABASE_URL is not a database URL; write one {example}") from error
    if parsed.drivername not in {"sqlite", "sqlite+pysqlite"} and parsed.get_backend_name() != "postgresql":
        raise StoreError(
            f"store {shown(parsed)}: {parsed.drivername} is not supported. Use sqlite:///PATH or postgresql+psycopg://..."
        )
    if "@" in (parsed.host or ""):
        # What stands before it is a part of the password.
        example = "postgresql+psycopg://NAME:PASSWORD@HOST/DATABASE"
        raise StoreError(f"store {example}: DEDUP_DATABASE_URL has two @. Write the one in the password as %40.")
    if parsed.get_backend_name() == "sqlite" and parsed.host:
        raise StoreError(f"store {shown(parsed)}: that is no path. Write three slashes, such as sqlite:///dedup.db.")
    if (parsed.database or "").startswith("file:"):
        raise StoreError(f"store {shown(parsed)}: SQLite URIs are not supported. Write sqlite:///PATH.")
    return parsed


def make_engine(url: URL, timeout: timedelta, *, write: bool = True) -> Engine:
    """Return an engine for use by several threads.

    Without *write* a file that takes no more is read as it is, for as long as the engine is used.

    Raises:
        StoreError: the driver is not installed.
    """
    arguments: dict[str, Any] = {"hide_parameters": True, "json_serializer": lambda value: column_text(to_json(value))}
    try:
        if url.get_backend_name() == "postgresql":
            pings = url.get_driver_name() != "psycopg"
            engine = create_engine(url, pool_pre_ping=pings, connect_args=_patience(url, timeout), **arguments)
            if not pings:
                event.listen(engine, "checkout", _refuse_closed)
            _prepare_postgresql(engine, timeout)
            return engine
        path = file_of(url)
        is_read_only = not write and path is not None and path.exists() and not _takes_more(path)
        # In memory every thread must meet the one connection that holds the data.
        pool: type[Pool] = QueuePool if path else StaticPool
        engine = create_engine(
            url,
            poolclass=NullPool if is_read_only else pool,
            connect_args={"timeout": timeout.total_seconds(), "check_same_thread": False},
            **arguments,
        )
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise StoreError(f"store {shown(url)}: {error}. Run pip install 'scrapy_dedup[postgresql]'.") from error
    _prepare_sqlite(engine)
    if path is not None:
        _hold_to_file(engine, url)
    if path is not None and is_read_only:
        _only_read(engine, path)
    return engine


def make_circuit(url: URL, engine: Engine) -> Circuit | None:
    """Return what knows whether an engine's server can be reached; None for a file, and for another driver."""
    if url.get_driver_name() != "psycopg":
        return None
    # It takes long to import, for those who do not need it.
    from scrapy_dedup.store.engine.watched import watch  # noqa: PLC0415

    trial = create_engine(url, poolclass=NullPool, connect_args=_patience(url, _TRIAL), hide_parameters=True)

    def connect() -> None:
        with translated(url), trial.connect():
            pass

    circuit = Circuit(connect)
    watch(engine, circuit)
    return circuit


def _patience(url: URL, timeout: timedelta) -> dict[str, Any]:
    """Return for how long to wait for a connection, and for a network that is silent, unless the URL says it."""
    if not url.get_driver_name().startswith("psycopg"):
        return {}
    # Whole seconds, of which libpq takes 2 at least.
    seconds = max(2, ceil(timeout.total_seconds()))
    quiet = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": seconds * 1000}
    given = {"connect_timeout": seconds, **quiet}
    return {name: value for name, value in given.items() if name not in url.query}


def _refuse_closed(connection: Any, *_: object) -> None:
    """Refuse a connection that its server has closed: another is made. To ask it would take as long as a question."""
    try:
        # What is there is read: first the server's last words, then the end.
        connection.pgconn.consume_input()
        connection.pgconn.consume_input()
    except connection.OperationalError as error:
        raise DisconnectionError from error


def _prepare_postgresql(engine: Engine, timeout: timedelta) -> None:
    milliseconds = max(1, round(timeout.total_seconds() * 1000))

    def on_connect(connection: Any, _record: object) -> None:
        if engine.dialect.driver == "psycopg":
            from psycopg.types.array import ListBinaryDumper  # noqa: PLC0415 (the driver is an extra)

            # As text, a list of bodies takes several times as long.
            connection.adapters.register_dumper(list, ListBinaryDumper)
        # Not among the options of the connection, which a pooler between here and the server may refuse.
        cursor = connection.cursor()
        cursor.execute(f"SET lock_timeout = {milliseconds}")
        # A crawler whose machine has gone must not hold its locks for the two hours that are usual.
        cursor.execute("SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3")
        cursor.close()
        connection.commit()

    event.listen(engine, "connect", on_connect)


def _prepare_sqlite(engine: Engine) -> None:
    def on_connect(connection: sqlite3.Connection, _record: object) -> None:
        # Python's driver would begin transactions late and only before some statements: `on_begin` does it.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        # With a WAL, NORMAL can lose the last commits when the power fails, never the database.
        connection.execute("PRAGMA synchronous = NORMAL")
        # Of the pages that two batches both wrote, a log of 16 MB moves one into the file.
        connection.execute("PRAGMA wal_autocheckpoint = 4000")

    def on_begin(connection: Connection) -> None:
        # A transaction that reads first and writes later fails at once when another process wrote in between.
        writes = connection.get_execution_options().get(WRITES, False)
        _set_cache(connection, _CACHE_WRITING if writes else _CACHE_READING)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)


def _hold_to_file(engine: Engine, url: URL) -> None:
    """Refuse to go on where another file has come in the place of the one that was opened, or none.

    SQLite would write the old one, which nobody sees again, and play its log into the new one, which is damaged then
    (https://www.sqlite.org/howtocorrupt.html#_unlinking_or_renaming_a_database_file_while_in_use).
    """
    path, opened = file_of(url), list[tuple[int, int]]()
    assert path is not None

    def identity() -> tuple[int, int] | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def check(*_: object) -> None:
        if opened and identity() != opened[0]:
            raise StoreError(
                f"store {shown(url)}: its file was deleted or replaced while it was in use. Put it back, or move"
                " away what the old one left (-wal, -shm) and start again."
            )

    def on_connect(*_: object) -> None:
        if not opened and (found := identity()) is not None:
            opened.append(found)

    event.listen(engine, "do_connect", check)
    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", check, insert=True)


def _set_cache(connection: Connection, kibibytes: int) -> None:
    """Bound what a connection keeps in memory; as the pool gives one to readers and writers alike, at each begin."""
    if connection.info.get(_CACHE) != kibibytes:
        connection.exec_driver_sql(f"PRAGMA cache_size = -{kibibytes}")
        connection.info[_CACHE] = kibibytes


# SQLite's log begins anew by itself only when nobody reads from it: readers that overlap, as those of a crawl do, let
# it grow (https://www.sqlite.org/wal.html#avoiding_excessively_large_wal_files). Four of what a large batch writes, in
# bytes:
LONGEST = 128_000_000
# Reading what one page asks for takes less; those who read for longer are not waited for.
_PATIENCE_MILLISECONDS = 200


def log_of(path: Path) -> Path:
    """Return where the log of a database is."""
    return path.with_name(f"{path.name}-wal")


def is_writable(path: Path) -> bool:
    """Return whether a file or folder can be written to; the mode counts for root, too."""
    return bool(path.stat().st_mode & 0o222) and os.access(path, os.W_OK | (os.X_OK if path.is_dir() else 0))


def reading_uri(path: Path) -> str:
    """Return the URI by which SQLite reads a file now, and creates none beside it."""
    log = log_of(path)
    # One that is empty needs an index all the same, for which a full disk has no room.
    has_log = log.exists() and (log.stat().st_size > 0 or has_room(path))
    return f"{path.absolute().as_uri()}?{'mode=ro' if has_log else 'immutable=1'}"


def _takes_more(path: Path) -> bool:
    return is_writable(path) and is_writable(path.parent) and has_room(path)


def _only_read(engine: Engine, path: Path) -> None:
    """Read a file as it is; each transaction in a connection of its own, as others may begin to write."""

    def on_connect(_dialect: object, _record: object, arguments: list[Any], named: dict[str, Any]) -> None:
        arguments[0] = reading_uri(path)
        named["uri"] = True

    event.listen(engine, "do_connect", on_connect)


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


def begin(session: "Session", *, write: bool) -> None:
    """Begin a session's transaction as one that reads, or writes; it must be in none."""
    session.connection(execution_options={WRITES: write})


class Database:
    """An open database whose schema is the present one: sessions and transactions.

    Any thread may use it. A database in memory has one connection, and so one transaction at a time: a thread that
    opens a second inside its first gets a StoreError.
    """

    def __init__(self, url: URL, engine: Engine, circuit: Circuit | None = None) -> None:
        """Take an engine, and what knows whether its server can be reached, if it has one."""
        self.url = url
        self._circuit = circuit
        self._engine = engine
        self._writing_engine = engine.execution_options(**{WRITES: True})
        committing = {"isolation_level": "AUTOCOMMIT"} if engine.dialect.name == "postgresql" else {}
        self._asking_engine = engine.execution_options(**committing)
        self._file = file_of(url)
        in_memory = engine.dialect.name == "sqlite" and self._file is None
        self._turn: AbstractContextManager[object] = threading.RLock() if in_memory else nullcontext()

    def __repr__(self) -> str:
        return f"<Database {shown(self.url)}>"

    def close(self) -> None:
        """Close every connection; no transaction may be open."""
        if self._circuit is not None:
            self._circuit.close()
        self._engine.dispose()

    @contextmanager
    def session(self, *, read_only: bool = False) -> Iterator["Session"]:
        """Give a session; what it did not commit is undone at the end.

        A session holds SQLite's write lock from its first statement to its commit, unless it is read_only: then it must
        not write, and sees the store as it was at its first statement.

        Raises:
            StoreError: the database failed.
        """
        from sqlalchemy.orm import Session  # noqa: PLC0415 (no crawl needs one)

        engine = self._engine if read_only else self._writing_engine
        with self._there(), self._turn, translated(self.url), Session(engine, expire_on_commit=False) as session:
            yield session
        if not read_only:
            self._hold_log()

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[Connection]:
        """Give a connection in a transaction, committed at the end, undone by an exception.

        Raises:
            StoreError: the database failed.
        """
        with self._in(self._writing_engine if write else self._engine) as connection:
            yield connection
        if write:
            self._hold_log()

    def asking(self) -> AbstractContextManager[Connection]:
        """Give a connection for reading; PostgreSQL gets no BEGIN and COMMIT.

        Each statement sees what is committed by then, as in its default isolation level.

        Raises:
            StoreError: the database failed.
        """
        return self._in(self._asking_engine)

    @contextmanager
    def _in(self, engine: Engine) -> Iterator[Connection]:
        with self._there(), self._turn, translated(self.url), engine.begin() as connection:
            yield connection

    def rewrite_file(self) -> None:
        """Write SQLite's file anew, so that nothing that was deleted can be read in it, and empty its log.

        Raises:
            StoreError: others write or read for long, or there is no room for a second copy; the file is as it was.
        """
        if self._file is not None:
            with self.raw() as connection:
                connection.execute("VACUUM")
                empty_log(connection)
                if log_of(self._file).stat().st_size:
                    raise sqlite3.OperationalError("database is locked")

    def _hold_log(self) -> None:
        """Keep SQLite's log short; what was written is safe, whatever comes of it."""
        if self._file is not None and is_long(self._file):
            with suppress(StoreError), self.raw() as connection:
                empty_log(connection)

    @contextmanager
    def _there(self) -> Iterator[None]:
        """Refuse at once what would wait for a server that is away, and note when it goes."""
        if self._circuit is None:
            yield
            return
        self._circuit.check()
        try:
            yield
        except AwayStoreError as error:
            self._circuit.failed(error)
            raise

    @contextmanager
    def raw(self) -> Iterator[Any]:
        """Give a connection of the driver that commits by itself, for what must not be in a transaction.

        Not for a database in memory, which goes with its one connection.

        Raises:
            StoreError: the database failed.
        """
        with self._there(), translated(self.url):
            pooled = self._engine.raw_connection()
            pooled.detach()
            connection: Any = pooled.dbapi_connection
            try:
                if self._engine.dialect.name == "postgresql":
                    connection.autocommit = True
                yield connection
            except self._engine.dialect.loaded_dbapi.Error as error:
                raise DBAPIError(None, None, error) from error
            finally:
                connection.close()
