"""The store's disk fills in the middle of a crawl: a real one, which a file system in memory is."""

import os
import random
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrapy_dedup.store.engine.errors import FullStoreError
from scrapy_dedup.store.store import Store
from tests.databases import postgresql
from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.server import Answer, WebServer, serving
from tests.small_disk import MEGABYTE, SmallDisk, small_disk

__all__ = ["postgresql"]

PAGES = 30
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Of all pages the store needs about 1.5 MB more than that of an empty one.
SIZE = 2 * MEGABYTE


class Site:
    """Pages whose text packs badly; something may happen when one of them is asked for."""

    def __init__(self, server: WebServer) -> None:
        self.origin = server.origins[0]
        self.server = server
        links = "".join(f'<li><a href="/p{n}">{n}</a></li>' for n in range(PAGES))
        server.site = {f"{self.origin}/hub": Answer(f"<main><ul>{links}</ul></main>")}
        for n in range(PAGES):
            server.site[f"{self.origin}/p{n}"] = Answer(page(n))

    def when(self, n: int, happens: Callable[[], None]) -> None:
        def answer(_times: int) -> Answer:
            happens()
            return Answer(page(n))

        self.server.site[f"{self.origin}/p{n}"] = answer

    @property
    def urls(self) -> list[str]:
        return sorted(f"{self.origin}/p{n}" for n in range(PAGES))

    def crawl(self, project: Project, **settings: Any) -> Crawled:
        return project.crawl("pages", "-a", f"start={self.origin}/hub", clean=False, **settings)


def page(n: int) -> str:
    letters = random.Random(n)
    words = " ".join("".join(letters.choices(LETTERS, k=7)) for _ in range(6_000))
    return f"<title>On {n}</title><main><h1>On {n}</h1><p>{words}</p></main>"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(1, lambda _: {}) as server:
        yield Site(server)


