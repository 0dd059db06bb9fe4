"""`content_index.json`: one line for each page, written and read in parts, so that no index is too large."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypedDict

from scrapy_dedup.service.cache_files import CacheFileError, open_file, read_bytes, replacing, url_hash
from scrapy_dedup.service.cache_files import extraction_file as in_extractions
from scrapy_dedup.service.cache_files import metadata_file as in_metadata

# An index that somebody wrote anew, in another form, is read as a whole.
_MAX_WHOLE_BYTES: Final = 64_000_000
_MAX_LINE_BYTES: Final = 1_000_000
# So begins an index that this module wrote; others have blanks before a URL.
_OURS: Final = b'{\n"'


class UrlRecord(TypedDict):
    """What the index says of a URL.

    Attributes:
        content_hash: SHA-256 of the normalised main content, 64 hexadecimal digits; "" where it is not known.
        last_extracted: ISO 8601.
        extraction_file: path in the tree of an export.
        metadata_file: likewise.
        url_hash: the first 12 hexadecimal digits of the URL's SHA-256.
    """

    content_hash: str
    last_extracted: str
    extraction_file: str
    metadata_file: str
    url_hash: str


class Entry(NamedTuple):
    """A line of the index, as far as it can be believed."""

    url: str
    content_hash: str
    extraction_file: str


def url_record(url: str, content_hash: str, last_extracted: str, stem: str | None = None) -> UrlRecord:
    """Return the record of a page whose files have this name; None: the name that a URL has by itself."""
    name = stem or url_hash(url)
    return UrlRecord(
        content_hash=content_hash,
        last_extracted=last_extracted,
        extraction_file=in_extractions(name),
        metadata_file=in_metadata(name),
        url_hash=url_hash(url),
    )


class IndexWriter:
    """Writes records as they come."""

    def __init__(self, opened: IO[bytes]) -> None:
        self._opened = opened
        self._any = False

    def add(self, url: str, record: UrlRecord) -> None:
        """Write the record of a URL that has none yet."""
        # In ASCII: a URL may hold a lone surrogate.
        line = f"{json.dumps(url)}: {json.dumps(record)}"
        self._opened.write(("{\n" if not self._any else ",\n").encode() + line.encode())
        self._any = True

    def end(self) -> None:
        """Write what comes after the last record."""
        self._opened.write(b"\n}\n" if self._any else b"{}\n")


@contextmanager
def writing(path: Path) -> Iterator[IndexWriter]:
    """Give what writes an index in place of another, once all of it is there."""
    with replacing(path) as opened:
        index = IndexWriter(opened)
        yield index
        index.end()


def check_index(path: Path) -> int:
    """Return how many entries an index has, all of them sound.

    Raises:
        MissingFileError: there is no index.
        CacheFileError: it is damaged or truncated.
    """
    return sum(1 for _ in read_index(path))


def is_empty(path: Path) -> bool:
    """Return whether there is a sound index without any entry."""
    try:
        return check_index(path) == 0
    except CacheFileError:
        return False


def read_index(path: Path) -> Iterator[Entry]:
    """Iterate over an index, line by line where this module wrote it; for what it raises see `check_index`."""
    with open_file(path) as opened:
        start = opened.read(len(_OURS))
        opened.seek(len(_OURS) - 1)
        if start == _OURS:
            yield from _lines(opened)
            return
    yield from _whole(path)


def _lines(opened: IO[bytes]) -> Iterator[Entry]:
    number, ended = 1, False
    while line := opened.readline(_MAX_LINE_BYTES):
        number += 1
        if line.strip() == b"}":
            ended = True
            break
        try:
            ((url, record),) = json.loads(b"{" + line.strip().removesuffix(b",") + b"}").items()
        except (ValueError, RecursionError) as error:
            raise CacheFileError(f"is damaged in line {number}") from error
        yield _entry(url, record)
    if not ended or opened.read(_MAX_LINE_BYTES).strip():
        raise CacheFileError("is truncated")


def _whole(path: Path) -> Iterator[Entry]:
    try:
        found = json.loads(read_bytes(path, _MAX_WHOLE_BYTES))
    except (ValueError, RecursionError) as error:
        raise CacheFileError("is damaged or truncated: it is not JSON") from error
    if not isinstance(found, dict):
        raise CacheFileError("is damaged: it holds no JSON object")
    for url, record in found.items():
        yield _entry(url, record)


def _entry(url: str, record: Any) -> Entry:
    names = ("content_hash", "extraction_file")
    if not isinstance(record, dict) or not all(isinstance(record.get(name), str) for name in names):
        raise CacheFileError(f"is damaged: {url[:100]!r} has no record with {' and '.join(names)}")
    return Entry(url, record["content_hash"], record["extraction_file"])
