"""Several workers on one queue in Redis: nothing is fetched twice, nothing is lost, and all of them end."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.redis_server import RedisServer, redis_server
from tests.server import Answer, WebServer, serving
from tests.sites import interleaved, pages_of

pytestmark = pytest.mark.crawl

__all__ = ["redis_server"]

SIZES = (20, 12)
MANY = 200
LOCKED_SECONDS = 3
FEED = {"feed.jsonl": {"format": "jsonlines"}}


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator["redis.Redis"]:
    with redis_server.client() as client:
        yield client


@pytest.fixture
def worker(
    make_project: Callable[..., Project], redis_server: RedisServer, client: "redis.Redis", tmp_path: Path
) -> Callable[..., Project]:
    shared: dict[str, Any] = {
        **ADDON,
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "SCHEDULER_QUEUE_CLASS": "scrapy_dedup.LeasedQueue",
        "SCHEDULER_SERIALIZER": "scrapy_dedup.plugin.leased_json",
        "DUPEFILTER_CLASS": "scrapy_dedup.LeasedDupeFilter",
        "SCHEDULER_PERSIST": True,
        "REDIS_URL": redis_server.url,
        "DEDUP_PROJECT": "shop",
        "DEDUP_SHARED_JOB": "nightly",
        "DEDUP_STRICT_SHARED": True,
        "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'shared.db'}",
        "FEEDS": {},
    }
    return lambda name, **settings: make_project(name, **{**shared, **settings})


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving(len(SIZES), lambda origins: interleaved(origins, SIZES)) as running:
        yield running


def asked(server: WebServer) -> Counter[str]:
    """Return which pages were asked for, and how often: not what the plugin asks for itself."""
    return Counter(url for url in server.requests if url in server.site)


def stored(*crawls: Crawled) -> Counter[str]:
    return Counter(name for crawl in crawls for name in crawl.stored_ids)


def test_workers_fetch_each_page_once_and_end_when_all_is_done(
    worker: Callable[..., Project], server: WebServer, client: "redis.Redis"
) -> None:
    """One with a feed, whose items are safe only when it ends: nobody waits for these."""
    start = f"start={server.origins[0]}/hub"
    projects = [worker("one", DOWNLOAD_DELAY=0.02), worker("other", FEEDS=FEED, DOWNLOAD_DELAY=0.02)]

    running = [project.start("pages", "-a", start) for project in projects]
    crawls = [one.finish() for one in running]

    assert [crawl.errors for crawl in crawls] == [[], []]
    assert [crawl.stats["finish_reason"] for crawl in crawls] == ["finished", "finished"]
    assert asked(server) == dict.fromkeys(server.site, 1)
    assert stored(*crawls) == dict.fromkeys(pages_of(server.site), 1)
    assert client.keys("*") == []

    again = projects[0].crawl("pages", "-a", start, DEDUP_UNCHANGED_ENABLED=False)

    assert stored(again) == dict.fromkeys(pages_of(server.site), 1)


def test_workers_are_fed_from_redis_and_end_when_nobody_feeds_them(
    worker: Callable[..., Project], server: WebServer, client: "redis.Redis"
) -> None:
    running = [worker(name, DOWNLOAD_DELAY=0.02).start("fed") for name in ("one", "other")]
    for url in (f"{server.origins[0]}/hub", f"{server.origins[1]}/hub"):
        client.rpush("fed:start_urls", json.dumps({"url": url}))

    crawls = [one.finish() for one in running]

    assert [crawl.errors for crawl in crawls] == [[], []]
    assert [crawl.stats["finish_reason"] for crawl in crawls] == ["finished", "finished"]
    assert stored(*crawls) == dict.fromkeys(pages_of(server.site), 1)
    assert client.keys("*") == []


def test_what_a_killed_worker_had_in_its_hands_is_done_by_another(
    worker: Callable[..., Project], server: WebServer, client: "redis.Redis"
) -> None:
    lasting = {"DEDUP_SHARED_LEASE": 4, "DEDUP_MAX_WAIT": 0.5}
    start = f"start={server.origins[0]}/hub"
    killed = worker("killed", DOWNLOAD_DELAY=0.1, **lasting).start("pages", "-a", start)
    killed.wait_for(lambda: len(server.requests) > 8)
    heir = worker("heir", **lasting).start("pages", "-a", start)

    killed.process.kill()
    before, after = killed.finish(), heir.finish()

    assert after.errors == []
    assert after.stats["finish_reason"] == "finished"
    assert after.count("queue/reclaimed") > 0
    assert stored(before, after).keys() == pages_of(server.site)
    assert client.keys("*") == []


def test_a_page_that_kills_its_workers_is_given_up_after_five_of_them(
    worker: Callable[..., Project], server: WebServer
) -> None:
    """Its answer takes a while: what came before it is safe by then."""
    deadly = [*server.site][-1]  # no other is found by it alone
    server.site[deadly] = Answer("", delay_seconds=2)
    killing = {"DOWNLOADER_MIDDLEWARES": {"tests.end_to_end.deadly.Deadly": 100}, "DEADLY": deadly}
    lasting = {"DEDUP_SHARED_LEASE": 3, "DEDUP_MAX_WAIT": 0.5, "CONCURRENT_REQUESTS": 1}
    start = f"start={server.origins[0]}/hub"

    running = [worker(f"worker-{n}", **killing, **lasting).start("pages", "-a", start) for n in range(6)]
    crawls = [one.finish() for one in running]

    assert asked(server)[deadly] == 5
    (survivor,) = [crawl for crawl in crawls if crawl.exit_code == 0]
    assert survivor.stats["finish_reason"] == "finished"
    assert stored(*crawls).keys() == pages_of(server.site) - {deadly}
    assert survivor.count("queue/given_up") == 1
    assert "A request is given up: every worker that had it died" in survivor.errors[0]
    assert survivor.count("removed/not_known") == 1


def test_a_worker_takes_no_more_than_it_can_write(worker: Callable[..., Project], tmp_path: Path) -> None:
    """The store is locked, as by other workers: killed now, the worker would leave little to be done twice."""
    with serving(1, lambda origins: interleaved(origins, [MANY])) as server:
        running = worker("one", DEDUP_STRICT_SHARED=False, DEDUP_WRITE_EVERY=200, CONCURRENT_REQUESTS=4).start(
            "pages", "-a", f"start={server.origins[0]}/hub"
        )
        running.wait_for(lambda: len(server.requests) > 10)
        with closing(sqlite3.connect(tmp_path / "shared.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            before = len(server.requests)
            time.sleep(LOCKED_SECONDS)
            meanwhile = len(server.requests) - before
        crawl = running.finish()

    assert 0 < meanwhile < MANY / 2
    assert stored(crawl) == dict.fromkeys(pages_of(server.site), 1)
    assert crawl.stats["finish_reason"] == "finished"


def test_a_stopped_crawl_goes_on_where_it_was(worker: Callable[..., Project], server: WebServer) -> None:
    start, project = f"start={server.origins[0]}/hub", worker("one")

    stopped = project.crawl("pages", "-a", start, CLOSESPIDER_PAGECOUNT=8, CONCURRENT_REQUESTS=2)
    before = asked(server)
    rest = project.crawl("pages", "-a", start)

    assert len(stopped.stored) < len(pages_of(server.site))
    assert stored(stopped, rest) == dict.fromkeys(pages_of(server.site), 1)
    again = asked(server) - before
    assert {url: again[url] for url in pages_of(server.site)} == {
        url: int(url not in before) for url in pages_of(server.site)
    }


def test_a_request_that_nobody_else_could_read_is_done_by_its_own_worker(
    worker: Callable[..., Project], server: WebServer
) -> None:
    crawl = worker("one").crawl("by-lambda", "-a", f"start={server.origins[0]}/hub", clean=False)

    assert crawl.stats["finish_reason"] == "finished"
    assert set(server.requests) >= pages_of(server.site)
    assert crawl.count("queue/unwritable") > 0
    assert "A request stays with this worker, and is lost if it is killed" in crawl.errors[0]


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        pytest.param("SCHEDULER_PERSIST", False, "Write SCHEDULER_PERSIST = True", id="queue-emptied-at-the-end"),
        pytest.param(
            "DUPEFILTER_CLASS",
            "scrapy_redis.dupefilter.RFPDupeFilter",
            "Write DUPEFILTER_CLASS = 'scrapy_dedup.LeasedDupeFilter'",
            id="noted-before-queued",
        ),
        pytest.param("DEDUP_SHARED_JOB", "", "Write DEDUP_SHARED_JOB = ", id="store-does-not-know"),
        pytest.param(
            "SCHEDULER_QUEUE_CLASS",
            "scrapy_redis.queue.PriorityQueue",
            "Write SCHEDULER_QUEUE_CLASS = 'scrapy_dedup.LeasedQueue'",
            id="loses-what-is-in-flight",
        ),
    ],
)
def test_settings_that_lose_requests_are_told_with_the_line_to_write(
    worker: Callable[..., Project], server: WebServer, setting: str, value: object, said: str
) -> None:
    changes = {setting: value}
    if setting == "SCHEDULER_QUEUE_CLASS":
        changes |= {"DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter"}

    crawl = worker("one", **changes).crawl("pages", "-a", f"start={server.origins[0]}/p0", clean=False)

    assert said in crawl.log
