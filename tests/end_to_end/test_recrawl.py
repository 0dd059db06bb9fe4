"""A site is crawled again: what did not change is neither sent, nor extracted, nor emitted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, Crawled, Project, lines_of
from tests.end_to_end.recrawl_site import ChangingSite, copied, rows, statuses, verdicts
from tests.server import Answer, WebServer
from tests.tables import table

pytestmark = pytest.mark.crawl

PAGES = 7
"""Of the site, with its home page."""


History = tuple[ChangingSite, list[Crawled], list[dict[str, int]]]


@pytest.fixture(scope="module", params=[True, False], ids=["validators", "no-validators"])
def history(request: pytest.FixtureRequest, server: WebServer, tmp_path_factory: pytest.TempPathFactory) -> History:
    """Three crawls of one site, and what each asked for."""
    site = ChangingSite(server, PAGES - 1, validators=request.param)
    project = Project(tmp_path_factory.mktemp("history"), dict(ADDON))
    crawls, asked = [], []
    for _ in range(3):
        site.publish()
        crawls.append(site.crawl(project))
        asked.append(dict(site.asked))
    return site, crawls, asked


def test_first_crawl_is_of_new_pages(history: History) -> None:
    _, (first, *_), _ = history

    assert verdicts(first) == {"new": PAGES}
    assert len(first.stored) == PAGES


def test_nothing_changed_between_a_cold_and_a_warm_crawl(history: History) -> None:
    """Of the first pages nothing was known when they were first judged."""
    _, (_, *later), _ = history

    for crawled in later:
        assert verdicts(crawled) == {"unchanged": PAGES}
        assert crawled.stored == []


def test_no_callback_runs_and_every_page_is_reached(history: History) -> None:
    site, (_, *later), (_, *asked) = history

    for crawled, of_crawl in zip(later, asked, strict=True):
        assert crawled.yielded == []
        assert crawled.count("unchanged/replayed") == PAGES
        assert of_crawl == dict.fromkeys(site.everything, 1)


def test_pages_are_not_sent_again_where_the_server_gives_validators(history: History) -> None:
    site, (first, *later), _ = history

    for crawled in later:
        assert statuses(crawled) == {"304" if site.validators else "200": PAGES}
        if site.validators:
            assert crawled.stats["downloader/response_bytes"] <= 0.05 * first.stats["downloader/response_bytes"]


@pytest.fixture(scope="module")
def seen(server: WebServer, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project that has crawled the site once; tests work on copies."""
    project = Project(tmp_path_factory.mktemp("seen"), dict(ADDON))
    a_site(server).crawl(project)
    return project


def a_site(server: WebServer) -> ChangingSite:
    site = ChangingSite(server)
    site.publish(notes={"p4": "<p>Price: 17.50</p>"})
    return site


@pytest.fixture
def project(seen: Project, tmp_path: Path) -> Project:
    return copied(seen, tmp_path / "project")


@pytest.fixture
def site(seen: Project, server: WebServer) -> ChangingSite:
    """The site as it was crawled."""
    return a_site(server)


def test_exactly_the_page_that_changed_is_emitted_behind_an_unchanged_start_page(
    project: Project, site: ChangingSite
) -> None:
    site.publish(versions={"p3": 2})

    crawled = site.crawl(project, DEDUP_DIFF=True)

    assert site.names_of(crawled.stored) == site.names_of(crawled.fed) == ["p3"]
    assert crawled.yielded == [site.url("p3")]
    assert verdicts(crawled) == {"changed": 1, "unchanged": PAGES - 1}
    report = crawled.reports[site.url("p3")]
    assert (report["verdict"], report["change"]) == ("changed", "content")
    assert report["reason"].startswith("main text differs: ")
    assert report["content_hash"] != report["previous_hash"]
    assert report["previous_seen_at"] < crawled.stats["finish_time"].replace(" ", "T")
    assert "\n-" in report["diff"]


def test_what_is_emitted_has_the_hash_of_the_version_that_the_next_crawl_finds(
    project: Project, site: ChangingSite
) -> None:
    ((before,),) = rows(project, "SELECT lower(hex(content_hash)) FROM documents WHERE url = ?", site.url("p3"))
    site.publish(versions={"p3": 2})

    report = site.crawl(project).reports[site.url("p3")]

    ((after,),) = rows(project, "SELECT lower(hex(content_hash)) FROM documents WHERE url = ?", site.url("p3"))
    assert (report["previous_hash"], report["content_hash"]) == (before, after)
    assert rows(project, "SELECT count(*) FROM extractions WHERE lower(hex(content_hash)) = ?", after) == [(1,)]


