import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from scrapy_dedup.service.jobs import Jobs
from scrapy_dedup.settings import Settings
from scrapy_dedup.web.server import Server
from tests.commands.running import PROJECT, Shop
from tests.web.served import SETTINGS, Served, fill


@pytest.fixture(scope="session")
def filled_shop(tmp_path_factory) -> Shop:
    return fill(tmp_path_factory.mktemp("filled"))


@contextmanager
def serving(filled: Shop, folder: Path) -> Iterator[Served]:
    shutil.copytree(filled.folder, folder, dirs_exist_ok=True)
    shop = Shop(folder)
    with shop.open() as store, closing(Jobs()) as jobs:
        yield Served(shop, store, Server(store, Settings.read(SETTINGS), PROJECT, jobs, folder=folder))


@pytest.fixture
def served(filled_shop, tmp_path) -> Iterator[Served]:
    """A copy of the store, served to one test."""
    with serving(filled_shop, tmp_path) as found:
        yield found


@pytest.fixture(scope="session")
def reader(filled_shop, tmp_path_factory) -> Iterator[TestClient]:
    """A client of one application, for all that changes nothing: to make one takes longer than many answers."""
    with serving(filled_shop, tmp_path_factory.mktemp("read")) as found:
        yield found.client()
