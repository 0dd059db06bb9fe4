"""Databases of scrapy-deltafetch: which requests gave an item, and when.

A key is a request's fingerprint in hexadecimal digits, or what its `deltafetch_key` said; a value is a time stamp as
text. Nothing leads from a fingerprint back to its URL, so URLs have to be given, and are looked up.

The files are those of Berkeley DB (deltafetch 1), and of whatever `dbm` finds (deltafetch 2): GNU dbm, ndbm, SQLite or
its own plain files.
"""

import dbm
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha1
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from scrapy import Request
from scrapy.utils.request import fingerprint
from w3lib.url import canonicalize_url

from scrapy_dedup.service.seeding_berkeley import BerkeleyError, is_berkeley, read_pairs
from scrapy_dedup.service.seeding_pages import Found, FoundPage, SeedError, instant

SQLITE: Final = b"SQLite format 3\0"
_HEAD_BYTES: Final = 32
# A database of several files is named without these.
_PARTS: Final = (".dat", ".dir", ".pag", ".bak")
_FINGERPRINT: Final = re.compile(rb"[0-9a-f]{40}")
_HTTP_CACHE: Final = re.compile(rb"[0-9a-f]{40}_(?:data|time)")


@dataclass(slots=True)
class Database:
    """The keys of a database, with the time stamps; some 200 bytes of memory each.

    Attributes:
        own_keys: those that are no fingerprints, but the spider's `deltafetch_key`.
        matched: those that a URL was found for.
        unknown_urls: how many URLs the database does not have.
    """

    path: Path
    seen: dict[bytes, datetime]
    own_keys: int = 0
    matched: set[bytes] = field(default_factory=set)
    unknown_urls: int = 0

    def matching(self, found: Iterable[Found]) -> Iterator[Found]:
        """Iterate over the pages that the database has, each seen when it says; what is no page is passed on."""
        for one in found:
            if not isinstance(one, FoundPage):
                yield one
                continue
            key = next((key for key in keys_of(one) if key in self.seen), None)
            if key is None:
                self.unknown_urls += 1
            else:
                self.matched.add(key)
                yield replace(one, at=self.seen[key])


def read_database(path: Path, latest: datetime) -> Database:
    """Read all keys.

    Args:
        path: of the file; of a database of several files without .dat, .dir or .pag, or of one of them.
        latest: no page is younger.

    Raises:
        SeedError: it cannot be read, or is none of deltafetch.
    """
    database = Database(path, {})
    oldest = datetime.fromtimestamp(0, UTC)
    try:
        for key, value in _pairs(path):
            if _HTTP_CACHE.fullmatch(key):
                raise SeedError(
                    f"{path}: is an HTTP cache in a dbm database, whose pages are pickles; they could run code, and "
                    "are not read. Seed the items that were made of them, or a cache with "
                    "HTTPCACHE_STORAGE = 'scrapy.extensions.httpcache.FilesystemCacheStorage'."
                )
            database.own_keys += not _FINGERPRINT.fullmatch(key)
            try:
                database.seen[key] = instant(float(value), latest)
            except ValueError:
                database.seen[key] = oldest  # seen, and nobody knows when
    except (OSError, sqlite3.Error, BerkeleyError, *dbm.error, *_DAMAGED) as error:
        raise SeedError(f"{path}: cannot be read as a database of deltafetch ({error}); is it complete?") from error
    return database


# What `dbm.dumb` raises for an index that was edited.
_DAMAGED: Final = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


def is_database(path: Path) -> bool:
    """Say whether a path is a dbm database of any kind."""
    path = _file_of(path)
    return bool(_head(path).startswith(SQLITE) or is_berkeley(_head(path)) or _kind(path))


def keys_of(page: FoundPage) -> list[bytes]:
    """Return under which keys deltafetch would have noted a page's request, likeliest first."""
    own = [page.key.encode("utf-8", "surrogatepass")] if page.key else []
    try:
        request = Request(page.url)
    except ValueError:
        return own
    # Until Scrapy 2.6, and after it where REQUEST_FINGERPRINTER_IMPLEMENTATION said so.
    older = sha1(f"GET{canonicalize_url(request.url)}".encode())  # noqa: S324 (a name, not a secret)
    return [*own, fingerprint(request).hex().encode(), older.hexdigest().encode()]


def _pairs(path: Path) -> Iterator[tuple[bytes, bytes]]:
    path = _file_of(path)
    head = _head(path)
    if head.startswith(SQLITE):
        return _from_sqlite(path)
    if is_berkeley(head):
        return read_pairs(path)
    return _from_dbm(path)


def _from_sqlite(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Read what `dbm.sqlite3` wrote, which Python has since 3.13."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        yield from connection.execute("SELECT CAST(key AS BLOB), CAST(value AS BLOB) FROM Dict")


def _from_dbm(path: Path) -> Iterator[tuple[bytes, bytes]]:
    kind = _kind(path)
    if not kind:
        raise SeedError(f"{path}: is no database of deltafetch; --format names what it is, if not that")
    try:
        module: Any = import_module(kind)
    except ImportError as error:
        raise SeedError(
            f"{path}: is a {kind} database, and this Python has no {kind}. Run the command with the Python that wrote "
            "it, or install the module (Debian and Ubuntu: apt-get install python3-gdbm)."
        ) from error
    with module.open(str(_name(path)), "r") as database:
        if hasattr(database, "firstkey"):  # GNU dbm has no cheaper way
            key = database.firstkey()
            while key is not None:
                yield key, database[key]
                key = database.nextkey(key)
        else:
            for key in database.keys():  # noqa: SIM118 (ndbm is no mapping)
                yield key, database[key]


def _kind(path: Path) -> str:
    """Return the module of `dbm` that reads a database; "" where none does."""
    name = _name(path)
    is_there = path.is_file() or any(name.with_name(name.name + part).is_file() for part in _PARTS)
    return (dbm.whichdb(str(name)) or "") if is_there else ""


def _name(path: Path) -> Path:
    """Return by what a database is named of which this is a part."""
    return path.with_suffix("") if path.suffix in _PARTS else path


def _file_of(path: Path) -> Path:
    """Return the file that was written for a name: `dbm.ndbm` over Berkeley DB adds a suffix of its own."""
    suffixed = path.with_name(path.name + ".db")
    return suffixed if not path.exists() and suffixed.is_file() else path


def _head(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)
