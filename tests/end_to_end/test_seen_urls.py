"""Crawls with DUPEFILTER_CLASS = "scrapy_dedup.StoreDupeFilter": the same pages as with Scrapy's own filter."""

import signal
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.adapters.extras import needs
from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.end_to_end.recrawl_site import rows
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page

needs("rbloom", "seen")

OURS = {"DUPEFILTER_CLASS": "scrapy_dedup.StoreDupeFilter", "CONCURRENT_REQUESTS": 4}
PAGES = 40


@pytest.fixture
def server() -> Iterator[WebServer]:
    """Pages that each link to the first, and to some others, by more than one spelling."""

    def build(origins: list[str]) -> Site:
        urls = [f"{origins[0]}/{'start' if number == 0 else number}" for number in range(PAGES)]
        links = {number: (0, *range(number + 1, min(number + 6, PAGES))) for number in range(PAGES)}
        site: Site = {}
        for number, url in enumerate(urls):
            spelt = [f"{urls[to]}?utm_source={number % 2}" for to in links[number]]
            page = Answer(html_page(f"page {number}", links=spelt))
            site |= {url: page, f"{url}?utm_source=0": page, f"{url}?utm_source=1": page}
        return site

    with serving(1, build) as running:
        yield running


def crawl(project: Project, server: WebServer, *arguments: str, **settings: Any) -> Crawled:
    return project.crawl("pages", "-a", f"start={server.origins[0]}/start", *arguments, **settings)


def pages(urls: Iterable[str]) -> Counter[str]:
    """Return how often each page is among URLs, however they are spelt."""
    return Counter(url.partition("?")[0] for url in urls)


def noted(project: Project) -> int:
    return int(rows(project, "SELECT count(*) FROM seen_urls")[0][0])


def test_crawl_is_the_same_with_either_filter(make_project, server):
    """Without DUPEFILTER_DEBUG links that repeat end at the spider; with it they go the long way, and each is named."""
    scrapys = crawl(make_project("scrapy", **ADDON), server)
    for debug in (False, True):
        project = make_project(f"ours {debug}", **ADDON, **OURS)
        ours = crawl(project, server, DUPEFILTER_DEBUG=debug, LOG_LEVEL="DEBUG")

        assert pages(ours.stored_ids) == pages(scrapys.stored_ids) == Counter(pages(server.site).keys())
        same = ("dupefilter/filtered", "scheduler/enqueued", "downloader/request_count", "dedup/url/dropped")
        assert {name: ours.stats.get(name) for name in same} == {name: scrapys.stats.get(name) for name in same}
        assert ours.log.count("Filtered duplicate request") == (ours.stats["dupefilter/filtered"] if debug else 0)
        assert ours.count("seen/urls") >= PAGES
        # Nobody goes on with a queue in memory.
        assert noted(project) == 0


def test_crawl_that_goes_on_in_its_jobdir_knows_what_it_had_seen(project, server):
    project.settings |= {**OURS, "JOBDIR": "job"}
    first = crawl(project, server, "-a", "close_after=15")
    between = noted(project)
    second = crawl(project, server)

    assert first.count("seen/urls") == between > 15
    assert f"{between} URLs were seen before in this JOBDIR" in second.log
    assert noted(project) == second.count("seen/urls") == PAGES
    assert pages(first.stored_ids + second.stored_ids) == Counter(pages(server.site).keys())
    # The start request is not filtered.
    start = f"{server.origins[0]}/start"
    asked = pages(url for url in server.requests if url in server.site)
    assert {url for url, times in asked.items() if times > 1} <= {start}


def test_crawl_that_was_killed_misses_no_page(project, server):
    project.settings |= {**OURS, "JOBDIR": "job"}
    running = project.start("pages", "-a", f"start={server.origins[0]}/start", DOWNLOAD_DELAY=0.05)
    running.send_when(signal.SIGKILL, stored=15)
    killed = running.finish()
    again = crawl(project, server)

    assert set(pages(killed.stored_ids + again.stored_ids)) == set(pages(server.site))


def test_filter_is_scrapys_own_where_the_plugin_is_off(project, server):
    crawled = crawl(project, server, **OURS, DEDUP_ENABLED=False)

    assert crawled.stats["dupefilter/filtered"] > 0
    assert not (project.folder / ".scrapy" / "dedup.db").exists()


def test_crawl_without_the_extra_says_what_to_install(project, server):
    (project.folder / "rbloom.py").write_text("raise ImportError('not installed')\n", encoding="utf-8")
    crawled = project.crawl("pages", "-a", f"start={server.origins[0]}/start", clean=False, **OURS)

    assert "needs rbloom: run pip install 'scrapy_dedup[seen]'" in crawled.log
    assert crawled.stored == []
