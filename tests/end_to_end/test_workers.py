"""Several workers on one queue in Redis: nothing is fetched twice or lost, all of them end, and they are one run."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
import redis
from sqlalchemy import text

from scrapy_dedup.store.records.stored import ChangeChoice, RunFigures
from scrapy_dedup.store.store import Store
from tests.alias_site import alias_site
from tests.databases import locked, postgresql
from tests.end_to_end.crawling import ADDON, Crawled, Project, Running
from tests.end_to_end.recrawl_site import ChangingSite
from tests.end_to_end.test_aliases import stored_titles, titles_of
from tests.end_to_end.test_company import linked_twice
from tests.redis_server import redis_server
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page, interleaved, pages_of
from tests.tables import table

__all__ = ["postgresql", "redis_server"]

SIZES = (20, 12)
MANY = 200
LOCKED_SECONDS = 3
FEED = {"feed.jsonl": {"format": "jsonlines"}}


@pytest.fixture
def client(redis_server) -> Iterator["redis.Redis"]:
    with redis_server.client() as client:
        yield client


@pytest.fixture
def store(tmp_path) -> str:
    return f"sqlite:///{tmp_path / 'shared.db'}"


@pytest.fixture
def worker(make_project, redis_server, client, store) -> Callable[..., Project]:
    shared: dict[str, Any] = {
        **ADDON,
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "SCHEDULER_QUEUE_CLASS": "scrapy_dedup.LeasedQueue",
        "DUPEFILTER_CLASS": "scrapy_dedup.LeasedDupeFilter",
        "SCHEDULER_PERSIST": True,
        "REDIS_URL": redis_server.url,
        "DEDUP_PROJECT": "shop",
        "DEDUP_SHARED_JOB": "nightly",
        "DEDUP_DATABASE_URL": store,
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


def runs(store: str) -> list[RunFigures]:
    with Store.open(store) as opened:
        return opened.project("shop").runs()


def at_once(server: WebServer, store: str, *starts: Callable[[], Running]) -> list[Crawled]:
    """Crawl by several workers; nobody gets a page before all have joined the run, or one might do all and end it."""

    def joined() -> int:
        return sum(len(run.workers) for run in runs(store))

    server.is_open.clear()
    before, running = joined(), [start() for start in starts]
    for one in running:
        one.wait_for(lambda: joined() == before + len(running))
    server.is_open.set()
    crawls = [one.finish() for one in running]
    assert [crawl.errors for crawl in crawls] == [[]] * len(crawls)
    return crawls


def was_heard_after(store: str, at: datetime) -> bool:
    return any(one.run.seen_at is not None and one.run.seen_at > at for one in runs(store))


def claims(store: str) -> int:
    with Store.open(store) as opened, opened.session(read_only=True) as session:
        return int(session.scalar(text("SELECT count(*) FROM claims")) or 0)


def test_workers_fetch_each_page_once_and_end_when_all_is_done(worker, server, client, store):
    """One with a feed, whose items are safe only when it ends: nobody waits for these."""
    start = f"start={server.origins[0]}/hub"
    projects = [worker("one", DOWNLOAD_DELAY=0.02), worker("other", FEEDS=FEED, DOWNLOAD_DELAY=0.02)]

    crawls = at_once(server, store, *(partial(project.start, "pages", "-a", start) for project in projects))

    assert [crawl.stats["finish_reason"] for crawl in crawls] == ["finished", "finished"]
    assert asked(server) == dict.fromkeys(server.site, 1)
    assert stored(*crawls) == dict.fromkeys(pages_of(server.site), 1)
    assert client.keys("*") == []
    (run,) = runs(store)
    assert (run.run.status, [one.status for one in run.workers]) == ("finished", ["finished", "finished"])
    for name in ("dedup/items/out", "downloader/request_count", "dedup/store/rows"):
        assert run.run.stats[name] == sum(crawl.stats.get(name, 0) for crawl in crawls)
    assert run.visits == len(server.site)
    assert claims(store) == 0

    again = projects[0].crawl("pages", "-a", start, DEDUP_LAYERS={"unchanged": False})

    assert stored(again) == dict.fromkeys(pages_of(server.site), 1)


def test_links_that_repeat_count_alike_whether_they_end_at_the_spider_or_at_the_queue(worker):
    extensions = {"tests.end_to_end.company.Counting": 0, "tests.end_to_end.recorders.Ledger": 0}
    listening = {"EXTENSIONS": extensions, "DEDUP_PROJECT": "other"}
    with serving(1, linked_twice) as server:
        start = f"start={server.origins[0]}/hub"
        long, short = (worker(f"{n}", **more).crawl("pages", "-a", start) for n, more in enumerate((listening, {})))

    assert long.stats["told/dropped"] == long.stats["dupefilter/filtered"] == 4
    for name in ("dupefilter/filtered", "scheduler/enqueued/redis", "request_depth_max", "dedup/url/dropped"):
        assert short.stats.get(name) == long.stats.get(name), name
    assert stored(long) == stored(short) == dict.fromkeys(pages_of(server.site), 1)


def test_workers_are_fed_from_redis_and_end_when_nobody_feeds_them(worker, server, client):
    running = [worker(name, DOWNLOAD_DELAY=0.02).start("fed") for name in ("one", "other")]
    for url in (f"{server.origins[0]}/hub", f"{server.origins[1]}/hub"):
        client.rpush("fed:start_urls", json.dumps({"url": url}))

    crawls = [one.finish() for one in running]

    assert [crawl.errors for crawl in crawls] == [[], []]
    assert [crawl.stats["finish_reason"] for crawl in crawls] == ["finished", "finished"]
    assert stored(*crawls) == dict.fromkeys(pages_of(server.site), 1)
    assert client.keys("*") == []


def test_what_a_killed_worker_had_in_its_hands_is_done_by_another(worker, server, client):
    lasting = {"DEDUP_SHARED_LEASE": 4, "DEDUP_BATCH": {"max_wait": 0.5}}
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


def test_a_page_that_kills_its_workers_is_given_up_after_five_of_them(worker, server, store):
    """Its answer takes a while: what came before it is safe by then. The run does not say what is missing."""
    deadly = [*server.site][-1]  # no other is found by it alone
    server.site[deadly] = Answer("", delay_seconds=1)
    killing = {"DOWNLOADER_MIDDLEWARES": {"tests.end_to_end.company.Deadly": 100}, "DEADLY": deadly}
    lasting = {"DEDUP_SHARED_LEASE": 3, "DEDUP_BATCH": {"max_wait": 0.5}, "CONCURRENT_REQUESTS": 1}
    start = f"start={server.origins[0]}/hub"

    running = [worker(f"worker-{n}", **killing, **lasting).start("pages", "-a", start) for n in range(6)]
    crawls = [one.finish() for one in running]

    assert asked(server)[deadly] == 5
    (survivor,) = [crawl for crawl in crawls if crawl.exit_code == 0]
    assert survivor.stats["finish_reason"] == "finished"
    assert stored(*crawls).keys() == pages_of(server.site) - {deadly}
    assert survivor.count("queue/given_up") == 1
    assert "A request is given up: every worker that had it died" in survivor.errors[0]
    told = [one.stats["incomplete_domains"] for one in runs(store)[0].workers if one.status == "finished"]
    assert told == [["*"]]


def test_a_worker_takes_no_more_than_it_can_write(worker, tmp_path):
    """The store is locked, as by other workers: killed now, the worker would leave little to be done twice."""
    with serving(1, lambda origins: interleaved(origins, [MANY])) as server:
        running = worker("one", DEDUP_WRITE_EVERY=200, CONCURRENT_REQUESTS=4).start(
            "pages", "-a", f"start={server.origins[0]}/hub"
        )
        running.wait_for(lambda: len(server.requests) > 10)
        with locked(tmp_path / "shared.db"):
            before = len(server.requests)
            time.sleep(LOCKED_SECONDS)
            meanwhile = len(server.requests) - before
        crawl = running.finish()

    assert 0 < meanwhile < MANY / 2
    assert stored(crawl) == dict.fromkeys(pages_of(server.site), 1)
    assert crawl.stats["finish_reason"] == "finished"


def test_a_stopped_crawl_goes_on_where_it_was(worker, server):
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


def test_a_request_that_nobody_else_could_read_is_done_by_its_own_worker(worker, server):
    crawl = worker("one").crawl("by-lambda", "-a", f"start={server.origins[0]}/hub", clean=False)

    assert crawl.stats["finish_reason"] == "finished"
    assert set(server.requests) >= pages_of(server.site)
    assert crawl.count("queue/unwritable") > 0
    assert "A request stays with this worker, and is lost if it is killed" in crawl.errors[0]


@table("end_to_end/settings_that_lose_requests_are_told_with_the_line_to_write")
def test_settings_that_lose_requests_are_told_with_the_line_to_write(worker, server, setting, value, said):
    crawl = worker("one", **{setting: value}).crawl("pages", "-a", f"start={server.origins[0]}/p0", clean=False)

    assert said in crawl.log


@table("end_to_end/workers_without_one_queue_are_refused_with_the_lines_that_add_it")
def test_workers_without_one_queue_are_refused_with_the_lines_that_add_it(worker, server, changes):
    filters = {"DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter"}
    crawl = worker("one", **filters, **changes).crawl("pages", "-a", f"start={server.origins[0]}/hub", clean=False)

    assert server.requests == []
    (name,) = changes
    assert f"The crawl does not start: DEDUP_SHARED_JOB='nightly': its workers need one queue, and {name}=" in crawl.log
    assert '    SCHEDULER_QUEUE_CLASS = "scrapy_dedup.LeasedQueue"' in crawl.log
    assert '    SCHEDULER = "scrapy_redis.scheduler.Scheduler"' in crawl.log


def test_two_workers_that_meet_the_same_texts_give_each_once(worker, postgresql):
    texts = range(24)

    def site(origins: list[str]) -> Site:
        return {f"{origins[0]}/{way}{n}": Answer(html_page(n)) for n in texts for way in "ab"}

    with postgresql.database() as url, serving(1, site) as server:
        store = url.render_as_string(hide_password=False)
        settings = {"DEDUP_DATABASE_URL": store, "DEDUP_LAYERS": {"boilerplate": False}}
        lists = [" ".join(url for url in server.site if f"/{way}" in url[8:]) for way in "ab"]
        crews = [worker(f"p{n}", **settings) for n in range(2)]
        for pages in (lists, lists[::-1]):
            words = [("pages", "-a", f"start={urls}", "-a", "section=news") for urls in pages]
            crawls = at_once(
                server, store, *(partial(crew.start, *one) for crew, one in zip(crews, words, strict=True))
            )
            given = Counter(line["cleaned"] for crawl in crawls for line in crawl.stored)
            assert Counter(given.values()) == {1: len(texts)}
    assert sum(crawl.sum("title/dropped") + crawl.sum("duplicate/dropped") for crawl in crawls) == len(texts)


def test_two_workers_give_each_page_with_several_addresses_once(worker, store):
    """One follows the links, the other begins with all addresses."""
    settings = {"DEDUP_URL": {"index_page": True}, "RETRY_ENABLED": False, "FEEDS": FEED}
    with serving(2, alias_site) as server:
        urls = [f"{server.origins[0]}/start", *(url for url in server.site if url.startswith(server.origins[0]))]
        ways = {"first": urls[0], "other": " ".join(urls[:0:-1])}
        starts = [partial(worker(name, **settings).start, "pages", "-a", f"start={way}") for name, way in ways.items()]
        crawls = at_once(server, store, *starts)

        assert stored_titles(*crawls) == titles_of(server)


def test_a_worker_that_met_one_page_of_a_site_leaves_out_what_another_gave(worker, store):
    """Its own pages do not tell which text is the site's: what the other knows by then does."""
    given = threading.Event()

    def site(origins: list[str]) -> Site:
        pages = {f"{origins[0]}/p{n}": Answer(html_page(n)) for n in range(12)}
        return {**pages, f"{origins[0]}/copy": Answer(f"{html_page(3)}<!-- made anew -->", until=given)}

    with serving(1, site) as server:
        *pages, copy = server.site
        other = worker("other", CONCURRENT_REQUESTS=1).start("pages", "-a", f"start={copy}")
        other.wait_for(lambda: copy in server.requests)
        first = worker("first", FEEDS=FEED).start("pages", "-a", f"start={' '.join(pages)}")
        first.wait_for(lambda: claims(store) >= 3 * len(pages))
        given.set()
        crawls = [first.finish(), other.finish()]

    assert [crawl.errors for crawl in crawls] == [[], []]
    assert asked(server)[copy] == 1
    assert stored(*crawls) == dict.fromkeys(pages, 1)


