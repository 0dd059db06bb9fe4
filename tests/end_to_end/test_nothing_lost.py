"""The first rule: an item that a callback yields is stored once, or dropped with a reason, however the crawl ends."""

import signal
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
import scrapy

from tests.end_to_end.crawling import Crawled, Project, all_accounted_for
from tests.server import WebServer, serving
from tests.sites import DONE_WHEN, interleaved, pages_of

pytestmark = pytest.mark.crawl

ASYNCIO = pytest.param({}, id="asyncio")
SELECT = pytest.param({"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}, id="select")
# Without a reactor Scrapy downloads by a library that it does not require.
_NEEDED = "aiohttp" if scrapy.version_info >= (2, 19) else "httpx"
_CANNOT = pytest.mark.skipif(find_spec(_NEEDED) is None, reason=f"needs {_NEEDED}")
NONE = pytest.param({"TWISTED_REACTOR_ENABLED": False}, id="no-reactor", marks=_CANNOT)
Settings = dict[str, Any]


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with serving(len(DONE_WHEN), lambda origins: interleaved(origins, DONE_WHEN)) as running:
        yield running


def crawl(project: Project, server: WebServer, *arguments: str, **settings: Any) -> Crawled:
    return project.crawl("pages", "-a", f"start={server.origins[0]}/hub", *arguments, **settings)


@pytest.mark.parametrize("reactor", [ASYNCIO, SELECT, NONE])
def test_crawl_that_ends_by_itself_has_stored_every_page(
    project: Project, server: WebServer, reactor: Settings
) -> None:
    crawled = crawl(project, server, **reactor)

    assert Counter(crawled.stored_ids) == Counter(pages_of(server.site))
    assert {line["report"]["released"] for line in crawled.stored} >= {"full", "quiet", "known"}


@pytest.mark.parametrize("reactor", [ASYNCIO, SELECT])
@pytest.mark.parametrize(
    "ending",
    [
        pytest.param({"CLOSESPIDER_ITEMCOUNT": 60}, id="item-count"),
        pytest.param({"CLOSESPIDER_TIMEOUT": 1, "DOWNLOAD_DELAY": 0.02}, id="timeout"),
        pytest.param({"CLOSESPIDER_PAGECOUNT": 5}, id="page-count-before-any-batch-is-full"),
    ],
)
def test_crawl_that_scrapy_closes_has_stored_what_was_yielded(
    project: Project, server: WebServer, reactor: Settings, ending: Settings
) -> None:
    crawled = crawl(project, server, **reactor, **ending)

    assert crawled.stats["finish_reason"].startswith("closespider_")
    assert crawled.count("release/closing") > 0


@pytest.mark.parametrize("reactor", [ASYNCIO, SELECT])
def test_crawl_that_a_callback_closes_has_stored_what_was_yielded(
    project: Project, server: WebServer, reactor: Settings
) -> None:
    crawled = crawl(project, server, "-a", "close_after=50", **reactor)

    assert crawled.stats["finish_reason"] == "enough"


@pytest.mark.parametrize("reactor", [ASYNCIO, SELECT, NONE])
def test_crawl_that_is_interrupted_has_stored_what_was_yielded(
    project: Project, server: WebServer, reactor: Settings
) -> None:
    running = project.start("pages", "-a", f"start={server.origins[0]}/hub", **reactor)
    running.send_when(signal.SIGINT, stored=40)
    crawled = running.finish()

    assert crawled.stats["finish_reason"] == "shutdown"
    all_accounted_for(crawled)
    assert len(crawled.stored) < len(pages_of(server.site))


@pytest.mark.parametrize("reactor", [ASYNCIO, SELECT])
def test_crawl_that_is_stopped_and_resumed_stores_every_page_once(
    project: Project, server: WebServer, reactor: Settings
) -> None:
    project.settings |= {"JOBDIR": "job", **reactor}

    parts = [crawl(project, server, "-a", "close_after=100") for _ in range(2)]
    parts.append(crawl(project, server))

    assert Counter(url for part in parts for url in part.stored_ids) == Counter(pages_of(server.site))


def test_second_crawl_may_store_every_page_again_and_parks_none(project: Project, server: WebServer) -> None:
    first = crawl(project, server)
    second = crawl(project, server, DEDUP_UNCHANGED="mark")

    assert first.count("items/parked") > 0
    assert second.count("items/parked") == 0
    assert Counter(second.stored_ids) == Counter(pages_of(server.site))


@pytest.mark.parametrize("stored", [10, 120, 300])
@pytest.mark.parametrize("jobdir", ["", "job"], ids=["without-jobdir", "with-jobdir"])
def test_crawl_that_was_killed_stores_all_that_is_missing_when_it_runs_again(
    project: Project, server: WebServer, jobdir: str, stored: int
) -> None:
    project.settings |= {"JOBDIR": jobdir} if jobdir else {}
    running = project.start("pages", "-a", f"start={server.origins[0]}/hub")
    running.send_when(signal.SIGKILL, stored=stored)
    killed = running.finish()
    again = crawl(project, server)

    assert killed.exit_code == -signal.SIGKILL
    times = Counter(killed.stored_ids + again.stored_ids)
    assert set(times) == pages_of(server.site)
    assert max(Counter(again.stored_ids).values()) == 1


def test_feed_of_a_crawl_that_was_killed_comes_again_whole(project: Project, server: WebServer) -> None:
    """A feed is written when it closes: what had passed the pipelines before the kill is not in it."""
    project.settings |= {"JOBDIR": "job"}
    running = project.start("pages", "-a", f"start={server.origins[0]}/hub")
    # Long enough for the store to have the first pages as completed.
    running.send_when(signal.SIGKILL, stored=300)
    running.finish()
    again = crawl(project, server)

    assert {item["url"] for item in again.fed} == pages_of(server.site)


def test_what_comes_again_after_a_kill_is_what_was_stored_last(project: Project, server: WebServer) -> None:
    """The store is written every second; what was stored before the last write but one never comes again.

    Without a feed: the storage that writes through is all the output there is.
    """
    project.settings |= {"JOBDIR": "job", "DOWNLOAD_DELAY": 0.02, "RANDOMIZE_DOWNLOAD_DELAY": False, "FEEDS": {}}
    running = project.start("pages", "-a", f"start={server.origins[0]}/hub")
    running.send_when(signal.SIGKILL, stored=200)
    killed = running.finish()
    again = crawl(project, server, DOWNLOAD_DELAY=0)

    assert set(killed.stored_ids) | set(again.stored_ids) == pages_of(server.site)
    repeated = set(killed.stored_ids) & set(again.stored_ids)
    last = max(line["at"] for line in killed.stored)
    assert not [line for line in killed.stored if line["id"] in repeated and line["at"] < last - 3]
    assert last - min(line["at"] for line in killed.stored) > 3, "the crawl was too short to tell"
