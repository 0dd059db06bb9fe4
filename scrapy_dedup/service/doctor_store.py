"""Whether a project's store opens and takes what a crawl writes; looking leaves no trace in it."""

from datetime import timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import URL, text

from scrapy_dedup.report.numbers import short
from scrapy_dedup.service.doctor import Check, State
from scrapy_dedup.store.engines import file_of, make_engine, parse_url
from scrapy_dedup.store.errors import StoreError, shown, translated
from scrapy_dedup.store.migrating import inspect_connection
from scrapy_dedup.store.migrations import HEAD
from scrapy_dedup.store.models import Base
from scrapy_dedup.store.schema import Refused, Schema
from scrapy_dedup.store.sqlite_file import inspect_file
from scrapy_dedup.store.sqlite_log import log_of
from scrapy_dedup.store.store import Store

_KILOBYTE: Final = 1_000


def check_store(url: str, timeout: timedelta) -> Check:
    """Say how a store is; one that does not exist is not created, and an older one not brought up to date."""
    try:
        parsed = parse_url(url)
        with translated(parsed):
            return _check(parsed, timeout)
    except StoreError as error:
        return _refused(str(error))


def _check(url: URL, timeout: timedelta) -> Check:
    path = file_of(url)
    found = inspect_file(path, timeout, Base.metadata.tables) if path else _inspect(url, timeout)
    if isinstance(found, Refused):
        return Check("store", State.WRONG, f"{shown(url)}: {found.reason}", found.way_out)
    if found is Schema.EMPTY:
        return Check("store", State.OK, f"{shown(url)}: there is none yet, the first crawl creates it")
    size = _size(url, path, timeout)
    if found is Schema.OLDER:
        return Check("store", State.OK, f"{shown(url)}: of an older version, the next crawl upgrades it; {size}")
    with Store.open(url, timeout=timeout, create=False):
        return Check("store", State.OK, f"{shown(url)}: can be written to, schema {HEAD}, {size}")


def _inspect(url: URL, timeout: timedelta) -> Schema | Refused:
    engine = make_engine(url, timeout)
    try:
        with engine.connect() as connection:
            return inspect_connection(connection)
    finally:
        engine.dispose()


def _size(url: URL, path: Path | None, timeout: timedelta) -> str:
    """Return how large a store is, as it is told."""
    if path is not None:
        files = (path, log_of(path))
        return _bytes(sum(file.stat().st_size for file in files if file.exists()))
    engine = make_engine(url, timeout)
    try:
        with engine.connect() as connection:
            size = connection.scalar(text("SELECT pg_database_size(current_database())"))
    finally:
        engine.dispose()
    return _bytes(int(size or 0))


def _bytes(number: int) -> str:
    return f"{short(number)}B" if number >= _KILOBYTE else f"{number} B"


def _refused(message: str) -> Check:
    """Divide an error of the store into what is wrong, and the way out, which comes last."""
    problem, _, remedy = message.removeprefix("store ").rpartition(". ")
    return Check("store", State.WRONG, problem or message, remedy)
