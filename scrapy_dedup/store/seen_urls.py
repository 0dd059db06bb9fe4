"""The table of URLs that a queue has seen, asked from the reactor's thread: a connection of its own, and plain SQL.

SQLAlchemy costs 100 µs a question, which is twice what Scrapy spends on a request; the driver alone costs SQLite's 10.
"""

import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, suppress
from datetime import datetime, timedelta
from typing import Any, Final, Self

from sqlalchemy import URL, Connection, Engine, delete, event, func, insert, select

from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.engine.database import Database, make_engine, parse_url
from scrapy_dedup.store.engine.errors import StoreError, file_of, shown
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.tables.models import SeenScope, SeenUrl
from scrapy_dedup.store.writer import ProjectStore

_READ_AT_ONCE: Final = 20_000
# A quarter of a second of SQLite's lock; a crawl beside may write in between.
_DELETED_AT_ONCE: Final = 20_000
# Keys are random, so that hardly any page of the index is met twice in a batch: a larger cache would hold them in vain.
_CACHE_KIB: Final = 500
# For the same reason: a longer log moves more of what it holds into the file at once.
_LOG_PAGES: Final = 16_000
# The reactor waits for the answer: better none, which lets a page come twice, than a late one.
_PATIENCE_MILLISECONDS: Final = 1_000

Transactions = Callable[..., AbstractContextManager[Connection]]


class SeenTable:
    """The keys of one scope.

    `holds` is for one thread, all others for another at the same time. They raise StoreError when the database fails.
    """

    def __init__(self, transaction: Transactions, scope: int, own: "_Own | None") -> None:
        """Use `SeenTable.open`."""
        self._transaction = transaction
        self._scope = scope
        self._own = own

    @classmethod
    def open(cls, project: ProjectStore, url: str | URL, scope: str, *, timeout: timedelta) -> Self:
        """Return the table's part for a scope, which is made if it is new.

        *url* is that of the project's store, *scope* the queue's name, see `scope_name`; *timeout* is how long to wait
        for the lock of another process.
        """
        parsed = parse_url(url)
        with project.transaction(write=True) as connection:
            number = _number(connection, project.id, column_text(scope))
        if parsed.get_backend_name() == "sqlite" and file_of(parsed) is None:
            # Nobody else sees a database in memory.
            return cls(project.transaction, number, None)
        own = _Own(parsed, timeout)
        own.connect()
        return cls(own.database.transaction, number, own)

    def holds(self, key: bytes) -> bool:
        """Say whether a key was added; after an error, only once `add` or `reconnect` came through."""
        if self._own is not None:
            return self._own.holds(self._scope, key)
        with self._transaction() as connection:
            return (
                connection.scalar(
                    select(SeenUrl.fingerprint).where(SeenUrl.scope_id == self._scope, SeenUrl.fingerprint == key)
                )
                is not None
            )

    def reconnect(self) -> None:
        """Make the connection for `holds` anew if it was lost."""
        if self._own is not None:
            self._own.connect()

    def add(self, keys: Collection[bytes]) -> None:
        """Write keys; those that are there stay."""
        self.reconnect()
        if not keys:
            return
        # In their order, so that what lies side by side in the index is written at once.
        ordered = sorted(keys)
        with self._transaction(write=True) as connection:
            if connection.dialect.name == "sqlite":
                # Row by row: SQLAlchemy would make all of them first, which takes more memory than what they say.
                _driver(connection).executemany(
                    "INSERT OR IGNORE INTO seen_urls VALUES (?, ?)", ((self._scope, key) for key in ordered)
                )
                return
            # One statement: one for each key took twice as long.
            connection.exec_driver_sql(
                "INSERT INTO seen_urls SELECT %s, unnest(%s::bytea[]) ON CONFLICT DO NOTHING", (self._scope, ordered)
            )

    def count(self) -> int:
        """Return the number of keys; reads them all."""
        with self._transaction() as connection:
            return connection.scalar(select(func.count()).where(SeenUrl.scope_id == self._scope)) or 0

    def scan(self) -> Iterator[list[bytes]]:
        """Yield all keys in order, some thousands at a time; between these the store is free."""
        after = b""
        while True:
            some = (
                select(SeenUrl.fingerprint)
                .where(SeenUrl.scope_id == self._scope, SeenUrl.fingerprint > after)
                .order_by(SeenUrl.fingerprint)
                .limit(_READ_AT_ONCE)
            )
            with self._transaction() as connection:
                keys = list(connection.scalars(some))
            if not keys:
                return
            yield keys
            after = keys[-1]

    def drop(self) -> None:
        """Remove the scope and its keys."""
        drop_scope(self._transaction, self._scope)

    def close(self) -> None:
        """Close the connections."""
        if self._own is not None:
            self._own.close()


