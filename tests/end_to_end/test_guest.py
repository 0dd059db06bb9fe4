"""A guest in the crawl: what the spider did not ask for does not happen, and what it gave leaves as it was given."""

import json
import marshal
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_dedup.settings import Settings
from tests.end_to_end.crawling import ADDON, BASE, ROOT, Project
from tests.end_to_end.recrawl_site import rows
from tests.end_to_end.spiders.guest import ITEMS_A_PAGE
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page

pytestmark = pytest.mark.crawl

PAGES = [f"p{number:02}" for number in range(40)]
ONE_AT_A_TIME: dict[str, Any] = {"CONCURRENT_REQUESTS": 1}


def pages_alone(origins: list[str]) -> Site:
    return {f"{origins[0]}/{page}": Answer(html_page(page)) for page in PAGES}


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving(1, pages_alone) as running:
        yield running


def start_of(server: WebServer) -> str:
    return "start=" + " ".join(server.site)


@pytest.mark.parametrize("reactor", ["asyncioreactor.AsyncioSelectorReactor", "selectreactor.SelectReactor"])
def test_items_leave_in_the_callbacks_order_and_nothing_else_is_asked_for(
    project: Project, server: WebServer, reactor: str
) -> None:
    """Most of the pages wait for their siblings, a domain that is not known yet; all items of one go out at once."""
    server.requests.clear()
    settings = ONE_AT_A_TIME | {"TWISTED_REACTOR": f"twisted.internet.{reactor}"}

    crawled = project.crawl("guest", "-a", start_of(server), **settings)

    assert crawled.stored_ids == crawled.yielded
    assert len(crawled.yielded) == len(PAGES) * ITEMS_A_PAGE
    assert server.requests == list(server.site)


def test_what_stands_on_an_item_is_plain(project: Project, server: WebServer) -> None:
    """`marshal` takes no subclass of any type."""
    feeds = {"feed.marshal": {"format": "marshal"}}

    crawled = project.crawl("guest", "-a", start_of(server), "-a", "elsewhere=1", FEEDS=feeds)

    with (project.folder / "feed.marshal").open("rb") as feed:
        items = [marshal.load(feed) for _ in crawled.yielded]
    assert {item["id"] for item in items} == set(crawled.yielded)
    assert {item["dedup"]["left"] for item in items if item["url"] == "no page at all"} == {"no_domain"}


def test_pages_that_wait_end_no_crawl_that_would_go_on(project: Project, server: WebServer) -> None:
    """Where pages come faster than items leave Scrapy ends the bare crawl, 2.15 this one, and ours goes on."""
    given = {"CLOSESPIDER_PAGECOUNT_NO_ITEM": 10} | ONE_AT_A_TIME

    with_addon = project.crawl("guest", "-a", start_of(server), **given)
    bare = project.crawl("guest", "-a", start_of(server), **given, ADDONS={})

    assert set(with_addon.stored_ids) >= set(bare.stored_ids)