def test_page_behind_a_new_link_in_a_menu_is_found(project: Project, site: ChangingSite) -> None:
    """No main text changed. Callbacks run for their links; what they yield else is left out."""
    site.publish(menu=["offers"])

    crawled = site.crawl(project)

    assert site.names_of(crawled.stored) == ["offers"]
    assert verdicts(crawled) == {"new": 1, "unchanged": PAGES}
    assert crawled.count("unchanged/items") == len(crawled.yielded) - 1


@table("end_to_end/user_chooses_which_changes_count")
def test_user_chooses_which_changes_count(
    project: Project, site: ChangingSite, classes: list[str], emitted: list[str]
) -> None:
    site.publish(versions={"p1": 2}, titles={"p2": "Another title"}, notes={"p4": "<p>Price: 19.90</p>"})

    crawled = site.crawl(project, DEDUP_CHANGE_CLASSES=classes)

    assert site.names_of(crawled.stored) == emitted


def test_page_without_items_is_compared_too(make_project: Callable[..., Project], site: ChangingSite) -> None:
    project = make_project("no-items", **ADDON)
    found = []
    for version in (1, 1, 2):
        site.publish(versions={"p3": version})
        found.append(verdicts(site.crawl(project, "no-items")))

    assert found == [{"new": PAGES}, {"unchanged": PAGES}, {"unchanged": PAGES - 1, "changed": 1}]


MODES: dict[str, dict[str, Any]] = {
    "skip": {"emitted": ["p3"], "callbacks": 1, "statuses": {"304": PAGES - 1, "200": 1}},
    "replay": {"emitted": ["", "p0", "p1", "p2", "p3", "p4", "p5"], "callbacks": 1, "statuses": {"304": 6, "200": 1}},
    "mark": {"emitted": ["", "p0", "p1", "p2", "p3", "p4", "p5"], "callbacks": PAGES, "statuses": {"200": PAGES}},
}


@pytest.mark.parametrize("mode", MODES)
def test_items_of_unchanged_pages_are_left_out_given_again_or_marked(
    project: Project, site: ChangingSite, mode: str
) -> None:
    site.publish(versions={"p3": 2})

    crawled = site.crawl(project, DEDUP_UNCHANGED=mode)

    assert site.names_of(crawled.fed) == MODES[mode]["emitted"]
    assert len(crawled.yielded) == MODES[mode]["callbacks"]
    assert statuses(crawled) == MODES[mode]["statuses"]
    for url, report in crawled.reports.items():
        changed = url == site.url("p3")
        assert report["verdict"] == ("changed" if changed else "unchanged")
        assert report.get("replayed", False) is (mode == "replay" and not changed)


def test_items_that_are_given_again_are_what_they_were(project: Project, seen: Project, site: ChangingSite) -> None:
    first = {item["url"]: item for item in lines_of(seen.folder / "feed.jsonl")}
    crawled = site.crawl(project, DEDUP_UNCHANGED="replay")

    assert crawled.items.keys() == first.keys()
    assert all(crawled.items[url]["cleaned_content"] == item["cleaned_content"] for url, item in first.items())
    assert all(report["previous_seen_at"] for report in crawled.reports.values())


def test_user_is_told_that_a_feed_will_hold_the_changes_only(project: Project, site: ChangingSite) -> None:
    feeds = {"all.jsonl": {"format": "jsonlines", "overwrite": True}}

    told = [site.crawl(project, FEEDS=feeds, DEDUP_UNCHANGED=mode).log for mode in ("skip", "replay")]

    assert ["DEDUP_UNCHANGED=replay makes it complete" in log for log in told] == [True, False]


def test_layer_can_be_switched_off(project: Project, site: ChangingSite) -> None:
    crawled = site.crawl(project, DEDUP_UNCHANGED_ENABLED=False)

    assert len(crawled.stored) == PAGES
    assert statuses(crawled) == {"200": PAGES}
    assert verdicts(crawled) == {}


def test_run_does_not_matter_the_last_acknowledged_visit_does(project: Project, site: ChangingSite) -> None:
    """A page that changes and changes back has changed twice; a page that failed in between has not changed."""
    versions = [{"p3": 2}, {}]
    emitted = []
    for version in versions:
        site.publish(versions=version)
        emitted.append(site.names_of(site.crawl(project).stored))
    site.publish(others={"/p4": Answer("busy", 503)})
    site.crawl(project, RETRY_ENABLED=False)
    site.publish(others={})
    last = site.crawl(project)

    assert emitted == [["p3"], ["p3"]]
    assert last.stored == []
    assert verdicts(last) == {"unchanged": PAGES}
