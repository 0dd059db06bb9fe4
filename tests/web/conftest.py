import shutil
from collections.abc import Iterator
from contextlib import closing

import pytest

from scrapy_dedup.service.jobs import Jobs
from scrapy_dedup.settings import Settings
from scrapy_dedup.web.server import Server
from tests.commands.running import PROJECT, Shop
from tests.web.served import SETTINGS, Served, fill


@pytest.fixture(scope="session")
def filled_shop(tmp_path_factory) -> Shop:
    return fill(tmp_path_factory.mktemp("filled"))


@pytest.fixture
def served(filled_shop, tmp_path) -> Iterator[Served]:
    """A copy of the store, served to one test."""
    shutil.copytree(filled_shop.folder, tmp_path, dirs_exist_ok=True)
    shop = Shop(tmp_path)
    with shop.open() as store, closing(Jobs()) as jobs:
        server = Server(store, Settings.read(SETTINGS), PROJECT, jobs, folder=tmp_path)
        yield Served(shop, store, server)
