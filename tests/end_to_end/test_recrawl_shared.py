import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from scrapy_dedup.store.store import Store
from tests.databases import Server, postgresql
from tests.end_to_end.crawling import ADDON, Project, all_accounted_for, lines_of
from tests.end_to_end.recrawl_site import ChangingSite
from tests.server import Answer, serving

__all__ = ["postgresql"]

PAGES = 7


@pytest.fixture
def database_url(postgresql: Server) -> Iterator[str]:
    """One file of SQLite that two crawls share is in `test_workers.py`."""
    with postgresql.database() as url:
        yield url.render_as_string(hide_password=False)


def completed(database_url: str) -> int:
    with Store.open(database_url) as store, store.session(read_only=True) as session:
        return int(session.scalar(text("SELECT count(*) FROM documents WHERE status = 'completed'")) or 0)


def test_crawler_sees_what_another_one_has_written(database_url, tmp_path):
    """While that one is still under way."""
    settings = {**ADDON, "DEDUP_DATABASE_URL": database_url, "DEDUP_BATCH": {"pages": 2}, "FEEDS": {}}
    one, other = (Project(tmp_path / name, settings) for name in ("one", "other"))
    with serving(1, lambda _: {}) as server:
        site = ChangingSite(server, PAGES - 1)
        let_go = threading.Event()
        slow = Answer(site.html("slow"), until=let_go)
        site.publish(menu=["slow"], others={"/slow": slow})

        running = one.start("walker", "-a", f"start={site.url('')}")
        running.wait_for(lambda: len(lines_of(one.folder / "stored.jsonl")) == PAGES)
        running.wait_for(lambda: completed(database_url) == PAGES)
        site.publish(menu=["slow"], others={"/slow": Answer(site.html("slow"))})
        second = site.crawl(other)
        is_under_way = running.process.poll() is None
        let_go.set()
        first = running.finish()

    assert is_under_way
    verdict = {url: report["verdict"] for url, report in second.reports.items()}
    assert verdict == dict.fromkeys(site.everything, "unchanged") | {site.url("slow"): "new"}
    assert len(first.stored) == PAGES + 1
    all_accounted_for(first)