def test_pages_that_no_worker_found_are_removed_once(worker, store):
    crews = [worker(name, DEDUP_REMOVED={"after": 1}, DOWNLOAD_DELAY=0.05) for name in ("one", "other")]
    with serving(1, lambda _: {}) as server:
        site = ChangingSite(server, pages=20)
        starts = [partial(each.start, "walker", "-a", f"start={site.url('')}") for each in crews]
        at_once(server, store, *starts)
        site.names.remove("p7")
        site.publish()
        crawls = at_once(server, store, *starts)

    assert sorted(one.count("removed/missed") for one in crawls) == [0, 1]
    assert [run.run.status for run in runs(store)] == ["finished", "finished"]
    with Store.open(store) as opened:
        project = opened.project("shop")
        gone = project.changes(ChangeChoice(project.last_runs()[0].started_at, "removed"))
        assert [change.url for change in gone] == [site.url("p7")]


def test_of_two_crawls_at_once_the_one_that_began_first_sees_what_the_other_gave(make_project, store):
    """It began in an empty store, where there is nothing to ask for until somebody else begins."""
    given = threading.Event()

    def site(origins: list[str]) -> Site:
        pages = {f"{origins[0]}/p{n}": Answer(html_page(n)) for n in range(6)}
        copies = {f"{origins[0]}/copy{n}": Answer(f"{html_page(n)}<!-- made anew -->", until=given) for n in range(6)}
        return {f"{origins[0]}/own": Answer(html_page("own")), **pages, **copies}

    shared = {**ADDON, "DEDUP_PROJECT": "shop", "DEDUP_DATABASE_URL": store, "FEEDS": {}}
    one, another = (make_project(name, **shared) for name in ("one", "other"))
    with serving(1, site) as server:
        own, *urls = server.site
        pages, copies = urls[:6], urls[6:]
        first = one.start("pages", "-a", f"start={' '.join([own, *copies])}")
        first.wait_for(lambda: own in server.requests)
        other = another.crawl("pages", "-a", f"start={' '.join(pages)}")
        for _ in range(2):  # it says twice how it stands: once it may have been about to
            ended = datetime.now(UTC)
            first.wait_for(partial(was_heard_after, store, ended))
        given.set()
        crawl = first.finish()

    assert [other.errors, crawl.errors] == [[], []]
    assert {line["id"]: line["report"].get("same_as") for line in crawl.stored} == {
        own: None,
        **dict(zip(copies, pages, strict=True)),
    }
