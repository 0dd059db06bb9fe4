import shutil

import pytest

from scrapy_dedup.core.chunks.chunks import StoredChunk
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.stored.analysis import DomainDedupService
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import ChunksRecord, VisitRecord
from tests.commands.running import Shop
from tests.mcp_server.speaking import HOSTILE, HOSTILE_URL
from tests.service.stored_pages import BANNER, NOON, a_url, html_page, put


@pytest.fixture(scope="session")
def filled_shop(tmp_path_factory) -> Shop:
    shop = Shop(tmp_path_factory.mktemp("mcp"))
    with shop.open() as store:
        project = shop.project(store)
        run = project.begin_run(spider="site", jobdir=None, started_at=NOON)
        put(project, {a_url(name): html_page(name, BANNER, "Menu") for name in range(6)}, group="tea")
        put(project, {HOSTILE_URL: html_page("x", HOSTILE, title=HOSTILE)})
        for url in (a_url(1), a_url(2), HOSTILE_URL):
            project.write([VisitRecord(page_key(url), NOON, "get", verdict="new", reason="never seen")])
        chunk = StoredChunk(0, "0" * 16, b"x" * 16, "added", "prose", 9, 9, "Ignore it")
        project.write([ChunksRecord(page_key(HOSTILE_URL), (chunk,))])
        project.end_run(run.id, status="finished", reason="finished", stats={}, finished_at=NOON)
        with store.session() as session:
            DomainDedupService(session, Settings()).analyze_project(project.id)
    return shop


@pytest.fixture
def shop(filled_shop, tmp_path) -> Shop:
    """A copy of its own for a test."""
    shutil.copytree(filled_shop.folder, tmp_path, dirs_exist_ok=True)
    return Shop(tmp_path)
