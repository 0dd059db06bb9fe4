"""Several crawlers of one job: each page goes out once among them, and what a dead one had is done by others."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from scrapy_dedup.store.store import Store
from tests.alias_site import alias_site
from tests.databases import Server, postgresql
from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.end_to_end.test_aliases import stored_titles, titles_of
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page, interleaved, pages_of

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

    killed.wait_for(lambda: completed_pages(database) >= 5)
    killed.process.kill()
    before, after = killed.finish(), heir.finish()

    assert after.errors == []
    assert stored(before, after).keys() == pages_of(server.site)
    assert len(after.stored) <= len(pages_of(server.site)) - 4
    assert after.count("claims/taken_over") > 0
    assert after.stats["finish_reason"] == "finished"


def star(origins: list[str]) -> Site:
    """Return a hub and pages without links."""
    pages = {f"{origins[0]}/p{n}": Answer(html_page(n)) for n in range(12)}
    return {f"{origins[0]}/hub": Answer(html_page("hub", links=list(pages))), **pages}


def test_a_page_that_kills_its_workers_is_given_up_after_five_of_them(
    make_project: Callable[..., Project], tmp_path: Path
) -> None:
    """And no page that was in the same hands."""
    settings = STRICT | {"DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'shared.db'}", "DEDUP_SHARED_LEASE": 3}
    with serving(1, star) as server:
        start, deadly = f"start={server.origins[0]}/hub", f"{server.origins[0]}/p5"
        killing = {"DOWNLOADER_MIDDLEWARES": {"tests.end_to_end.deadly.Deadly": 100}, "DEADLY": deadly}
        running = [make_project(f"worker-{n}", **settings, **killing).start("pages", "-a", start) for n in range(6)]
        crawls = [one.finish() for one in running]

    assert server.requests.count(deadly) == 5
    (survivor,) = [crawl for crawl in crawls if crawl.exit_code == 0]
    assert survivor.stats["finish_reason"] == "finished"
    assert stored(*crawls).keys() == pages_of(server.site) - {deadly}
    assert survivor.count("claims/deadly") == 1
    assert f"given up: five workers that had it died: {deadly}" in survivor.errors[0]
    assert survivor.count("removed/not_known") == 1


def completed_pages(database: str) -> int:
    """Return how many pages the workers have said to be done."""
    with Store.open(database) as store, store.session(read_only=True) as session:
        return int(session.scalar(text("SELECT count(*) FROM claims WHERE kind = 1 AND state = 1")) or 0)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
def test_two_workers_give_each_page_with_several_addresses_once(
    make_project: Callable[..., Project], database: str, *, reverse: bool
) -> None:
    """One follows the links, the other begins with all addresses."""
    settings = STRICT | {"DEDUP_DATABASE_URL": database, "DEDUP_URL_INDEX_PAGE": True, "RETRY_ENABLED": False}
    feeds = {"FEEDS": {"feed.jsonl": {"format": "jsonlines"}}}
    with serving(2, partial(alias_site, reverse=reverse)) as server:
        urls = [f"{server.origins[0]}/start", *(url for url in server.site if url.startswith(server.origins[0]))]
        first = make_project("first", **settings | feeds).start("pages", "-a", f"start={urls[0]}")
        other = make_project("other", **settings | feeds).start("pages", "-a", f"start={' '.join(urls[:0:-1])}")
        crawls = [first.finish(), other.finish()]

        assert [crawl.errors for crawl in crawls] == [[], []]
        assert stored_titles(*crawls) == titles_of(server)


def test_two_workers_that_meet_the_same_texts_give_each_once(
    make_project: Callable[..., Project], database: str
) -> None:
    settings = STRICT | {"DEDUP_DATABASE_URL": database, "DEDUP_BOILERPLATE_ENABLED": False}
    texts = range(24)
    with serving(
        1, lambda origins: {f"{origins[0]}/{way}{n}": Answer(html_page(n)) for n in texts for way in "ab"}
    ) as server:
        lists = [" ".join(url for url in server.site if f"/{way}" in url[8:]) for way in "ab"]
        running = [
            make_project(f"p{n}", **settings).start("pages", "-a", f"start={urls}") for n, urls in enumerate(lists)
        ]
        crawls = [one.finish() for one in running]

    assert [crawl.errors for crawl in crawls] == [[], []]
    assert Counter(Counter(line["cleaned"] for crawl in crawls for line in crawl.stored).values()) == {1: len(texts)}
    assert sum(crawl.sum("title/dropped") + crawl.sum("duplicate/dropped") for crawl in crawls) == len(texts)