def test_a_crawl_of_so_many_items_goes_no_further_than_the_pages_that_wait(project: Project, server: WebServer) -> None:
    most = ITEMS_A_PAGE * 12
    given = {"CLOSESPIDER_ITEMCOUNT": most} | ONE_AT_A_TIME

    with_addon = project.crawl("guest", "-a", start_of(server), **given)
    bare = project.crawl("guest", "-a", start_of(server), **given, ADDONS={})

    # Which pages come first is the queue's.
    waiting = min(Settings().batch_pages, most // 2)
    assert most <= len(with_addon.stored) <= len(bare.stored) + waiting * ITEMS_A_PAGE


@pytest.mark.parametrize("command", [["parse", "--spider", "guest", "--pipelines"], ["fetch"]], ids=["parse", "fetch"])
def test_commands_that_show_leave_no_trace(project: Project, server: WebServer, command: list[str]) -> None:
    crawled = project.crawl("guest", "-a", start_of(server), CLOSESPIDER_PAGECOUNT=1, **ONE_AT_A_TIME)
    assert crawled.stored
    store = project.folder / ".scrapy" / "dedup.db"
    store.unlink()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    words = [sys.executable, "-m", "scrapy", *command, next(iter(server.site))]
    done = subprocess.run(words, cwd=project.folder, env=environment, capture_output=True, text=True, check=True)

    assert not store.exists()
    assert PAGES[0] in done.stdout


def test_spiders_and_projects_may_have_no_name(tmp_path: Path, server: WebServer) -> None:
    program = f"""
import scrapy
from scrapy.crawler import AsyncCrawlerProcess

class Nameless(scrapy.Spider):
    start_urls = [{next(iter(server.site))!r}]

    def __init__(self, **kwargs):
        super().__init__(name="later", **kwargs)

    def parse(self, response):
        yield {{"url": response.url}}

process = AsyncCrawlerProcess({{"ADDONS": {ADDON["ADDONS"]}, "BOT_NAME": None, "LOG_LEVEL": "ERROR",
    "DEDUP_DATABASE_URL": "sqlite:///{tmp_path}/dedup.db", "FEEDS": {{"feed.jsonl": {{"format": "jsonlines"}}}}}})
process.crawl(Nameless)
process.start()
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )

    assert done.stderr == ""
    assert "cleaned_content" in (tmp_path / "feed.jsonl").read_text(encoding="utf-8")


BY_HAND: dict[str, Any] = {
    "ADDONS": {},
    "DOWNLOADER_MIDDLEWARES": {"scrapy_dedup.DedupDownloaderMiddleware": 545},
    "SPIDER_MIDDLEWARES": {"scrapy_dedup.DedupSpiderMiddleware": 950},
    "ITEM_PIPELINES": BASE["ITEM_PIPELINES"] | {"scrapy_dedup.DedupPipeline": 350},
}
FILTERS: dict[str, dict[str, Any]] = {
    "scrapys-own": {},
    "none": {"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter", "DEPTH_LIMIT": 2},
    "one-that-never-filters": {"DUPEFILTER_CLASS": "tests.end_to_end.spiders.guest.NeverFilters", "DEPTH_LIMIT": 2},
    "own-fingerprints": {"REQUEST_FINGERPRINTER_CLASS": "tests.end_to_end.spiders.guest.FragmentsFingerprinter"},
}


@pytest.mark.parametrize("way", [ADDON, BY_HAND], ids=["add-on", "by-hand"])
@pytest.mark.parametrize("filters", FILTERS)
def test_a_repeat_is_what_the_projects_own_filter_takes_for_one(
    project: Project, server: WebServer, way: dict[str, Any], filters: str
) -> None:
    """But for tracking parameters: without them the bare crawl asks for no more than the one with us does."""
    pages = list(server.site)[:3]
    server.site |= {f"{url}?utm_source={which}": server.site[url] for url in pages for which in ("start", "link")}
    settings = FILTERS[filters]
    start = "start=" + " ".join([*pages, pages[0]])
    asked: dict[str, Counter[str]] = {}
    for name, addons in {"bare": {"ADDONS": {}}, "guest": way}.items():
        server.requests.clear()
        crawled = project.crawl("asks", "-a", start, **settings, **addons)
        asked[name] = Counter(server.requests)
        assert Counter(crawled.stored_ids) == Counter(crawled.yielded)

    missing = asked["bare"] - asked["guest"]
    assert asked["guest"] - asked["bare"] == Counter()
    if filters in ("none", "one-that-never-filters"):
        assert missing == Counter()
    else:
        # Whichever of the spellings came first is there.
        assert missing
        assert all("utm_source" in url or url in pages for url in missing)
        assert all(sum(asked["guest"][one] for one in asked["bare"] if one.startswith(url)) >= 5 for url in pages)


@pytest.mark.parametrize(
    "middleware",
    [
        {"DOWNLOADER_MIDDLEWARES": {"tests.end_to_end.spiders.guest.RetriedBelow": 543}},
        {"SPIDER_MIDDLEWARES": {"tests.end_to_end.spiders.guest.RetriedAbove": 500}},
    ],
    ids=["downloader-middleware-at-543", "spider-middleware"],
)
def test_page_that_a_middleware_asks_for_again_is_fetched_again(
    project: Project, server: WebServer, middleware: dict[str, Any]
) -> None:
    pages = [f"{server.origins[0]}/{page}?{next(iter(middleware))}" for page in PAGES[:6]]
    server.site |= {url: ban_once(Answer(html_page(url))) for url in pages}

    crawled = project.crawl("guest", "-a", "start=" + " ".join(pages), clean=False, **middleware)

    assert Counter(line["url"] for line in crawled.fed) == Counter(dict.fromkeys(pages, ITEMS_A_PAGE))
    assert crawled.count("items/dropped") == 0


def ban_once(page: Answer) -> Callable[[int], Answer]:
    return lambda times: page if times > 1 else Answer("banned")


def test_items_that_name_no_page_get_nothing_but_a_word_of_theirs(project: Project, server: WebServer) -> None:
    crawled = project.crawl("quotes", "-a", start_of(server))

    assert len(crawled.fed) == 10 * len(PAGES)
    assert {frozenset(item) for item in crawled.fed} == {frozenset({"id", "quote", "dedup"})}
    told = [item["dedup"] for item in crawled.fed]
    assert {(one["left"], one["verdict"], one["url"] in server.site) for one in told} == {("no_page", "new", True)}


def test_sitemaps_and_feeds_are_no_pages_and_their_callbacks_run(project: Project, server: WebServer) -> None:
    origin = server.origins[0]
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in list(server.site)[:10])
    urls = {name: f"{origin}/{name}" for name in ("robots.txt", "map.xml", "news")}
    xml = {"map.xml": f"<?xml version='1.0'?><urlset>{entries}</urlset>", "news": "<!-- new --><rss><channel/></rss>"}
    site = {urls[name]: Answer(body, content_type="text/xml") for name, body in xml.items()}
    site[urls["robots.txt"]] = Answer(f"User-agent: *\nSitemap: {urls['map.xml']}\n", content_type="text/plain")
    server.site.update(site)
    try:
        words = ("-a", f"sitemap={urls['robots.txt']}", "-a", f"feed={urls['news']}")
        crawled = project.crawl("map-reader", *words, ROBOTSTXT_OBEY=True)
    finally:
        for url in site:
            del server.site[url]

    assert sorted(crawled.stored_ids) == [urls["news"], *sorted(server.site)[:10]]
    known = {url for table in ("crawled_urls", "documents") for (url,) in rows(project, f"SELECT url FROM {table}")}
    assert known == set(sorted(server.site)[:10])


@pytest.mark.parametrize("order", [400, 560], ids=["after-ours", "before-ours"])
def test_page_whose_callback_failed_has_given_nothing_that_could_stand_for_it(
    project: Project, server: WebServer, order: int
) -> None:
    replacing: dict[str, Any] = {"DOWNLOADER_MIDDLEWARES": {"tests.end_to_end.spiders.guest.Replacing": order}}
    failed = {url for url in server.site if url[-1] in "37"}

    project.crawl("unlucky", "-a", start_of(server), clean=False, **replacing)
    seen = {url for (url,) in rows(project, "SELECT url FROM crawled_urls WHERE status != 'failed'")}
    again = project.crawl("unlucky", "-a", start_of(server), "-a", "lucky=1", **replacing)

    assert not failed & seen
    given = Counter(name.partition(" ")[0] for name in again.stored_ids)
    assert {url: given[url] for url in failed} == dict.fromkeys(failed, ITEMS_A_PAGE)


def test_crawlers_in_one_process_share_nothing(tmp_path: Path, server: WebServer) -> None:
    program = f"""
import scrapy
from scrapy.crawler import AsyncCrawlerProcess

class First(scrapy.Spider):
    name = "first"
    start_urls = {list(server.site)[:12]!r}
    custom_settings = {{"DEDUP_DATABASE_URL": "sqlite:///{tmp_path}/first.db", "DEDUP_OUTPUT": "markdown",
        "FEEDS": {{"first.jsonl": {{"format": "jsonlines"}}}}}}

    def parse(self, response):
        yield {{"url": response.url, "spider": self.name}}

class Second(First):
    name = "second"
    custom_settings = {{"DEDUP_DATABASE_URL": "sqlite:///{tmp_path}/second.db",
        "FEEDS": {{"second.jsonl": {{"format": "jsonlines"}}}}}}

process = AsyncCrawlerProcess({{"ADDONS": {ADDON["ADDONS"]}, "LOG_LEVEL": "ERROR"}})
for spider in First, Second:
    process.crawl(spider)
process.start()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stderr == ""
    for name in ("first", "second"):
        items = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        assert {item["spider"] for item in items} == {name}
        assert Counter(item["url"] for item in items) == Counter(list(server.site)[:12])
        assert all(item["cleaned_content"] for item in items)
