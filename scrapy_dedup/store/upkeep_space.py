"""Gives the space of removed rows back: SQLite writes its file anew, PostgreSQL marks it for use."""

import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import func, select

from scrapy_dedup.store.base import Base
from scrapy_dedup.store.columns import now
from scrapy_dedup.store.database import Database
from scrapy_dedup.store.engines import file_of
from scrapy_dedup.store.errors import free_bytes
from scrapy_dedup.store.models import CrawlRun

# Below this share the file is not worth being written anew: crawls use what is free in it.
_WORTH_IT: Final = 0.05
# A run that was heard of so lately is under way.
_HEARD: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Space:
    """What a store takes up on its disk.

    Attributes:
        before: bytes, before what was done.
        after: bytes, now.
        unused: bytes inside that the next crawls fill; None where that is not known.
        kept_because: why nothing was given back; None where something was.
    """

    before: int
    after: int
    unused: int | None = None
    kept_because: str | None = None


def space_of(database: Database) -> Space | None:
    """Return what a store takes up; None for one in memory."""
    if database.url.get_backend_name() == "sqlite" and file_of(database.url) is None:
        return None
    with database.raw() as connection:
        size, unused = _sizes(connection, database)
    return Space(size, size, unused)


def give_back(database: Database) -> Space | None:
    """Give back what is not used; None for a store in memory. It holds up whoever writes, so not while a crawl does.

    Raises:
        StoreError: the database failed; then it is as it was.
    """
    path = file_of(database.url)
    if path is None and database.url.get_backend_name() == "sqlite":
        return None
    if path is None:
        return _vacuum_tables(database)
    is_crawled = _is_crawled(database)
    with database.raw() as connection:
        size, unused = _sizes(connection, database)
        kept_because = _why_not(path, size, unused or 0)
        if is_crawled:
            kept_because = "a crawl is under way"
        if kept_because is None:
            try:
                connection.execute("VACUUM")
                # The log holds a copy of it all.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except connection.OperationalError as error:
                kept_because = f"SQLite says: {error}"
        after, unused = _sizes(connection, database)
    return Space(size, after, unused, kept_because)


def _why_not(path: Path, size: int, unused: int) -> str | None:
    if unused < size * _WORTH_IT:
        return f"less than {_WORTH_IT:.0%} of the file is unused"
    # SQLite makes the new file in a folder for temporary files, and copies it through its log.
    needed = size - unused
    temporary = os.environ.get("SQLITE_TMPDIR") or os.environ.get("TMPDIR") or "/var/tmp"  # noqa: S108 (as SQLite looks)
    for folder in (path.parent, Path(temporary)):
        free = free_bytes(folder / "x")
        if free is not None and free < 2 * needed:
            return f"writing the file anew needs {2 * needed} bytes in {folder}, and {free} are free"
    return None


def _vacuum_tables(database: Database) -> Space:
    with database.raw() as connection:
        before, _ = _sizes(connection, database)
        for name in Base.metadata.tables:
            connection.execute(f'VACUUM (ANALYZE) "{name}"')
        after, _ = _sizes(connection, database)
    return Space(before, after)


def _sizes(connection: Any, database: Database) -> tuple[int, int | None]:
    """Return how many bytes a store takes up, and how many of them are unused."""
    if database.url.get_backend_name() == "sqlite":
        pages, unused, page_bytes = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        return pages * page_bytes, unused * page_bytes
    tables = ", ".join(f"'\"{name}\"'" for name in Base.metadata.tables)
    query = f"SELECT coalesce(sum(pg_total_relation_size(name::regclass)), 0) FROM unnest(ARRAY[{tables}]) AS name"  # noqa: S608 (our own names)
    return int(connection.execute(query).fetchone()[0]), None


def _is_crawled(database: Database) -> bool:
    since = now() - _HEARD
    heard = func.coalesce(CrawlRun.seen_at, CrawlRun.started_at) >= since
    under_way = select(CrawlRun.id).where(CrawlRun.status == "running", heard).limit(1)
    with database.transaction() as connection:
        return connection.execute(under_way).first() is not None
