"""Spiders of every habit: what they yield goes out, and what they ask for twice with reason is fetched twice."""

import signal
import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from scrapy_dedup.store.store import Store
from tests.databases import locked
from tests.end_to_end.company import STAT
from tests.end_to_end.crawling import BASE, Crawled, Project, lines_of
from tests.server import Answer, Site, WebServer, serving
from tests.sites import SMALL, html_page, interleaved, pages_of


def with_sitemap(origins: list[str]) -> Site:
    site = interleaved(origins, SMALL)
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in pages_of(site))
    xml = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    return {**site, f"{origins[0]}/sitemap.xml": Answer(xml, content_type="application/xml")}


SERVED = len(SMALL), with_sitemap


def pages(server: WebServer) -> set[str]:
    return {url for url in pages_of(server.site) if not url.endswith(".xml")}


def crawl(
    project: Project, server: WebServer, spider: str, path: str = "/hub", *arguments: str, **settings: Any
) -> Crawled:
    return project.crawl(spider, "-a", f"start={server.origins[0]}{path}", *arguments, **settings)


@pytest.mark.parametrize(("spider", "path"), [("of-sitemap", "/sitemap.xml"), ("never-idle", "/hub")])
def test_spider_of_any_kind_gets_every_page(project, server, spider, path):
    crawled = crawl(project, server, spider, path)

    assert Counter(crawled.stored_ids) == Counter(pages(server))


def test_pages_wait_neither_for_a_slow_start_nor_for_an_idle_spider(project, server):
    urls = [f"{server.origins[1]}/p{n}" for n in range(2)]
    crawled = project.crawl("starts-slowly", "-a", f"start={' '.join(urls)}", DEDUP_BATCH={"max_wait": 3600})

    # Items of the first page were stored before the spider asked for the second one.
    first, second = (line["stored"] for line in lines_of(project.folder / "asks.jsonl"))
    assert first == 0 < second
    assert set(urls) <= set(crawled.stored_ids)


def test_summary_of_a_page_does_not_take_its_place(project):
    def site(origins: list[str]) -> Site:
        urls = [f"{origins[0]}/{name}" for name in ("a", "b", "c", "gone")]
        found = {url: Answer(html_page(url)) for url in urls[:3]}
        return {f"{origins[0]}/hub": Answer(html_page("hub", links=urls)), **found}

    with serving(1, site) as server:
        crawled = crawl(project, server, "lists-and-details")

    kinds = Counter(name.split()[0] for name in crawled.stored_ids)
    assert kinds == {"summary": 4, "detail": 3, "failed": 1}


# JOBDIR.


def test_first_requests_that_are_filtered_are_made_again_after_a_kill(project, server):
    """A sitemap is filtered; the page that a spider begins with is not: `test_endings.py` kills such crawls."""
    project.settings["JOBDIR"] = "job"
    # The filter's file is written in blocks; what is in it when the crawl is killed would never be asked for again.
    start = f"start={server.origins[0]}/sitemap.xml"
    running = project.start("of-sitemap", "-a", start, CONCURRENT_REQUESTS=2)
    running.send_when(signal.SIGKILL, stored=20)
    killed = running.finish()
    seen = project.folder / "job" / "requests.seen"
    fingerprints = [line for line in seen.read_text(encoding="utf-8", errors="replace").splitlines() if line]
    again = crawl(project, server, "of-sitemap", "/sitemap.xml")

    assert set(killed.stored_ids) | set(again.stored_ids) == pages(server), len(fingerprints)
    assert max(Counter(again.stored_ids).values()) == 1


# The store.

# Some hundredths of a second.
SLOW = "SELECT (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200000) SELECT max(x) FROM n)"


BRIEFLY = {"DEDUP_DATABASE_TIMEOUT": 0.2, "DEDUP_SHARED_LEASE": 2}


def test_store_that_stays_locked_keeps_no_item_back(project, server):
    running = project.start("pages", "-a", f"start={server.origins[0]}/hub", **BRIEFLY)
    running.wait_for(lambda: (project.folder / ".scrapy" / "dedup.db").exists() and "Spider opened" in running.log())
    with locked(project.folder / ".scrapy" / "dedup.db", timeout=20):
        crawled = running.finish()

    assert crawled.exit_code == 74
    assert Counter(crawled.stored_ids) == Counter(pages(server))
    lost = crawled.count("store/rows_given_up")
    assert lost > 0
    assert f"{lost} rows are not in the store" in crawled.log


def test_store_that_is_slower_than_the_crawl_holds_it_back(project, server):
    path = project.folder / ".scrapy" / "dedup.db"
    with Store.open(f"sqlite:///{path}"):
        pass
    with closing(sqlite3.connect(path)) as store:
        store.execute(f"CREATE TRIGGER slow AFTER INSERT ON documents BEGIN {SLOW}; END")
    extensions = BASE["EXTENSIONS"] | {"tests.end_to_end.company.MostRows": 0}
    settings = {"DEDUP_WRITE_EVERY": 2, "CONCURRENT_REQUESTS": 2, "EXTENSIONS": extensions}
    # Pages of a domain that is learned would go on together.
    settings |= {"DEDUP_LAYERS": {"boilerplate": False}}
    crawled = project.crawl("pages", "-a", f"start={server.origins[0]}/hub", **settings)

    assert Counter(crawled.stored_ids) == Counter(pages(server))
    # Eight batches of two, and what the pages note that were on their way: up to thirty ask the slow store at once.
    assert crawled.count("store/rows") > 400
    assert crawled.stats[STAT] < crawled.count("store/rows") / 2
    assert crawled.count("store/rows_given_up") == 0
