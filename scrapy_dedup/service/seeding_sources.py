"""Which of the readers a file or a folder is for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Final, Literal

from scrapy_dedup.service.seeding_deltafetch import Database, is_database, read_database
from scrapy_dedup.service.seeding_httpcache import entries_in, read_cache
from scrapy_dedup.service.seeding_lines import Fields, read_lines
from scrapy_dedup.service.seeding_pages import Advance, Found, SeedError
from scrapy_dedup.settings import Settings

Format = Literal["jsonl", "httpcache", "deltafetch"]
FORMATS: Final[tuple[Format, ...]] = ("httpcache", "jsonl", "deltafetch")
"""In the order in which they are read: whole pages first, then items, which join them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What holds for all sources of a call.

    Attributes:
        latest: no page is younger.
        urls: files with the URLs that are looked up in databases of deltafetch.
    """

    settings: Settings
    fields: Fields
    latest: datetime
    urls: Sequence[Path] = ()


@dataclass(slots=True)
class Source:
    """A file or folder of an earlier crawl.

    Attributes:
        total: how much is read of it, in what `Advance` is told.
        databases: of deltafetch, once it was read.
    """

    path: Path
    format: Format
    total: int
    databases: list[Database] = field(default_factory=list)

    def read(self, reading: Reading, advance: Advance) -> Iterator[Found]:
        """Iterate over what it holds.

        Raises:
            SeedError: it cannot be read at all.
        """
        return _READERS[self.format](self, reading, advance)


def find_sources(paths: Sequence[Path], wanted: Format | None, reading: Reading) -> list[Source]:
    """Return the sources in the order in which they are read.

    Args:
        paths: of files and folders.
        wanted: what they are; None: find out.
        reading: what holds for all.

    Raises:
        SeedError: one of them cannot be read, or is not what it should be.
    """
    for path in reading.urls:
        if not path.is_file():
            raise SeedError(f"{path}: is no file; --urls needs one with a URL or an item a line")
    found = [Source(path, kind, _total(path, kind, reading)) for path in paths for kind in [wanted or _format(path)]]
    for source in found:
        _check(source, reading)
    return sorted(found, key=lambda source: FORMATS.index(source.format))


def _format(path: Path) -> Format:
    if path.is_dir():
        return "httpcache"
    if is_database(path):
        return "deltafetch"
    if path.is_file():
        return "jsonl"
    raise SeedError(f"{path}: there is no such file or folder")


def _total(path: Path, kind: Format, reading: Reading) -> int:
    if kind == "httpcache":
        return sum(1 for _ in entries_in(path))
    return sum(one.stat().st_size for one in (reading.urls if kind == "deltafetch" else [path]) if one.is_file())


def _check(source: Source, reading: Reading) -> None:
    """Tell what cannot work before anything is written."""
    path = source.path
    if source.format == "jsonl" and not path.is_file():
        raise SeedError(f"{path}: is no file of JSON lines")
    if source.format == "deltafetch" and not is_database(path):
        raise SeedError(f"{path}: is no database of deltafetch")
    if source.format == "deltafetch" and not reading.urls:
        raise SeedError(
            f"{path}: deltafetch keeps fingerprints of requests, not URLs; give the URLs by --urls FILE, one a line, "
            "or the items of the earlier crawls as JSON lines, and those that it knows are seeded"
        )
    if source.format == "httpcache" and not source.total:
        some = next(islice(path.glob("*.db*"), 1), None) if path.is_dir() else None
        hint = f"; if it is a database of deltafetch, name the file: {some}" if some else ""
        raise SeedError(f"{path}: is no HTTP cache of Scrapy in files (no entry with a file `meta`){hint}")


def _read_lines(source: Source, reading: Reading, advance: Advance) -> Iterator[Found]:
    return read_lines(source.path, reading.fields, reading.settings, reading.latest, advance)


def _read_cache(source: Source, reading: Reading, advance: Advance) -> Iterator[Found]:
    return read_cache(source.path, reading.settings, reading.latest, advance)


def _read_database(source: Source, reading: Reading, advance: Advance) -> Iterator[Found]:
    database = read_database(source.path, reading.latest)
    source.databases.append(database)
    lines = (read_lines(path, reading.fields, reading.settings, reading.latest, advance) for path in reading.urls)
    return database.matching(chain.from_iterable(lines))


_READERS: Final[dict[Format, Callable[[Source, Reading, Advance], Iterator[Found]]]] = {
    "httpcache": _read_cache,
    "jsonl": _read_lines,
    "deltafetch": _read_database,
}
