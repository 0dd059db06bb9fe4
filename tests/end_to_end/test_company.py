"""The plugin among pipelines, middlewares and settings that its author did not choose: nothing is lost or hangs."""

from collections import Counter
from typing import Any

from tests.end_to_end.crawling import Crawled, Project
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page, interleaved, pages_of
from tests.tables import table

SIZES = (3, 17)
STORAGE = {"tests.end_to_end.recorders.Storage": 800}


SERVED = len(SIZES), lambda origins: interleaved(origins, SIZES)


def crawl(project: Project, server: WebServer, **settings: Any) -> Crawled:
    return project.crawl("pages", "-a", f"start={server.origins[0]}/hub", **settings)


def test_items_that_are_renamed_later_or_kept_by_a_middleware_and_pages_that_are_retried_are_done_once(project):
    def flaky(origins: list[str]) -> Any:
        pages = interleaved(origins, SIZES)
        return {
            url: (lambda times, page=page: page if times > 1 else Answer("busy", 503)) for url, page in pages.items()
        }

    with serving(len(SIZES), flaky) as server:
        pipelines = {"tests.end_to_end.company.Renaming": 500, **STORAGE}
        filtering = {"tests.end_to_end.company.Filtering": 500}
        crawled = crawl(project, server, ITEM_PIPELINES=pipelines, SPIDER_MIDDLEWARES=filtering)

    found = Counter(crawled.stored_ids)
    assert found == dict.fromkeys(found, 1)
    assert found.keys() < pages_of(server.site)
    assert len(found) == len(pages_of(server.site)) * 2 // 3


@table("end_to_end/crawl_ends_with_every_page_under_any_settings")
def test_crawl_ends_with_every_page_under_any_settings(project, server, settings):
    crawled = crawl(project, server, **settings)

    assert Counter(crawled.stored_ids) == Counter(pages_of(server.site))


def linked_twice(origins: list[str]) -> Site:
    """A hub, a second hub with the same links, and the pages."""
    here = origins[0]
    urls = [f"{here}/p{n}" for n in range(4)]
    pages = {url: Answer(html_page(url)) for url in urls}
    hub, again = html_page("hub", links=[*urls, f"{here}/again/hub"]), html_page("again", links=urls)
    return {f"{here}/hub": Answer(hub), f"{here}/again/hub": Answer(again), **pages}


def test_those_who_listen_hear_of_every_request_as_without_the_plugin(project):
    extensions = {"tests.end_to_end.company.Counting": 0, "tests.end_to_end.recorders.Ledger": 0}
    with serving(1, linked_twice) as server:
        crawled = crawl(project, server, EXTENSIONS=extensions)

    assert crawled.stats["told/scheduled"] == 1 + 5 + 4
    assert crawled.stats["told/dropped"] == crawled.stats["dupefilter/filtered"] == 4
