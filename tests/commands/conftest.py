import shutil

import pytest

from scrapy_dedup.service.stored.analysis import DomainDedupService
from scrapy_dedup.settings import Settings
from tests.commands.running import Shop
from tests.service.stored_pages import BANNER, NOON, a_url, html_page, put


@pytest.fixture(scope="session")
def finished_shop(tmp_path_factory) -> Shop:
    """Two domains with six pages each, crawled and cleaned; the second has no boilerplate."""
    shop = Shop(tmp_path_factory.mktemp("shop"))
    with shop.open() as store:
        project = shop.project(store)
        run = project.begin_run(spider="site", jobdir=None, started_at=NOON)
        put(project, {a_url(name): html_page(name, BANNER, "Menu") for name in range(6)}, group="tea")
        put(project, {f"https://other.example/{name}": html_page(name) for name in range(6)})
        stats = {"dedup/url/dropped": 9}
        project.end_run(run.id, status="finished", reason="finished", stats=stats, finished_at=NOON)
        with store.session() as session:
            DomainDedupService(session, Settings()).analyze_project(project.id)
    return shop


@pytest.fixture
def shop(finished_shop, tmp_path) -> Shop:
    """A copy of its own for a test."""
    shutil.copytree(finished_shop.folder, tmp_path, dirs_exist_ok=True)
    return Shop(tmp_path)
