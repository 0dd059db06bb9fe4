from collections.abc import Iterator

import pytest

from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.databases import postgresql

__all__ = ["postgresql"]

on_both = pytest.mark.parametrize("store", ["sqlite", "postgresql"], indirect=True)
"""For tests of what each database does in its own words."""


@pytest.fixture
def store(request) -> Iterator[Store]:
    if getattr(request, "param", "sqlite") == "sqlite":
        with Store.open("sqlite://") as opened:
            yield opened
        return
    with request.getfixturevalue("postgresql").new_store() as url, Store.open(url) as opened:
        yield opened


@pytest.fixture
def project(store) -> ProjectStore:
    return store.project("shop")


@pytest.fixture(scope="module")
def lasting() -> Iterator[Store]:
    """A store for many examples, each with a project of its own."""
    with Store.open("sqlite://") as opened:
        yield opened
