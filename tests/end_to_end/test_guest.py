"""A guest in the crawl: what the spider did not ask for does not happen, and what it gave leaves as it was given."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, BASE, ROOT
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page

PAGES = [f"p{number:02}" for number in range(24)]


def pages_alone(origins: list[str]) -> Site:
    return {f"{origins[0]}/{page}": Answer(html_page(page)) for page in PAGES}


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving(1, pages_alone) as running:
        yield running


BY_HAND: dict[str, Any] = {
    "ADDONS": {},
    "DOWNLOADER_MIDDLEWARES": {"scrapy_dedup.DedupDownloaderMiddleware": 545},
    "SPIDER_MIDDLEWARES": {"scrapy_dedup.DedupSpiderMiddleware": 950},
    "ITEM_PIPELINES": BASE["ITEM_PIPELINES"] | {"scrapy_dedup.DedupPipeline": 350},
}
FILTERS: dict[str, dict[str, Any]] = {
    "scrapys-own": {},
    "own-fingerprints": {"REQUEST_FINGERPRINTER_CLASS": "tests.end_to_end.spiders.guest.FragmentsFingerprinter"},
}


@pytest.mark.parametrize("filters", FILTERS)
def test_a_repeat_is_what_the_projects_own_filter_takes_for_one(project, server, filters):
    """But for tracking parameters: without them the bare crawl asks for no more than the one with us does."""
    pages = list(server.site)[:3]
    server.site |= {f"{url}?utm_source={which}": server.site[url] for url in pages for which in ("start", "link")}
    asked: list[Counter[str]] = []
    ways: list[dict[str, Any]] = [{"ADDONS": {}}, ADDON, *([] if FILTERS[filters] else [BY_HAND])]
    for way in ways:
        server.requests.clear()
        start = "start=" + " ".join([*pages, pages[0]])
        crawled = project.crawl("asks", "-a", start, **FILTERS[filters], **way, DEDUP_PROJECT=str(len(asked)))
        asked.append(Counter(server.requests))
        assert Counter(crawled.stored_ids) == Counter(crawled.yielded)

    bare, *guests = asked
    for guest in guests:
        missing = bare - guest
        assert guest - bare == Counter()
        # Whichever of the spellings came first is there.
        assert missing
        assert all("utm_source" in url or url in pages for url in missing)
        assert all(sum(guest[one] for one in bare if one.startswith(url)) >= 5 for url in pages)


def test_crawls_in_one_process_share_nothing_and_one_begins_without_what_another_left(tmp_path, server):
    """Four in turn, and two at once: on a busy machine a crawler may stay until the second one after it begins."""
    program = f"""
import asyncio, gc, weakref
import scrapy
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.reactor import install_reactor

install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
from twisted.internet import reactor

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

class Pages(First):
    name = "pages"
    custom_settings = {{}}

async def crawl():
    # Nothing is collected but by the crawl itself.
    gc.disable()
    runner, before = AsyncCrawlerRunner({{"ADDONS": {ADDON["ADDONS"]}, "LOG_LEVEL": "ERROR"}}), []
    for _ in range(4):
        crawler = runner.create_crawler(Pages)
        before.append(weakref.ref(crawler))
        await runner.crawl(crawler)
        del crawler
    print([crawler() is None for crawler in before[:2]])
    await asyncio.gather(runner.crawl(First), runner.crawl(Second))
    reactor.stop()

reactor.callWhenRunning(lambda: asyncio.ensure_future(crawl()))
reactor.run()
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("[True, True]\n", "")
    for name in ("first", "second"):
        items = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        assert {item["spider"] for item in items} == {name}
        assert Counter(item["url"] for item in items) == Counter(list(server.site)[:12])
        assert all(item["cleaned_content"] for item in items)