def _driver(connection: Connection) -> Any:
    """Return the driver's own connection."""
    return connection.connection.dbapi_connection


class _Own:
    """Connections apart from those of the store, with a cache that a million URLs do not fill."""

    def __init__(self, url: URL, timeout: timedelta) -> None:
        self.url = url
        engine = make_engine(_impatient(url), timeout)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _bound_cache)
        self.database = Database(url, engine)
        self._engine = engine
        self._asked: Any = None
        mark = "?" if engine.dialect.name == "sqlite" else "%s"
        self._question = f"SELECT 1 FROM seen_urls WHERE scope_id = {mark} AND fingerprint = {mark}"  # noqa: S608 (a mark)

    def connect(self) -> None:
        if self._asked is None:
            with self.database.transaction() as connection:
                # Only to see, in the words of the store, whether it can be reached.
                connection.exec_driver_sql("SELECT 1")
            self._asked = _asking(self._engine)

    def holds(self, scope: int, key: bytes) -> bool:
        if self._asked is None:
            raise StoreError(f"store {shown(self.url)}: the connection was lost")
        try:
            cursor = self._asked.cursor()
            try:
                return cursor.execute(self._question, (scope, key)).fetchone() is not None
            finally:
                cursor.close()
        except self._engine.dialect.loaded_dbapi.Error as error:
            self._forget()
            raise StoreError(f"store {shown(self.url)}: {str(error).partition(chr(10))[0]}") from error

    def close(self) -> None:
        self._forget()
        self.database.close()

    def _forget(self) -> None:
        lost, self._asked = self._asked, None
        if lost is not None:
            with suppress(self._engine.dialect.loaded_dbapi.Error):
                lost.close()


def _asking(engine: Engine) -> Any:
    """Return a connection of the driver, outside of the pool, that commits by itself."""
    pooled = engine.raw_connection()
    pooled.detach()
    connection: Any = pooled.dbapi_connection
    if engine.dialect.name == "postgresql":
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute(f"SET statement_timeout = {_PATIENCE_MILLISECONDS}")
        cursor.close()
    return connection


def _bound_cache(connection: Any, _record: object) -> None:
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")


def _impatient(url: URL) -> URL:
    """Let the system end a connection whose other end does not answer, where the driver can say so."""
    if not url.get_driver_name().startswith("psycopg") or "tcp_user_timeout" in url.query:
        return url
    return url.update_query_dict({"tcp_user_timeout": str(2 * _PATIENCE_MILLISECONDS)})


def scope_name(*, job: str | None, run: uuid.UUID) -> str:
    """Return the name of a queue: that of its JOBDIR; else it lives and dies with its run.

    *job* is the JOBDIR's name, None without one; *run* that of the process.
    """
    return f"job {job}" if job is not None else f"run {run}"


def scopes(connection: Connection, project_id: uuid.UUID) -> list[tuple[int, str, datetime]]:
    """Return number, name and beginning of a project's scopes, the oldest first."""
    columns = (SeenScope.id, SeenScope.name, SeenScope.begun_at)
    found = connection.execute(select(*columns).where(SeenScope.project_id == project_id).order_by(SeenScope.id))
    return [(number, name, begun_at) for number, name, begun_at in found]


def drop_scope(transaction: Transactions, scope: int) -> int:
    """Remove a scope and its keys, in parts between which others may write; return how many keys it had."""
    removed = 0
    while True:
        last = (
            select(SeenUrl.fingerprint)
            .where(SeenUrl.scope_id == scope)
            .order_by(SeenUrl.fingerprint)
            .offset(_DELETED_AT_ONCE - 1)
            .limit(1)
        )
        with transaction(write=True) as connection:
            until = connection.scalar(last)
            rest = delete(SeenUrl).where(SeenUrl.scope_id == scope)
            removed += connection.execute(rest if until is None else rest.where(SeenUrl.fingerprint <= until)).rowcount
            if until is None:
                connection.execute(delete(SeenScope).where(SeenScope.id == scope))
                return removed


def _number(connection: Connection, project_id: uuid.UUID, name: str) -> int:
    find = select(SeenScope.id).where(SeenScope.project_id == project_id, SeenScope.name == name)
    known = connection.scalar(find)
    if known is None:
        connection.execute(insert(SeenScope), {"project_id": project_id, "name": name, "begun_at": now()})
        known = connection.scalars(find).one()
    return known
