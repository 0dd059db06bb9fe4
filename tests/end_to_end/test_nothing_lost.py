"""The first rule: an item that a callback yields is stored once, or dropped with a reason; see `test_endings.py`."""

import signal
from collections import Counter
from importlib.util import find_spec
from typing import Any

import pytest
import scrapy

from tests.end_to_end.crawling import Crawled, Project, all_accounted_for
from tests.end_to_end.recrawl_site import rows
from tests.server import WebServer
from tests.sites import SMALL, interleaved, pages_of

ASYNCIO = pytest.param({}, id="asyncio")
BY_SELECT = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}
SELECT = pytest.param(BY_SELECT, id="select")
# Without a reactor Scrapy downloads by a library that it does not require.
_NEEDED = "aiohttp" if scrapy.version_info >= (2, 19) else "httpx"
_CANNOT = pytest.mark.skipif(find_spec(_NEEDED) is None, reason=f"needs {_NEEDED}")
NONE = pytest.param({"TWISTED_REACTOR_ENABLED": False}, id="no-reactor", marks=_CANNOT)
Settings = dict[str, Any]


SERVED = len(SMALL), lambda origins: interleaved(origins, SMALL)


def crawl(project: Project, server: WebServer, *arguments: str, **settings: Any) -> Crawled:
    return project.crawl("pages", "-a", f"start={server.origins[0]}/hub", *arguments, **settings)


@pytest.mark.parametrize("reactor", [ASYNCIO, SELECT, NONE])
def test_crawl_that_ends_by_itself_has_stored_every_page(project, server, reactor):
    crawled = crawl(project, server, **reactor)

    assert Counter(crawled.stored_ids) == Counter(pages_of(server.site))
    assert {line["report"]["released"] for line in crawled.stored} >= {"full", "quiet", "known"}


@pytest.mark.parametrize("reactor", [NONE])
def test_crawl_that_is_interrupted_has_stored_what_was_yielded(project, server, reactor):
    # A page takes so long that the signal comes before the last.
    running = project.start("pages", "-a", f"start={server.origins[0]}/hub", DOWNLOAD_DELAY=0.1, **reactor)
    running.send_when(signal.SIGINT, stored=10)
    crawled = running.finish()

    assert crawled.stats["finish_reason"] == "shutdown"
    all_accounted_for(crawled)
    assert len(crawled.stored) < len(pages_of(server.site))


def test_crawl_that_is_stopped_and_resumed_stores_every_page_once(project, server):
    project.settings |= {"JOBDIR": "job"}

    parts = [crawl(project, server, "-a", "close_after=20", CONCURRENT_REQUESTS=4) for _ in range(2)]
    parts.append(crawl(project, server))

    assert [part.stats["finish_reason"] for part in parts] == ["enough", "enough", "finished"]
    assert Counter(url for part in parts for url in part.stored_ids) == Counter(pages_of(server.site))


def test_what_the_store_held_when_the_crawl_was_killed_does_not_come_again(project, server):
    """Without a feed: the storage that writes through is all the output there is."""
    project.settings |= {"JOBDIR": "job", "DOWNLOAD_DELAY": 0.05, "FEEDS": {}}
    done = "SELECT url FROM documents WHERE status = 'completed' AND chars_in IS NOT NULL"
    running = project.start("pages", "-a", f"start={server.origins[0]}/hub")
    running.wait_for((project.folder / "stored.jsonl").exists)
    running.wait_for(lambda: len(rows(project, done)) > 20)
    running.process.send_signal(signal.SIGKILL)
    killed = running.finish()
    held = {url for (url,) in rows(project, done)}
    again = crawl(project, server, DOWNLOAD_DELAY=0, DEDUP_UNCHANGED="skip")

    assert set(killed.stored_ids) | set(again.stored_ids) == pages_of(server.site)
    assert 20 < len(held & set(killed.stored_ids)) < len(pages_of(server.site))
    assert not held & set(again.stored_ids)
