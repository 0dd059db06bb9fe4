"""What is reported as removed: never too early, never too much."""

from collections.abc import Callable
from hashlib import sha256
from shutil import rmtree
from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, BASE, Crawled, Project
from tests.end_to_end.recrawl_site import ChangingSite, copied, rows
from tests.server import Answer, redirect

NAMES = [f"p{number}" for number in range(11)]
GONE = "SELECT url FROM documents WHERE gone_at IS NOT NULL ORDER BY url"


def at_once(**removed: float) -> dict[str, Any]:
    return {"DEDUP_REMOVED": {"after": 1, "emit": True, **removed}}


AT_ONCE = at_once()


@pytest.fixture
def site(server) -> ChangingSite:
    site = ChangingSite(server, len(NAMES))
    site.publish(others=sitemaps(site))
    return site


@pytest.fixture(scope="module")
def seen(server, tmp_path_factory) -> Project:
    """A project that has crawled the site once, by its links and by its sitemaps; tests work on copies."""
    project = Project(tmp_path_factory.mktemp("seen"), {**ADDON, "DEDUP_UNCHANGED": "skip"})
    site = ChangingSite(server, len(NAMES))
    site.publish(others=sitemaps(site))
    crawl(project, site)
    return project


@pytest.fixture
def project(seen, tmp_path) -> Project:
    return copied(seen, tmp_path / "project")


def sitemaps(site: ChangingSite) -> dict[str, Answer]:
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
    site.names = [name for name in NAMES if name not in names]
    site.publish(others=sitemaps(site) | {f"/{path}": answer for path, answer in others.items()})


def tombstones(crawled: Crawled) -> list[str]:
    return [line["id"] for line in crawled.stored if line["report"].get("verdict") == "removed"]


def test_deleted_page_is_reported_after_exactly_so_many_complete_runs(project, site):
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


def test_page_that_comes_back_is_new(project, site):
    without(site, "p3")
    gone = crawl(project, site, **AT_ONCE)
    without(site)

    crawled = crawl(project, site, **AT_ONCE)

    assert [line["id"] for line in crawled.stored] == [site.url("p3")]
    assert [line["report"]["reason"] for line in gone.stored] == ["not found by 1 complete run"]
    assert crawled.reports[site.url("p3")]["reason"] == "back after it was removed"
    assert rows(project, GONE) == []


def test_removed_pages_are_noted_without_tombstones_by_default(project, site):
    without(site, "p3")
    crawled = crawl(project, site, DEDUP_REMOVED={"after": 1})

    assert crawled.stored == []
    assert rows(project, GONE) == [(site.url("p3"),)]
    assert rows(project, "SELECT fetched, verdict FROM visits WHERE verdict = 'removed'") == [("skip", "removed")]


BUSY = Answer("busy", 503)
INCOMPLETE: dict[str, tuple[dict[str, Any], Callable[[], dict[str, Answer]]]] = {
    "interrupted": ({"CLOSESPIDER_PAGECOUNT": 3}, dict),
    "half-of-the-site-at-503": ({}, lambda: dict.fromkeys(NAMES[::2], BUSY)),
    "failed-sitemap": ({}, lambda: {"sitemap-1.xml": BUSY}),
    "sitemap-that-is-gone": ({}, lambda: {"sitemap-1.xml": Answer("gone", 404)}),
    "half-of-the-site-too-slow": (
        {"DOWNLOAD_TIMEOUT": 0.3},
        lambda: dict.fromkeys(NAMES[::2], Answer("late", delay_seconds=0.6)),
    ),
}


@pytest.mark.parametrize("case", INCOMPLETE)
def test_run_that_is_not_complete_removes_nothing(project, site, case):
    settings, others = INCOMPLETE[case]
    site.publish(others=sitemaps(site))
    without(site, "p3", **others())

    crawled = crawl(project, site, clean=False, RETRY_ENABLED=False, **at_once(max_share=1.0), **settings)

    assert crawled.exit_code == 0
    assert tombstones(crawled) == []
    assert rows(project, GONE) == []
    assert rows(project, "SELECT max(missed_runs) FROM documents") == [(0,)]


def test_not_too_many_pages_are_removed_without_a_word(project, site):
    """Three of eleven are more than a fifth; with the user's word they go."""
    without(site, "p3", "p4", "p5")
    held, with_word = crawl(project, site, **AT_ONCE), crawl(project, site, **at_once(max_share=0.3))

    assert tombstones(held) == []
    assert held.count("removed/held_back") == 3
    assert "crawl once with a larger share" in held.log
    assert sorted(tombstones(with_word)) == [site.url(name) for name in ("p3", "p4", "p5")]


def test_tombstone_that_did_not_arrive_comes_again(project, site):
    without(site, "p3")
    pipelines = {**BASE["ITEM_PIPELINES"], "tests.end_to_end.recrawl_pipelines.Failing": 600}
    settings = {**AT_ONCE, "ITEM_PIPELINES": pipelines}

    failed = crawl(project, site, clean=False, FAILS=["p3"], **settings)
    again, afterwards = crawl(project, site, **settings), crawl(project, site, **settings)

    assert (failed.failed, tombstones(failed)) == ([site.url("p3")], [])
    assert tombstones(again) == [site.url("p3")]
    assert tombstones(afterwards) == []