@pytest.fixture
def disk(tmp_path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", SIZE) as mounted:
        yield mounted


@pytest.fixture
def project(project, disk) -> Project:
    # One after the other, so that it is known what comes when.
    project.settings |= {
        "DEDUP_DATABASE_URL": f"sqlite:///{disk.folder}/dedup.db",
        "CONCURRENT_REQUESTS": 1,
        "DEDUP_WRITE_EVERY": 20,
        "FEEDS": {},
    }
    return project


def ids_of(crawled: Crawled) -> list[str]:
    return sorted(crawled.stored_ids)


def completed(disk: SmallDisk) -> set[str]:
    with closing(sqlite3.connect(disk.folder / "dedup.db")) as store:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {url for (url,) in store.execute("SELECT url FROM documents WHERE status = 'completed'")}


def warnings_of(crawled: Crawled) -> list[str]:
    return [line for line in crawled.log.splitlines() if " WARNING: " in line or " ERROR: " in line]


def is_told(project: Project) -> bool:
    log = project.folder / "log.txt"
    return log.exists() and "The store's disk is full" in log.read_text(encoding="utf-8", errors="replace")


def test_crawl_goes_on_and_the_next_one_gives_what_could_not_be_noted(project, site, disk):
    crawled = site.crawl(project)

    assert crawled.exit_code == 74
    assert crawled.stats["finish_reason"] == "finished"
    assert ids_of(crawled) == site.urls
    assert sum("The store's disk is full" in line for line in warnings_of(crawled)) == 1
    assert crawled.count("store/rows_given_up") > 0
    noted = completed(disk)
    assert 0 < len(noted) < PAGES
    assert noted <= {*crawled.stored_ids, f"{site.origin}/hub"}

    disk.grow(64 * MEGABYTE)
    again = site.crawl(project)

    assert again.exit_code == 0
    assert set(site.urls) - noted <= set(again.stored_ids)
    assert set(site.urls) <= completed(disk)


def test_what_waits_is_written_once_there_is_room_again(project, site, disk):
    disk.grow(64 * MEGABYTE)
    site.when(5, disk.fill)
    running = project.start("pages", "-a", f"start={site.origin}/hub", DOWNLOAD_DELAY=0.05)
    running.wait_for(lambda: is_told(project))
    disk.clear()
    crawled = running.finish()

    assert ids_of(crawled) == site.urls
    assert crawled.count("store/errors") > 0
    assert crawled.count("store/rows_given_up") == 0
    assert set(site.urls) <= completed(disk)
    assert site.crawl(project).count("unchanged/unchanged") >= PAGES


def test_crawl_ends_where_that_is_wanted_and_goes_on_later(project, site, disk):
    project.settings |= {"DEDUP_STORE_FULL": "stop", "JOBDIR": "job", "DOWNLOAD_DELAY": 0.05}
    crawled = site.crawl(project)

    assert crawled.exit_code == 74
    assert crawled.stats["finish_reason"] == "dedup_store_full"
    assert "as DEDUP_STORE_FULL says" in "".join(warnings_of(crawled))
    assert 0 < len(crawled.stored_ids) < PAGES
    noted = completed(disk)
    assert noted <= {*crawled.stored_ids, f"{site.origin}/hub"}

    disk.grow(64 * MEGABYTE)
    resumed = site.crawl(project, DOWNLOAD_DELAY=0)

    assert resumed.stats["finish_reason"] == "finished"
    assert {*crawled.stored_ids, *resumed.stored_ids} == set(site.urls)


@pytest.mark.parametrize("exists", [True, False], ids=["a-store", "no-store-yet"])
def test_disk_that_is_full_or_read_only_at_the_start_stops_the_crawl_before_its_first_request(
    project, site, disk, *, exists
):
    if exists:
        site.crawl(project, CLOSESPIDER_PAGECOUNT=3)
        site.server.requests.clear()
    disk.fill()
    full = site.crawl(project)
    disk.clear()
    if not exists:
        for file in disk.folder.iterdir():
            file.unlink()
    disk.forbid_writing()
    read_only = site.crawl(project)

    assert site.server.requests == []
    assert "Free space on the disk" in full.log
    for crawled in (full, read_only):
        assert "The crawl does not start: store sqlite:///" in crawled.log
        assert crawled.exit_code != 0


def test_page_whose_item_a_full_disk_kept_from_its_feed_comes_again(project, site, disk, tmp_path):
    """The feed is whole again later, and closes as if nothing had been."""
    project.settings |= {
        "DEDUP_DATABASE_URL": "",
        "FEEDS": {f"{disk.folder}/items-%(batch_id)d.jsonl": {"format": "jsonlines", "batch_item_count": 10}},
    }
    site.when(15, disk.fill)
    site.when(25, disk.clear)
    first = site.crawl(project)
    fed = "".join(file.read_text(errors="replace") for file in sorted(disk.folder.glob("items-*")))
    arrived = {url for url in site.urls if f'{{"url": "{url}", ' in fed}

    again = site.crawl(project, FEEDS={str(tmp_path / "again.jsonl"): {"format": "jsonlines"}})

    assert ids_of(first) == site.urls
    assert len(arrived) < PAGES
    assert set(site.urls) - arrived <= set(again.stored_ids)
    assert again.count("unchanged/unchanged") > 0


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the server's user may enter; pytest's are closed."""
    with tempfile.TemporaryDirectory(prefix="dedup-disk-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_server_whose_disk_is_full_takes_the_rows_later(make_project, site, open_folder, postgresql):
    with small_disk(open_folder / "disk", 64 * MEGABYTE) as disk, postgresql.database() as url:
        space = disk.folder / "space"
        space.mkdir()
        if os.geteuid() == 0:
            shutil.chown(space, "postgres")
        postgresql.execute(f"CREATE TABLESPACE small LOCATION '{space}'")
        postgresql.execute(f"ALTER DATABASE {url.database} SET TABLESPACE small")
        project = make_project("project", **ADDON, DEDUP_DATABASE_URL=url.render_as_string(hide_password=False))
        site.when(5, disk.fill)
        # So that the crawl does not end before there is room again: whatever its order, the others come without it.
        is_clear = threading.Event()
        site.server.site[f"{site.origin}/p0"] = Answer(page(0), until=is_clear)
        running = project.start("pages", "-a", f"start={site.origin}/hub", DOWNLOAD_DELAY=0.05, DEDUP_WRITE_EVERY=20)
        running.wait_for(lambda: is_told(project))
        # Without it a new connection finds no room to write it anew, which is another message.
        for cache in space.rglob("pg_internal.init"):
            cache.unlink()
        disk.fill()
        with pytest.raises(FullStoreError, match="Free space"):
            Store.open(url)
        disk.clear()
        is_clear.set()
        crawled = running.finish()

        assert ids_of(crawled) == site.urls
        assert crawled.count("store/rows_given_up") == 0
        count = "SELECT count(*) FROM documents WHERE status = 'completed'"
        assert postgresql.execute(count, str(url.database)) == [(PAGES + 1,)]
        postgresql.execute(f"ALTER DATABASE {url.database} SET TABLESPACE pg_default")
        postgresql.execute("DROP TABLESPACE small")
