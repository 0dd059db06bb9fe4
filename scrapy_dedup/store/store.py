"""The store: opened or refused."""

import uuid
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from sqlalchemy import URL, Engine, select

from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.engine.database import WRITES, Database, make_circuit, make_engine, parse_url
from scrapy_dedup.store.engine.errors import StoreError, file_of, shown, translated
from scrapy_dedup.store.engine.schema import (
    Refused,
    Schema,
    inspect_connection,
    inspect_file,
    migrate,
    refused_by_rights,
    use_log,
)
from scrapy_dedup.store.records.records import KeepPolicy
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import Project
from scrapy_dedup.store.tables.statements import insert_into
from scrapy_dedup.store.writer import ProjectStore

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

DEFAULT_TIMEOUT = timedelta(seconds=10)

_Found = TypeVar("_Found")


class Store:
    """Everything that is remembered, of all projects. Any thread may use it."""

    def __init__(self, database: Database) -> None:
        """Take a database whose schema is the present one; `Store.open` sees to that."""
        self._database = database

    @classmethod
    def open(
        cls, url: str | URL, *, timeout: timedelta = DEFAULT_TIMEOUT, create: bool = True, write: bool = True
    ) -> Self:
        """Open the store; create or upgrade its schema if need be.

        Args:
            url: a SQLite file, `sqlite://` for one in memory, or a PostgreSQL database.
            timeout: how long to wait for the lock of another process, now and later.
            create: make a store that does not exist, as one in memory never does before.
            write: refuse one that cannot be written to now; without it one that is read-only, or locked, is read.

        Raises:
            StoreError: it cannot be opened, or must not be; then it is as it was.
        """
        parsed = parse_url(url)
        with translated(parsed):
            engine = _open(parsed, timeout, create=create, write=write)
            return cls(Database(parsed, engine, make_circuit(parsed, engine)))

    def __repr__(self) -> str:
        return f"<Store {shown(self._database.url)}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; no transaction may be open."""
        self._database.close()

    def session(self, *, read_only: bool = False) -> AbstractContextManager["Session"]:
        """Give a session for the repositories, see `Database.session`."""
        return self._database.session(read_only=read_only)

    def project(self, name: str, keep: KeepPolicy | None = None) -> ProjectStore:
        """Return the project's part of the store; a project that is new is added."""
        name = column_text(name)
        return ProjectStore(self._database, self._project_id(name), name, keep or KeepPolicy())

    def find_project(self, name: str) -> ProjectStore | None:
        """Return the project's part of the store, None when there is no such project."""
        name = column_text(name)
        with self._database.transaction() as connection:
            found = connection.scalar(select(Project.id).where(Project.name == name))
        return ProjectStore(self._database, found, name, KeepPolicy()) if found else None

    def project_names(self) -> dict[uuid.UUID, str]:
        """Return the names of all projects by their ids, in the order of names; it counts nothing."""
        with self._database.transaction() as connection:
            rows = connection.execute(select(Project.id, Project.name).order_by(by_code_point(Project.name)))
            return {project_id: name for project_id, name in rows}  # noqa: C416 (rows are typed, pairs are not)

    def _project_id(self, name: str) -> uuid.UUID:
        find = select(Project.id).where(Project.name == name)
        with self._database.transaction() as connection:
            found = connection.scalar(find)
        if found:
            return found
        with self._database.transaction(write=True) as connection:
            connection.execute(insert_into(connection, Project).on_conflict_do_nothing(), {"name": name})
            return connection.scalars(find).one()


def _open(url: URL, timeout: timedelta, *, create: bool, write: bool) -> Engine:
    path = file_of(url)
    found = _allowed(url, inspect_file(path, timeout) if path else inspect_other(url, timeout))
    if found is Schema.EMPTY and not create:
        raise StoreError(f"store {shown(url)}: there is none yet. Run a crawl first, or check DEDUP_DATABASE_URL.")
    if path and (write or found is not Schema.CURRENT):
        _allowed(url, _prepare_file(path, timeout))
    engine = make_engine(url, timeout, write=write)
    try:
        if found is not Schema.CURRENT:
            _allowed(url, migrate(engine))
        if write:
            # Only taking the write lock shows whether another process lets go of it in time.
            with engine.execution_options(**{WRITES: True}).connect() as connection:
                connection.begin().rollback()
    except BaseException:
        engine.dispose()
        raise
    return engine


def _allowed(url: URL, found: _Found | Refused) -> _Found:
    if isinstance(found, Refused):
        raise StoreError(f"store {shown(url)}: {found}")
    return found


def inspect_other(url: URL, timeout: timedelta) -> Schema | Refused:
    """Judge a database in memory or on a server."""
    engine = make_engine(url, timeout)
    try:
        with engine.connect() as connection:
            return inspect_connection(connection)
    finally:
        engine.dispose()


def _prepare_file(path: Path, timeout: timedelta) -> Refused | None:
    if refused := refused_by_rights(path):
        return refused
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return Refused(f"its folder cannot be created ({error.strerror})", "Name another in DEDUP_DATABASE_URL.")
    return use_log(path, timeout)
