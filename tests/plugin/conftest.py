from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


@pytest.fixture
def path(tmp_path) -> Path:
    """The file of the store."""
    return tmp_path / "dedup.db"


@pytest.fixture
def project(path) -> Iterator[ProjectStore]:
    """A project in a store that waits for no lock."""
    with Store.open(f"sqlite:///{path}", timeout=timedelta(milliseconds=100)) as store:
        yield store.project("shop")
