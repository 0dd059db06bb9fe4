"""When pages are asked for again; days pass in the store. Cases of the decision: tests/core/recrawl/test_plan.py."""

import pytest

from tests.end_to_end.crawling import ADDON, Project
from tests.end_to_end.recrawl_site import ChangingSite, copied, let_pass, reports_of, rows, statuses
from tests.server import Answer

PAGES = 5


@pytest.fixture(scope="module")
def seen(server, tmp_path_factory) -> Project:
    """A project that has crawled the site once; tests work on copies."""
    project = Project(tmp_path_factory.mktemp("seen"), dict(ADDON))
    ChangingSite(server, PAGES - 1).crawl(project, DEDUP_ADAPTIVE={"enabled": True})
    return project


@pytest.fixture
def project(seen, tmp_path) -> Project:
    return copied(seen, tmp_path / "project")


def test_fresh_pages_are_not_asked_for_but_chosen_ones_and_their_callbacks_run(project, site):
    let_pass(project, 6.9)
    skipping = site.crawl(project, DEDUP_FRESH_FOR=7, DEDUP_UNCHANGED="skip")
    asked = dict(site.asked)
    chosen = site.crawl(project, DEDUP_FRESH_FOR=7, DEDUP_REFRESH=[site.url("p1"), "*/p2"])

    assert asked == {}
    assert dict(site.asked) == {site.url("p1"): 1, site.url("p2"): 1}
    assert [len(crawled.yielded) for crawled in (skipping, chosen)] == [PAGES, PAGES]
    assert [len(crawled.stored) for crawled in (skipping, chosen)] == [0, PAGES]
    assert [crawled.count("unchanged/fresh") for crawled in (skipping, chosen)] == [PAGES, PAGES - 2]
    assert reports_of(chosen, "verdict") == {"unchanged"}


def test_patterns_and_pages_that_are_gone_have_their_own_time_and_time_runs_out(project, site):
    rules = {f"{site.url('p1')}*": "1h", site.origin.removeprefix("http://"): 7}
    asked = []
    for days in (6, 1, 29, 1):
        let_pass(project, days)
        site.publish(others={"/p2": Answer("gone", 404)})
        site.crawl(project, DEDUP_FRESH_FOR=rules, DEDUP_GONE_FOR=30)
        asked.append(dict(site.asked))

    assert asked[0] == {site.url("p1"): 1}
    # What stands for a page that was not asked for is no visit: the seven days are over.
    assert asked[1] == dict.fromkeys(site.everything, 1)
    assert [site.url("p2") in each for each in asked] == [False, True, False, True]


def test_interval_of_a_page_adapts_to_its_changes(project, site):
    """The first is a day; unchanged pages wait longer then, and one that changed is due before."""
    project.settings |= {"DEDUP_ADAPTIVE": {"enabled": True}}
    at_once = site.crawl(project)
    let_pass(project, 1)
    site.publish(versions={"p1": 2})
    after_a_day = site.crawl(project)
    asked_after_a_day = set(site.asked)
    let_pass(project, 1)
    site.publish()
    site.crawl(project)

    assert at_once.count("unchanged/adaptive") == PAGES
    assert asked_after_a_day == site.everything
    changed = [line for line in after_a_day.stored if line["report"]["verdict"] == "changed"]
    assert site.names_of(changed) == ["p1"]
    assert set(site.asked) == {site.url("p1")}


def test_what_is_held_too_long_is_made_anew(project, site):
    """A 304 or a wait does not make it younger."""
    project.settings |= {"DEDUP_CACHE_MAX_AGE": 10, "DEDUP_REUSE": "body", "DEDUP_AUDIT": 0}
    site.crawl(project)
    let_pass(project, 9)
    before = site.crawl(project)
    let_pass(project, 1)
    expired, afterwards = site.crawl(project), site.crawl(project)

    assert statuses(before) == {"304": PAGES}
    assert before.yielded == []
    assert len(expired.yielded) == len(expired.stored) == PAGES
    assert reports_of(expired, "verdict") == {"unchanged"}
    assert afterwards.yielded == []


def sitemap(site: ChangingSite, dates: dict[str, str]) -> Answer:
    entries = "".join(
        f"<url><loc>{site.url(name)}</loc><lastmod>{dates.get(name, '2020-02-02')}</lastmod></url>"
        for name in site.names
    )
    body = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</urlset>"
    return Answer(body, content_type="application/xml")


@pytest.mark.parametrize(
    ("announced", "asked", "counts"),
    [
        pytest.param(True, ["p3"], [(21, 0)], id="dates-of-changes"),
        pytest.param(False, None, [(0, 1)], id="dates-that-never-change"),
    ],
)
def test_dates_of_a_sitemap_spare_fetches_once_they_announced_changes(announced, asked, counts, make_project, server):
    """The same dates for pages that are the same prove nothing, on however many pages."""
    site, project = ChangingSite(server, 20), make_project("dated", **ADDON, DEDUP_SITEMAP_LASTMOD=True)
    changed = dict.fromkeys(site.names, 2) if announced else {}
    for versions in ({}, changed, {**changed, "p3": 3}):
        dates = {name: f"203{version}-01-01" for name, version in versions.items() if announced}
        site.publish(versions=versions, others={"/sitemap.xml": sitemap(site, dates)})
        crawled = project.crawl("of-sitemap", "-a", f"start={site.url('sitemap.xml')}")

    assert {site.url(name) for name in asked or site.names} == set(site.asked) - {site.url("sitemap.xml")}
    assert site.names_of([line for line in crawled.stored if line["report"]["verdict"] == "changed"]) == ["p3"]
    assert rows(project, "SELECT lastmod_right, lastmod_wrong FROM domain_validators") == counts
