"""What can go wrong with the store, told in words that say what to do."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import URL
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError, SQLAlchemyError, StatementError

from scrapy_dedup.core.errors import DedupError

_LONGEST_CAUSE = 300

_CHANGED = "The database was changed by something else: restore a copy, or move it away."
FREE_SPACE = "Free space on the disk; what was committed is safe."
# PostgreSQL's code for a full disk; of SQLite's messages the first is plain, the second may mean anything.
_DISK_FULL: Final = "53100"
_FULL_WORDS: Final = ("disk is full", "no space left", "could not write init file")
"""The last are PostgreSQL's where a new connection finds no room for its cache of the catalogue."""
_IO_ERROR: Final = "disk i/o error"
_READ_ONLY: Final = "readonly"
_NEXT_TO_NOTHING: Final = 65_536
# PostgreSQL's codes for a connection that failed, a server that stops, starts, or has too many connections.
_NO_CONNECTION: Final = ("08", "57P01", "57P02", "57P03", "53300")
# Words of a driver's message that says that others are at it.
_BUSY: Final = ("locked", "lock timeout", "deadlock")
# Words of a driver's message -> the way out; the first that occurs wins.
_LOCKED = "Another process held the database longer than DEDUP_DATABASE_TIMEOUT: end it, or allow more seconds."
_ADVICE = (
    ("locked", _LOCKED),
    ("lock timeout", _LOCKED),
    ("deadlock", "Another program writes to these tables in its own order; trying again helps."),
    (_READ_ONLY, "Give this process the right to write to the file and to its folder."),
    ("read-only", "Give this process the right to write to it."),
    ("disk is full", FREE_SPACE),
    ("no space left", FREE_SPACE),
    ("unable to open", "SQLite writes beside a file that it reads: give this process the right to, or copy it."),
    ("malformed", "The database is damaged: restore a copy, or move it away and crawl again."),
    ("not a database", "Name another file in DEDUP_DATABASE_URL, or move this one away."),
    ("no such table", _CHANGED),
    ('relation "', _CHANGED),
    ("permission denied", "Give this user the right to create tables, and to read and write them."),
    ("authentication failed", "Check user and password in DEDUP_DATABASE_URL; write @ in a password as %40."),
    ("no password", "Name user and password in DEDUP_DATABASE_URL."),
    ('database "', "Create the database, with `createdb NAME`, or name another in DEDUP_DATABASE_URL."),
    ("refused", "Start the server, or name another in DEDUP_DATABASE_URL."),
)
_REFUSED = "The database can be reached, and refuses a value: nothing of this was written; please report the message."
_OTHER_ADVICE = "Check DEDUP_DATABASE_URL and that the database can be reached."


class StoreError(DedupError):
    """The store could not be opened, read or written.

    The message names the store's URL without its password, what is wrong, and what to do. Nothing was deleted.
    """


class FullStoreError(StoreError):
    """There is no room on the store's disk; what was committed is safe, and reading goes on.

    Attributes:
        free_bytes: what is free there; None for a server's disk, which cannot be seen from here.
    """

    def __init__(self, message: str, free_bytes: int | None) -> None:
        super().__init__(message)
        self.free_bytes = free_bytes


class AwayStoreError(StoreError):
    """The store's server cannot be reached; it is tried once a second."""


class BusyStoreError(StoreError):
    """Others hold what is needed; trying again may help."""


class RefusedStoreError(StoreError):
    """The database refuses a value; what else was to be written with it can be, without it."""


class DamagedStoreError(StoreError):
    """What was asked for cannot be unpacked; other parts of the store may be whole."""


class DamagedError(ValueError):
    """Stored bytes are not what was stored; whoever knows the store's URL makes a StoreError of it."""


def shown(url: URL) -> str:
    """Return the URL as messages may show it: without passwords, wherever they stand."""
    secret = {name: "***" for name in url.query if "password" in name.lower()}
    return url.update_query_dict(secret).render_as_string(hide_password=True)


def file_of(url: URL) -> Path | None:
    """Return the SQLite file that the URL names; None for a database in memory or on a server."""
    if url.get_backend_name() != "sqlite" or url.database in {None, "", ":memory:"}:
        return None
    return Path(str(url.database)).absolute()


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """Turn what SQLAlchemy and the codec raise inside into a StoreError."""
    try:
        yield
    except (DamagedError, UnicodeDecodeError) as error:
        # SQLite's own message names what is damaged, which may be no text any more.
        raise DamagedStoreError(f"store {shown(url)}: {error}. {advice('malformed')}") from error
    except SQLAlchemyError as error:
        # `orig` is the driver's own words; str(error) would add the statement and its values, and so do PostgreSQL's
        # further lines.
        cause = str(getattr(error, "orig", None) or error)
        first_line = cause.partition("\n")[0].rstrip(".")[:_LONGEST_CAUSE]
        path = file_of(url)
        if is_full(cause, path) or getattr(getattr(error, "orig", None), "sqlstate", None) == _DISK_FULL:
            raise FullStoreError(f"store {shown(url)}: {first_line}. {FREE_SPACE}", free_bytes(path)) from error
        kind = _kind_of(error, url, cause)
        way_out = _REFUSED if kind is RefusedStoreError else advice(cause)
        raise kind(f"store {shown(url)}: {first_line}. {way_out}") from error


def free_bytes(path: Path | None) -> int | None:
    """Return what is free on a file's disk; None without a file, and where the system does not say."""
    try:
        return shutil.disk_usage(path.parent).free if path is not None else None
    except OSError:
        return None


def is_full(cause: str, path: Path | None) -> bool:
    """Say whether a driver's message means that there is no room on the disk of the store's file, if it is one."""
    if any(words in cause.lower() for words in _FULL_WORDS):
        return True
    # SQLite's index of its log cannot grow, or a file was opened to be read for want of room.
    return path is not None and any(words in cause.lower() for words in (_IO_ERROR, _READ_ONLY)) and not has_room(path)


def has_room(path: Path) -> bool:
    """Say whether there is room beside a file for what SQLite needs there."""
    free = free_bytes(path)
    return free is None or free >= _NEXT_TO_NOTHING


def _kind_of(error: SQLAlchemyError, url: URL, cause: str) -> type[StoreError]:
    if _is_away(error, url):
        return AwayStoreError
    # Beside those of drivers there are SQLAlchemy's own, of values that it cannot give to a driver.
    if isinstance(error, DataError | IntegrityError) or type(error) is StatementError:
        return RefusedStoreError
    return BusyStoreError if any(words in cause.lower() for words in _BUSY) else StoreError


def _is_away(error: SQLAlchemyError, url: URL) -> bool:
    """Say whether an error means that there is no connection, rather than one that was of no use."""
    if url.get_backend_name() != "postgresql" or not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    # Without one the driver itself has failed.
    return isinstance(error, OperationalError) and (state is None or state.startswith(_NO_CONNECTION))


def advice(cause: str) -> str:
    """Return what to do about a driver's message."""
    return next((way_out for words, way_out in _ADVICE if words in cause.lower()), _OTHER_ADVICE)
