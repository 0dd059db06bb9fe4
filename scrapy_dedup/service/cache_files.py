"""The files of an exported cache: names that nothing in a URL can choose, writes that are whole or not at all."""

import json
import os
import re
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final, Self

from scrapy_dedup.core.errors import DedupError

INDEX: Final = "content_index.json"
KNOWLEDGE: Final = "knowledge.jsonl"
EXTRACTIONS: Final = "extractions"
METADATA: Final = "metadata"

NAME_DIGITS: Final = 12
MAX_FILE_BYTES: Final = 100_000_000
"""Of one file that holds a page; a larger one is neither written nor read."""

EXTRACTION_FILE: Final = re.compile(r"extractions/([0-9a-f]{1,64}(?:_[0-9]{1,9})?)\.json")
_CHECKSUM: Final = "checksum"
# A FIFO in place of a file would wait for ever. Windows has neither.
_READ: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_MODE: Final = 0o666


class CacheFileError(DedupError):
    """A file of the cache cannot be read; the message says why."""


class MissingFileError(CacheFileError):
    """There is no such file."""


class AlteredFileError(CacheFileError):
    """What a file holds is not what its hash was made of."""


def url_hash(url: str, digits: int = NAME_DIGITS) -> str:
    """Return the first hexadecimal digits of a URL's SHA-256."""
    return sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def extraction_file(stem: str) -> str:
    """Return where an extraction stands in the tree."""
    return f"{EXTRACTIONS}/{stem}.json"


def metadata_file(stem: str) -> str:
    """Return where a page's metadata stand in the tree."""
    return f"{METADATA}/{stem}_meta.json"


class Scratch:
    """Sets that may be larger than memory: in a temporary database, which is gone when it is closed."""

    def __init__(self) -> None:
        # Without a name SQLite keeps it in its cache, beyond that in a file that nobody else sees.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        for table, columns in (
            ("claims", "name TEXT PRIMARY KEY, times INTEGER"),
            ("texts", "key PRIMARY KEY, text TEXT"),
        ):
            self._database.execute(f"CREATE TABLE {table} ({columns}) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._database.close()

    def stem(self, url: str, digits: int = NAME_DIGITS) -> str:
        """Return a name for the files of a URL: the start of its hash, with a counter where another URL took it."""
        start = url_hash(url, digits)
        times = self.claim(start)
        return start if times == 1 else f"{start}_{times}"

    def claim(self, name: str) -> int:
        """Return how often the name was claimed, this time included."""
        statement = "INSERT INTO claims VALUES (?, 1) ON CONFLICT DO UPDATE SET times = times + 1 RETURNING times"
        return int(self._database.execute(statement, (name,)).fetchone()[0])

    def put(self, pairs: Iterable[tuple[bytes | str, str]]) -> None:
        """Remember a text for each key, in place of an earlier one."""
        written = ((key, text.encode("utf-8", "replace").decode()) for key, text in pairs)
        self._database.execute("BEGIN")
        self._database.executemany("INSERT OR REPLACE INTO texts VALUES (?, ?)", written)
        self._database.execute("COMMIT")

    def get(self, key: bytes | str) -> str | None:
        """Return the text of a key, None where there is none."""
        found = self._database.execute("SELECT text FROM texts WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None


def check_folder(path: Path) -> None:
    """Refuse what stands where a folder of ours belongs and is none.

    Raises:
        CacheFileError: it is a link, or a file.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(path.lstat().st_mode):
            raise CacheFileError(
                f"{path} is a link or a file where a folder belongs: remove it, or name another folder"
            )


def read_bytes(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return a file's bytes.

    Raises:
        MissingFileError: there is none.
        CacheFileError: it is a link, no file at all, too large, or cannot be read.
    """
    with open_file(path) as opened:
        # So many bytes are reserved before any is read.
        found = opened.read(min(limit, os.fstat(opened.fileno()).st_size) + 1)
    if len(found) > limit:
        raise CacheFileError(f"is larger than {limit:,} bytes")
    return found


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading; for what it raises see `read_bytes`."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError as error:
        raise MissingFileError("is missing") from error
    except OSError as error:
        # ELOOP is what a link that is not followed gives.
        raise CacheFileError("is a link" if path.is_symlink() else f"cannot be read ({error.strerror})") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CacheFileError("is no file")
    try:
        with os.fdopen(descriptor, "rb") as opened:
            yield opened
    except OSError as error:
        raise CacheFileError(f"cannot be read ({error.strerror})") from error


def write_file(path: Path, content: bytes) -> bool:
    """Write a file so that it is there whole or as it was before; return whether it had to be written.

    Raises:
        OSError: the disk is full, or the folder is closed to us.
    """
    with suppress(CacheFileError):
        if read_bytes(path) == content:
            return False
    with replacing(path) as opened:
        opened.write(content)
    return True


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Give a file that takes the place of another when all is written; an exception leaves the other as it was."""
    # One name for each process: what a killed one left is written over by chance alone, and read by nobody.
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(part, _WRITE, _MODE), "wb") as opened:
            yield opened
            opened.flush()
            os.fsync(opened.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def sync_folder(path: Path) -> None:
    """See to it that the names of the files in a folder outlast a power failure, where the system can do so."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def to_bytes(value: dict[str, Any], *, sealed: bool = False) -> bytes:
    """Return JSON for people and programs; sealed, it tells by itself when it was altered."""
    if sealed:
        value = {**value, _CHECKSUM: _checksum(value)}
    text = json.dumps(value, indent=1, ensure_ascii=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can write
        return json.dumps(value, indent=1).encode() + b"\n"


def from_bytes(content: bytes, *, sealed: bool = False) -> dict[str, Any]:
    """Return the object that `to_bytes` was given.

    Raises:
        AlteredFileError: its checksum is that of other content.
        CacheFileError: it is not JSON, or no object.
    """
    try:
        value = json.loads(content)
        if not isinstance(value, dict):
            raise CacheFileError("holds no JSON object")
        if sealed and value.pop(_CHECKSUM, None) != _checksum(value):
            raise AlteredFileError("was altered: its checksum is that of other content")
    except (ValueError, RecursionError) as error:
        raise CacheFileError(f"is not JSON ({_first_line(error)})") from error
    return value


def _checksum(value: dict[str, Any]) -> str:
    plain = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return sha256(plain.encode()).hexdigest()


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:100]
