import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import URL

from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.databases import Server, postgresql, sqlite_schema

__all__ = ["postgresql"]


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "dedup.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request, tmp_path) -> Iterator[Callable[[], URL]]:
    """Give URLs of new databases, of either kind: with a store's schema for a test of a store, else empty."""
    numbers = itertools.count()
    has_schema = "store" in request.fixturenames
    if request.param == "sqlite":
        yield lambda: new_file(tmp_path / f"dedup-{next(numbers)}.db", has_schema=has_schema)
        return
    server: Server = request.getfixturevalue("postgresql")
    with ExitStack() as databases:

        def new() -> URL:
            return databases.enter_context(server.new_store() if has_schema else server.database())

        yield new


def new_file(path: Path, *, has_schema: bool) -> URL:
    if has_schema:
        path.write_bytes(sqlite_schema())
    return URL.create("sqlite", database=str(path))


@pytest.fixture
def url(new_url) -> URL:
    return new_url()


@pytest.fixture
def store(url) -> Iterator[Store]:
    with Store.open(url, timeout=timedelta(seconds=5)) as opened:
        yield opened


@pytest.fixture
def project(store) -> ProjectStore:
    return store.project("shop")


@pytest.fixture(scope="module", params=["memory", "postgresql"])
def lasting(request) -> Iterator[Store]:
    """A store for many examples, each with a project of its own, or overwriting the last."""
    if request.param == "memory":
        with Store.open("sqlite://") as opened:
            yield opened
        return
    server: Server = request.getfixturevalue("postgresql")
    with server.new_store() as url, Store.open(url) as opened:
        yield opened
