"""What is reported as removed: never too early, never too much."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, BASE, Crawled, Project
from tests.end_to_end.recrawl_site import ChangingSite, copied, rows
from tests.server import Answer, WebServer

NAMES = [f"p{number}" for number in range(11)]
GONE = "SELECT url FROM documents WHERE gone_at IS NOT NULL ORDER BY url"


def at_once(**removed: float) -> dict[str, Any]:
    return {"DEDUP_REMOVED": {"after": 1, "emit": True, **removed}}


AT_ONCE = at_once()


@pytest.fixture
def site(server: WebServer) -> ChangingSite:
    site = ChangingSite(server, len(NAMES))
    site.publish(others=sitemaps(site))
    return site


@pytest.fixture(scope="module")
def seen(server: WebServer, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project that has crawled the site once, by its links and by its sitemaps; tests work on copies."""
    project = Project(tmp_path_factory.mktemp("seen"), {**ADDON, "DEDUP_UNCHANGED": "skip"})
    site = ChangingSite(server, len(NAMES))
    site.publish(others=sitemaps(site))
    crawl(project, site)
    return project


@pytest.fixture
def project(seen: Project, tmp_path: Path) -> Project:
    return copied(seen, tmp_path / "project")


def sitemaps(site: ChangingSite) -> dict[str, Answer]:
    """Return two, each with half of the pages."""
    found = {}
    for number, names in enumerate((site.names[::2], site.names[1::2])):
        urls = "".join(f"<url><loc>{site.url(name)}</loc></url>" for name in names)
        body = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{urls}</urlset>"
        found[f"/sitemap-{number}.xml"] = Answer(body, content_type="application/xml")
    return found


def crawl(project: Project, site: ChangingSite, **settings: Any) -> Crawled:
    starts = [site.url(f"sitemap-{number}.xml") for number in (0, 1)]
    return project.crawl("of-sitemap", "-a", f"start={' '.join(starts)}", **settings)


def without(site: ChangingSite, *names: str, **others: Answer) -> None:
    """Take pages from the site."""
    site.names = [name for name in NAMES if name not in names]
    site.publish(others=sitemaps(site) | {f"/{path}": answer for path, answer in others.items()})


def tombstones(crawled: Crawled) -> list[str]:
    return [line["id"] for line in crawled.stored if line["report"].get("verdict") == "removed"]


def test_deleted_page_is_reported_after_exactly_so_many_complete_runs(project: Project, site: ChangingSite) -> None:
    without(site, "p3")
    found = [crawl(project, site, DEDUP_REMOVED={"after": 2, "emit": True}) for _ in range(3)]

    assert [tombstones(crawled) for crawled in found] == [[], [site.url("p3")], []]
    assert rows(project, GONE) == [(site.url("p3"),)]
    (item,) = found[-2].fed
    assert item.keys() == {"url", "dedup"}
    assert item["url"] == site.url("p3")
    assert item["dedup"]["reason"] == "not found by 2 complete runs"
    assert item["dedup"]["previous_seen_at"]
    assert found[-2].count("removed/tombstones") == 1


def test_page_that_is_linked_and_gone_is_removed(project: Project, site: ChangingSite) -> None:
    site.publish(others=sitemaps(site) | {"/p3": Answer("gone", 410)})

    assert tombstones(crawl(project, site, **AT_ONCE)) == [site.url("p3")]


def test_page_that_comes_back_is_new(project: Project, site: ChangingSite) -> None:
    without(site, "p3")
    gone = crawl(project, site, **AT_ONCE)
    without(site)

    crawled = crawl(project, site, **AT_ONCE)

    assert [line["id"] for line in crawled.stored] == [site.url("p3")]
    assert [line["report"]["reason"] for line in gone.stored] == ["not found by 1 complete run"]
    assert crawled.reports[site.url("p3")]["reason"] == "back after it was removed"
    assert rows(project, GONE) == []


def test_removed_pages_are_noted_without_tombstones_by_default(project: Project, site: ChangingSite) -> None:
    without(site, "p3")
    crawled = crawl(project, site, DEDUP_REMOVED={"after": 1})

    assert crawled.stored == []
    assert rows(project, GONE) == [(site.url("p3"),)]
    assert rows(project, "SELECT fetched, verdict FROM visits WHERE verdict = 'removed'") == [("skip", "removed")]


BUSY = Answer("busy", 503)
CUT_OFF = Answer("<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http", 200)
INCOMPLETE: dict[str, tuple[dict[str, Any], Callable[[], dict[str, Answer]]]] = {
    "interrupted": ({"CLOSESPIDER_PAGECOUNT": 3}, dict),
    "half-of-the-site-at-503": ({}, lambda: dict.fromkeys(NAMES[::2], BUSY)),
    "failed-sitemap": ({}, lambda: {"sitemap-1.xml": BUSY}),
    "sitemap-that-is-gone": ({}, lambda: {"sitemap-1.xml": Answer("gone", 404)}),
    "sitemap-that-is-cut-off": ({}, lambda: {"sitemap-1.xml": CUT_OFF}),
    "half-of-the-site-too-slow": (
        {"DOWNLOAD_TIMEOUT": 0.3},
        lambda: dict.fromkeys(NAMES[::2], Answer("late", delay_seconds=0.6)),
    ),
}


@pytest.mark.parametrize("case", INCOMPLETE)
def test_run_that_is_not_complete_removes_nothing(project: Project, site: ChangingSite, case: str) -> None:
    settings, others = INCOMPLETE[case]
    site.publish(others=sitemaps(site))
    without(site, "p3", **others())

    crawled = crawl(project, site, clean=False, RETRY_ENABLED=False, **at_once(max_share=1.0), **settings)

    assert crawled.exit_code == 0
    assert tombstones(crawled) == []
    assert rows(project, GONE) == []
    assert rows(project, "SELECT max(missed_runs) FROM documents") == [(0,)]


def test_not_too_many_pages_are_removed_without_a_word(project: Project, site: ChangingSite) -> None:
    """Three of eleven are more than a fifth; with the user's word they go."""
    without(site, "p3", "p4", "p5")
    held, with_word = crawl(project, site, **AT_ONCE), crawl(project, site, **at_once(max_share=0.3))

    assert tombstones(held) == []
    assert held.count("removed/held_back") == 3
    assert "crawl once with a larger share" in held.log
    assert sorted(tombstones(with_word)) == [site.url(name) for name in ("p3", "p4", "p5")]


def test_tombstone_that_did_not_arrive_comes_again(project: Project, site: ChangingSite) -> None:
    without(site, "p3")
    pipelines = {**BASE["ITEM_PIPELINES"], "tests.end_to_end.recrawl_pipelines.Failing": 600}
    settings = {**AT_ONCE, "ITEM_PIPELINES": pipelines}

    failed = crawl(project, site, clean=False, FAILS=["p3"], **settings)
    again, afterwards = crawl(project, site, **settings), crawl(project, site, **settings)

    assert (failed.failed, tombstones(failed)) == ([site.url("p3")], [])
    assert tombstones(again) == [site.url("p3")]
    assert tombstones(afterwards) == []
