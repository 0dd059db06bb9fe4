from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dedup.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{path}", timeout=timedelta(seconds=5)) as opened:
        yield opened


@pytest.fixture
def project(store: Store) -> ProjectStore:
    return store.project("shop")
