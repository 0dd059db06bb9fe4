from collections.abc import Iterator

import pytest

from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open("sqlite://") as opened:
        yield opened


@pytest.fixture
def project(store: Store) -> ProjectStore:
    return store.project("shop")
