"""What a crawl's store meets in benchmarks.faults, as an add-on: one fault before one statement of its writes."""

import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import psycopg
from scrapy.settings import BaseSettings
from sqlalchemy import Connection, Engine, event, make_url
from sqlalchemy.exc import OperationalError

from scrapy_dedup.store.engine.database import WRITES

COMMIT: Final = "COMMIT"
FOR_EVER: Final = 1_000_000
_IO_ERROR: Final = ("disk I/O error", psycopg.errors.IoError)
_FULL: Final = ("database or disk is full", psycopg.errors.DiskFull)
_READ_ONLY: Final = ("attempt to write a readonly database", psycopg.errors.ReadOnlySqlTransaction)
# What SQLite says, what PostgreSQL's driver raises, and for how many statements.
ERRORS: Final[dict[str, tuple[str, type[psycopg.Error], int]]] = {
    "I/O error": (*_IO_ERROR, 1),
    "I/O errors to the end": (*_IO_ERROR, FOR_EVER),
    "full disk": (*_FULL, 20),
    "full disk to the end": (*_FULL, FOR_EVER),
    "read-only to the end": (*_READ_ONLY, FOR_EVER),
}
LOCK_SECONDS: Final = 1.0
CRASH, LOCK, ANSWER_LOST, DELETED, REPLACED = "crash", "lock", "answer to COMMIT lost", "file deleted", "file replaced"
FILES: Final = (DELETED, REPLACED)
FAULTS: Final = (CRASH, *ERRORS, LOCK, ANSWER_LOST, *FILES)


class FailingStore:
    """Reads the settings FAULT, one of FAULTS or empty, FAULT_AT, the statement, and FAULT_LOG.

    The log has a line for each statement of a write, with its transaction's COMMIT; reads are not counted.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Listen to all engines of this process."""
        log = os.open(settings["FAULT_LOG"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        hook = _Hook(log, settings["DEDUP_DATABASE_URL"], settings["FAULT"], settings.getint("FAULT_AT"))
        for name in ("do_execute", "do_executemany"):
            event.listen(Engine, name, hook.execute)
        event.listen(Engine, "commit", hook.commit)


class _Hook:
    def __init__(self, log: int, url: str, fault: str | None, at: int) -> None:
        self._log = log
        self._url = url
        self._fault = fault
        self._at = at
        self._number = 0
        self._turn = threading.Lock()

    def execute(self, cursor: Any, statement: str, _parameters: Any, context: Any) -> None:
        if context.root_connection.get_execution_options().get(WRITES):
            self._before(statement, cursor.connection)

    def commit(self, connection: Connection) -> None:
        if connection.get_execution_options().get(WRITES):
            raw: Any = connection.connection.dbapi_connection
            try:
                self._before(COMMIT, raw)
            except Exception as error:
                # Raised by the driver it would be wrapped.
                raise OperationalError(COMMIT, None, error) from error

    def _before(self, statement: str, raw: Any) -> None:
        with self._turn:
            self._number += 1
            number = self._number
            os.write(self._log, f"{' '.join(statement.split())[:100]}\n".encode())
        if self._fault in ERRORS:
            message, kind, times = ERRORS[self._fault]
            if self._at <= number < self._at + times:
                raise sqlite3.OperationalError(message) if _is_sqlite(raw) else kind(message)
        elif self._fault and number >= self._at and _MEET[self._fault](self, statement, raw):
            self._fault = None

    def crash(self, _statement: str, _raw: Any) -> bool:
        os.kill(os.getpid(), signal.SIGKILL)
        return True

    def lock(self, _statement: str, _raw: Any) -> bool:
        """Take the lock in another connection, unless our own has it: then a later statement tries again."""
        url = make_url(self._url)
        try:
            if url.get_backend_name() == "sqlite":
                other: Any = sqlite3.connect(str(url.database), timeout=0, check_same_thread=False)
                other.execute("BEGIN IMMEDIATE")
            else:
                other = psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False))
                other.execute("LOCK TABLE documents IN ACCESS EXCLUSIVE MODE NOWAIT")
        except (sqlite3.Error, psycopg.Error):
            other.close()
            return False
        threading.Timer(LOCK_SECONDS, other.close).start()
        return True

    def lose_answer(self, statement: str, raw: Any) -> bool:
        if statement != COMMIT:
            return False
        self._fault = None
        raw.commit()
        if _is_sqlite(raw):
            raise sqlite3.OperationalError("disk I/O error")
        raw.close()
        raise psycopg.OperationalError("the connection was lost")

    def delete(self, _statement: str, _raw: Any) -> bool:
        for path in _files(self._url):
            path.unlink(missing_ok=True)
        return True

    def replace(self, _statement: str, _raw: Any) -> bool:
        """Put a store that has seen nothing in its place."""
        path = _files(self._url)[0]
        part = path.with_name("part.db")
        with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(part)) as new:
            old.backup(new)
            for (name,) in new.execute("SELECT name FROM sqlite_master WHERE name IN ('documents', 'visits')"):
                new.execute(f"DELETE FROM {name}")
            new.commit()
        self.delete(_statement, _raw)
        part.rename(path)
        return True


_MEET: Final[dict[str, Callable[[_Hook, str, Any], bool]]] = {
    CRASH: _Hook.crash,
    LOCK: _Hook.lock,
    ANSWER_LOST: _Hook.lose_answer,
    DELETED: _Hook.delete,
    REPLACED: _Hook.replace,
}


def _files(url: str) -> list[Path]:
    path = Path(str(make_url(url).database))
    return [path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")]


def _is_sqlite(raw: Any) -> bool:
    return isinstance(raw, sqlite3.Connection)