LISTS = {"": ["few", "many"], "few": ["a0", "a1", "a2"], "many": [f"b{number}" for number in range(14)]}


def listed(site: ChangingSite, lists: dict[str, list[str]] = LISTS, **others: Answer) -> None:
    """Put a home page, two lists and their pages on the server; a page that nothing links to is there still."""
    found = {}
    for name in ("", *(name for names in LISTS.values() for name in names)):
        links = "".join(f'<li><a href="/{one}">All about {one}</a></li>' for one in lists.get(name, ()))
        body = site.html(name or "home").replace("</main>", f"<ul>{links}</ul></main>")
        found[f"/{name}"] = Answer(body, headers={"ETag": f'"{hash_of(body)}"'})
    site.publish(names=[], others=found | {f"/{name.replace('_', '.')}": answer for name, answer in others.items()})


def hash_of(body: str) -> str:
    return sha256(body.encode()).hexdigest()[:16]


@pytest.fixture(scope="module")
def walked(server, tmp_path_factory) -> Project:
    """A project that has crawled the lists once; tests work on copies."""
    project = Project(tmp_path_factory.mktemp("walked"), {**ADDON, "DEDUP_UNCHANGED": "skip", **at_once(max_share=0.5)})
    site = ChangingSite(server, 0)
    listed(site)
    site.crawl(project, "breaks-at-once")
    return project


def gone_after(crawled: Crawled) -> list[str]:
    return sorted(url.rpartition("/")[2] for url in tombstones(crawled))


BROKEN: dict[str, tuple[dict[str, Any], dict[str, Answer]]] = {
    "500": ({}, {"few": BUSY}),
    "callback-that-raises": ({"BREAKS": ["few"]}, {}),
    "login": ({}, {"few": redirect("/login"), "login": Answer("<p>Who are you?</p>")}),
    "login-unnoted": (
        {"DEDUP_LAYERS": {"canonical": False}},
        {"few": redirect("/login"), "login": Answer("<p>Who are you?</p>")},
    ),
    "too-slow": ({"DOWNLOAD_TIMEOUT": 0.5}, {"few": Answer("late", delay_seconds=1.5)}),
    "too-large": ({"DOWNLOAD_MAXSIZE": 200_000}, {"few": Answer("x" * 300_000)}),
    "robots": ({"ROBOTSTXT_OBEY": True}, {"robots_txt": Answer("User-agent: *\nDisallow: /few", 200, "text/plain")}),
}


@pytest.mark.parametrize("case", BROKEN)
def test_pages_behind_a_list_that_was_not_read_are_not_missing(walked, site, tmp_path, case):
    project = copied(walked, tmp_path / "project")
    settings, others = BROKEN[case]
    listed(site, LISTS, **others)

    crawled = site.crawl(project, "breaks-at-once", clean=False, RETRY_ENABLED=False, **settings)

    assert [name for name in gone_after(crawled) if name != "few"] == []
    assert rows(project, "SELECT max(missed_runs) FROM documents WHERE url NOT LIKE '%few'") == [(0,)]


@pytest.mark.parametrize(
    ("lists", "others", "gone"),
    [
        pytest.param({**LISTS, "few": ["a0", "a2"]}, {}, ["a1"], id="page"),
        pytest.param({**LISTS, "": ["many"]}, {}, ["a0", "a1", "a2", "few"], id="section-that-nothing-links-to"),
        pytest.param(LISTS, {"few": Answer("gone", 410)}, ["a0", "a1", "a2", "few"], id="list-that-is-gone"),
    ],
)
def test_pages_behind_a_list_that_was_read_or_that_is_gone_are_missing(walked, site, tmp_path, lists, others, gone):
    project = copied(walked, tmp_path / "project")
    listed(site, lists, **others)

    assert gone_after(site.crawl(project, "breaks-at-once")) == gone


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"DEDUP_REUSE": "body", "DEDUP_AUDIT": 0}, id="callbacks-replaced"),
        pytest.param({"DEDUP_FRESH_FOR": {"*/few": 0, "*": 7}}, id="answered-from-the-store"),
        pytest.param({"JOBDIR": "job"}, id="queue-on-disk"),
    ],
)
def test_lists_that_are_not_read_anew_count_as_read(walked, site, tmp_path, settings):
    """In the crawl in which they are seen as well as in the one that misses a page."""
    project = copied(walked, tmp_path / "project")
    project.settings |= settings
    for known in (LISTS, {**LISTS, "few": ["a0", "a2"]}):
        listed(site, known)
        crawled = site.crawl(project, "breaks-at-once")
        rmtree(project.folder / "job", ignore_errors=True)

    assert gone_after(crawled) == ["a1"]
