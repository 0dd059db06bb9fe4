"""A file of values by key that the driver writes, and every executor gets a copy of: of any size, little in memory.

Spark's broadcast variables lie in each worker's memory; these do not.
"""

import os
import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, Self

_ROWS_AT_ONCE: Final = 1_000
# SQLite's bound for the values of one question was 999 once.
_ASKED_AT_ONCE: Final = 500


class LookupWriter:
    """Writes the file; whoever reads it does so when it is closed."""

    def __init__(self, path: str) -> None:
        """Begin a new file, or go on with one."""
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("CREATE TABLE IF NOT EXISTS found (key BLOB PRIMARY KEY, value TEXT) WITHOUT ROWID")
        self._rows: list[tuple[bytes, str]] = []

    def put(self, key: bytes, value: str) -> None:
        """Keep a value."""
        self._rows.append((key, value))
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._write()

    def close(self) -> None:
        """Write what is left."""
        self._write()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _write(self) -> None:
        self._database.execute("BEGIN")
        self._database.executemany("INSERT OR REPLACE INTO found VALUES (?, ?)", self._rows)
        self._database.execute("COMMIT")
        self._rows.clear()


def local_path(name: str) -> str:
    """Return where a file that the driver sent lies on this machine; what has a whole path lies there."""
    if os.path.isabs(name):  # noqa: PTH117 (a text, as sqlite3 takes it)
        return name
    from pyspark import SparkFiles  # noqa: PLC0415 (only tasks of Spark have such names)

    return SparkFiles.get(name)


def look_up(path: str, keys: Iterable[bytes]) -> dict[bytes, str]:
    """Return the values of those keys that a file has."""
    found: dict[bytes, str] = {}
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), _ASKED_AT_ONCE):
        found.update(_asked(path, wanted[start : start + _ASKED_AT_ONCE]))
    return found


def _asked(path: str, keys: Sequence[bytes]) -> list[tuple[bytes, str]]:
    marks = ", ".join("?" * len(keys))
    question = f"SELECT key, value FROM found WHERE key IN ({marks})"  # noqa: S608 (question marks only)
    return _opened(path).execute(question, keys).fetchall()


@lru_cache(maxsize=8)
def _opened(path: str) -> sqlite3.Connection:
    # Nobody writes it any more: neither locks nor a look at changes are needed.
    return sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True, check_same_thread=False)
