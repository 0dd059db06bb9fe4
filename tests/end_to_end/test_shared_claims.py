"""Several crawlers of one job: each page goes out once among them, and what a dead one had is done by others."""

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.databases import Server
from tests.databases import postgresql
from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.server import WebServer, serving
from tests.sites import interleaved, pages_of

pytestmark = pytest.mark.crawl

__all__ = ["postgresql"]

SIZES = (20, 12)
SHARED: dict[str, Any] = {**ADDON, "DEDUP_PROJECT": "shop", "DEDUP_SHARED_JOB": "nightly", "FEEDS": {}}
STRICT = {**SHARED, "DEDUP_STRICT_SHARED": True}


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give the URL of an empty database that several crawls share."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'shared.db'}"
        return
    server: Server = request.getfixturevalue("postgresql")
    with ExitStack() as stack:
        yield stack.enter_context(server.database()).render_as_string(hide_password=False)


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving(len(SIZES), lambda origins: interleaved(origins, SIZES)) as running:
        yield running


def stored(*crawls: Crawled) -> Counter[str]:
    return Counter(name for crawl in crawls for name in crawl.stored_ids)


def starts(server: WebServer) -> tuple[str, str]:
    """Return the first URLs of two workers: the hub is both's, and each has some pages of its own."""
    hub, pages = f"{server.origins[0]}/hub", sorted(pages_of(server.site))
    return f"start={hub} {' '.join(pages[::4])}", f"start={hub} {' '.join(pages[::3])}"


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "not-strict"])
def test_two_workers_give_each_page_once_in_all(
    make_project: Callable[..., Project], server: WebServer, database: str, *, strict: bool
) -> None:
    settings = SHARED | {"DEDUP_STRICT_SHARED": strict, "DEDUP_DATABASE_URL": database, "DOWNLOAD_DELAY": 0.02}
    projects = [make_project(name, **settings) for name in ("one", "other")]

    running = [project.start("pages", "-a", start) for project, start in zip(projects, starts(server), strict=True)]
    crawls = [one.finish() for one in running]

    assert [crawl.errors for crawl in crawls] == [[], []]
    assert stored(*crawls).keys() == pages_of(server.site)
    if strict:
        assert set(stored(*crawls).values()) == {1}
        assert sum(crawl.count("claims/lost") for crawl in crawls) > 0


def test_pages_of_a_killed_worker_come_by_the_other(
    make_project: Callable[..., Project], server: WebServer, database: str
) -> None:
    """Also those that it had found and not asked for yet: its queue is lost with it."""
    settings = STRICT | {"DEDUP_DATABASE_URL": database, "DEDUP_SHARED_LEASE": 4, "DEDUP_MAX_WAIT": 0.5}
    start = f"start={server.origins[0]}/hub"
    killed = make_project("killed", **settings, DOWNLOAD_DELAY=0.15).start("pages", "-a", start)
    killed.wait_for(lambda: len(server.requests) > 1)
    heir = make_project("heir", **settings).start("pages", "-a", start)

    killed.send_when(signal.SIGKILL, stored=8)
    before, after = killed.finish(), heir.finish()

    assert after.errors == []
    assert stored(before, after).keys() == pages_of(server.site)
    assert len(after.stored) < len(pages_of(server.site))
    assert after.count("claims/taken_over") > 0
    assert after.stats["finish_reason"] == "finished"
