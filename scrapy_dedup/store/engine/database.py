import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection, Engine
from sqlalchemy.exc import DBAPIError

from scrapy_dedup.store.engine.circuit import Circuit
from scrapy_dedup.store.engine.engines import WRITES, file_of
from scrapy_dedup.store.engine.errors import AwayStoreError, StoreError, shown, translated
from scrapy_dedup.store.engine.sqlite_file import empty_log, is_long, log_of

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


class Database:
    """An open database whose schema is the present one: sessions and transactions.

    Any thread may use it. A database in memory has one connection, and so one
    transaction at a time: a thread that opens a second inside its first gets a
    StoreError.
    """

    def __init__(self, url: URL, engine: Engine, circuit: Circuit | None = None) -> None:
        """Take an engine, and what knows whether its server can be reached, if it has one."""
        self.url = url
        self._circuit = circuit
        self._engine = engine
        self._writing_engine = engine.execution_options(**{WRITES: True})
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

        A session holds SQLite's write lock from its first statement to its
        commit, unless it is read_only: then it must not write, and sees the
        store as it was at its first statement.

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
        engine = self._writing_engine if write else self._engine
        with self._there(), self._turn, translated(self.url), engine.begin() as connection:
            yield connection
        if write:
            self._hold_log()

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
