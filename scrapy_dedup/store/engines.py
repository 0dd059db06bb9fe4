"""Engines and their transactions: what SQLite and PostgreSQL need to behave alike."""

import sqlite3
from datetime import timedelta
from math import ceil
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import QueuePool, StaticPool

from scrapy_dedup.store.codec import column_text, to_json
from scrapy_dedup.store.errors import StoreError, shown

# An engine with this option opens its transactions for writing.
WRITES = "scrapy_dedup_writes"


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
    if (parsed.database or "").startswith("file:"):
        raise StoreError(f"store {shown(parsed)}: SQLite URIs are not supported. Write sqlite:///PATH.")
    return parsed


def file_of(url: URL) -> Path | None:
    """Return the SQLite file that the URL names; None for a database in memory or on a server."""
    if url.get_backend_name() != "sqlite" or url.database in {None, "", ":memory:"}:
        return None
    return Path(str(url.database)).absolute()


def make_engine(url: URL, timeout: timedelta) -> Engine:
    """Return an engine for use by several threads.

    Raises:
        StoreError: the driver is not installed.
    """
    arguments: dict[str, Any] = {"hide_parameters": True, "json_serializer": lambda value: column_text(to_json(value))}
    try:
        if url.get_backend_name() == "postgresql":
            engine = create_engine(url, pool_pre_ping=True, connect_args=_patience(url, timeout), **arguments)
            _prepare_postgresql(engine, timeout)
            return engine
        engine = create_engine(
            url,
            # In memory every thread must meet the one connection that holds the data.
            poolclass=QueuePool if file_of(url) else StaticPool,
            connect_args={"timeout": timeout.total_seconds(), "check_same_thread": False},
            **arguments,
        )
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise StoreError(f"store {shown(url)}: {error}. Run pip install 'scrapy_dedup[postgresql]'.") from error
    _prepare_sqlite(engine)
    return engine


def _patience(url: URL, timeout: timedelta) -> dict[str, Any]:
    """Return for how long to try to connect, unless the URL says so itself."""
    if "connect_timeout" in url.query or not url.get_driver_name().startswith("psycopg"):
        return {}
    # Whole seconds, of which libpq takes 2 at least.
    return {"connect_timeout": max(2, ceil(timeout.total_seconds()))}


def _prepare_postgresql(engine: Engine, timeout: timedelta) -> None:
    milliseconds = max(1, round(timeout.total_seconds() * 1000))

    def on_connect(connection: Any, _record: object) -> None:
        # Not among the options of the connection, which a pooler between here and the server may refuse.
        cursor = connection.cursor()
        cursor.execute(f"SET lock_timeout = {milliseconds}")
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
        # Keys are random: a batch touches pages all over the indexes. Of the pages that two batches both wrote,
        # a log of 16 MB moves one into the file.
        connection.execute("PRAGMA cache_size = -16000")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")

    def on_begin(connection: Connection) -> None:
        # A transaction that reads first and writes later fails at once when another process wrote in between.
        writes = connection.get_execution_options().get(WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
