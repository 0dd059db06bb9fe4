"""Several crawlers of one job are one run: its figures, its end, and the pages that it did not find."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored_visits import RunFigures
from tests.end_to_end.crawling import ADDON, Crawled, Project, Running
from tests.end_to_end.recrawl_site import ChangingSite
from tests.server import WebServer, serving

pytestmark = pytest.mark.crawl


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving(1, lambda _: {}) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'shared.db'}"


@pytest.fixture
def crews(make_project: Callable[..., Project], store: str) -> list[Project]:
    settings: dict[str, Any] = {
        **ADDON,
        "DEDUP_PROJECT": "shop",
        "DEDUP_SHARED_JOB": "nightly",
        "DEDUP_STRICT_SHARED": True,
        "DEDUP_DATABASE_URL": store,
        "DEDUP_REMOVED_AFTER": 1,
        "FEEDS": {},
        "DOWNLOAD_DELAY": 0.05,
    }
    return [make_project(name, **settings) for name in ("one", "other")]


def start(project: Project, site: ChangingSite, **settings: Any) -> Running:
    return project.start("walker", "-a", f"start={site.url('')}", **settings)


def crawl(crews: list[Project], site: ChangingSite) -> list[Crawled]:
    site.server.requests.clear()
    crawled = [running.finish() for running in [start(project, site) for project in crews]]
    assert [one.errors for one in crawled] == [[], []]
    return crawled


def runs(store: str) -> list[RunFigures]:
    with Store.open(store) as opened:
        return opened.project("shop").runs()


def claims(store: str) -> int:
    with Store.open(store) as opened, opened.session(read_only=True) as session:
        return int(session.scalar(text("SELECT count(*) FROM claims")) or 0)


def removed(store: str, site: ChangingSite) -> list[str]:
    with Store.open(store) as opened:
        project = opened.project("shop")
        return sorted(
            change.url.removeprefix(f"{site.origin}/")
            for run in project.last_runs()[:1]
            for change in project.changes(run.id, verdict="removed")
            if change.url
        )


def test_two_workers_are_one_run_with_the_sum_of_their_figures(
    crews: list[Project], server: WebServer, store: str
) -> None:
    site = ChangingSite(server, pages=20)

    crawled = crawl(crews, site)

    (run,) = runs(store)
    assert (run.run.status, [worker.status for worker in run.workers]) == ("finished", ["finished", "finished"])
    for name in ("dedup/items/out", "downloader/request_count", "dedup/store/rows"):
        assert run.run.stats[name] == sum(one.stats.get(name, 0) for one in crawled)
    assert run.visits == len(site.everything)
    assert claims(store) == 0


def test_pages_that_no_worker_found_are_removed_once(crews: list[Project], server: WebServer, store: str) -> None:
    site = ChangingSite(server, pages=20)
    crawl(crews, site)
    site.names.remove("p7")
    site.publish()

    crawled = crawl(crews, site)

    assert sorted(one.count("removed/missed") for one in crawled) == [0, 1]
    assert removed(store, site) == ["p7"]
    assert [run.run.status for run in runs(store)] == ["finished", "finished"]


def test_a_run_whose_worker_was_lost_does_not_say_what_is_missing(
    crews: list[Project], server: WebServer, store: str
) -> None:
    site = ChangingSite(server, pages=20)
    crawl(crews, site)
    site.names.remove("p7")
    site.publish()
    lost = start(crews[0], site, DEDUP_SHARED_LEASE=2, DOWNLOAD_DELAY=0.3)
    lost.wait_for(lambda: len(server.requests) > 3)
    other = start(crews[1], site, DEDUP_SHARED_LEASE=2)
    lost.process.kill()
    lost.finish()

    crawled = other.finish()

    assert crawled.errors == []
    assert "is not known, and this run does not count for them" in crawled.log
    assert removed(store, site) == []
    assert sorted(worker.status for worker in runs(store)[0].workers) == ["finished", "lost"]
