"""A site is crawled again: what did not change is not sent, and each item says what became of its page."""

import pytest

from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.end_to_end.recrawl_site import ChangingSite, copied, reports_of, rows, statuses, verdicts
from tests.server import Answer, WebServer
from tests.tables import table

PAGES = 7
"""Of the site, with its home page."""

History = tuple[ChangingSite, list[Crawled], list[dict[str, int]]]


@pytest.fixture(scope="module", params=[True, False], ids=["validators", "no-validators"])
def history(request, server, tmp_path_factory) -> History:
    """Two crawls of one site, and what each asked for."""
    site = ChangingSite(server, PAGES - 1, validators=request.param)
    project = Project(tmp_path_factory.mktemp("history"), dict(ADDON))
    crawls, asked = [], []
    for _ in range(2):
        site.publish()
        crawls.append(site.crawl(project))
        asked.append(dict(site.asked))
    return site, crawls, asked


def test_all_is_new_in_a_cold_crawl_and_unchanged_in_a_warm_one(history):
    """Of the first pages nothing was known when they were first judged; what has validators is not sent again."""
    site, (first, *later), _ = history

    assert verdicts(first) == {"new": PAGES}
    assert len(first.stored) == PAGES
    for crawled in later:
        assert verdicts(crawled) == {"unchanged": PAGES}
        assert reports_of(crawled, "verdict") == {"unchanged"}
        assert statuses(crawled) == {"304" if site.validators else "200": PAGES}


def test_every_callback_runs_every_page_is_reached_and_its_text_is_what_it_was(history):
    site, (first, *later), (_, *asked) = history

    for crawled, of_crawl in zip(later, asked, strict=True):
        assert sorted(crawled.yielded) == sorted(first.yielded)
        assert of_crawl == dict.fromkeys(site.everything, 1)
        texts = {url: item["cleaned_content"] for url, item in crawled.items.items()}
        assert texts == {url: item["cleaned_content"] for url, item in first.items.items()}


@pytest.fixture(scope="module")
def seen(server, tmp_path_factory) -> Project:
    """A project that has crawled the site once; tests work on copies."""
    project = Project(tmp_path_factory.mktemp("seen"), dict(ADDON))
    a_site(server).crawl(project)
    return project


def a_site(server: WebServer) -> ChangingSite:
    site = ChangingSite(server)
    site.publish(notes={"p4": "<p>Price: 17.50</p>"})
    return site


@pytest.fixture
def project(seen, tmp_path) -> Project:
    return copied(seen, tmp_path / "project")


@pytest.fixture
def site(seen, server) -> ChangingSite:
    """The site as it was crawled."""
    return a_site(server)


def test_item_of_the_page_that_changed_says_so_and_how(project, site):
    stored = "SELECT lower(hex(content_hash)) FROM documents WHERE url = ?"
    ((before,),) = rows(project, stored, site.url("p3"))
    site.publish(versions={"p3": 2})

    crawled = site.crawl(project, DEDUP_DIFF=True)

    ((after,),) = rows(project, stored, site.url("p3"))

    assert len(crawled.stored) == len(crawled.fed) == PAGES
    assert verdicts(crawled) == {"changed": 1, "unchanged": PAGES - 1}
    verdict = {url.removeprefix(site.url("")): report["verdict"] for url, report in crawled.reports.items()}
    assert verdict == dict.fromkeys(("", *site.names), "unchanged") | {"p3": "changed"}
    report = crawled.reports[site.url("p3")]
    assert report["change"] == "content"
    assert report["reason"].startswith("main text differs: ")
    assert (report["previous_hash"], report["content_hash"]) == (before, after)
    assert before != after
    assert report["previous_seen_at"] < crawled.stats["finish_time"].replace(" ", "T")
    assert "\n-" in report["diff"]


def test_page_behind_a_new_link_in_a_menu_is_found(project, site):
    """No main text changed."""
    site.publish(menu=["offers"])

    crawled = site.crawl(project)

    assert site.names_of(crawled.stored) == ["", "offers", *site.names]
    assert verdicts(crawled) == {"new": 1, "unchanged": PAGES}


@table("end_to_end/user_chooses_which_changes_count")
def test_user_chooses_which_changes_count(project, site, classes, changed):
    site.publish(versions={"p1": 2}, titles={"p2": "Another title"}, notes={"p4": "<p>Price: 19.90</p>"})

    crawled = site.crawl(project, DEDUP_CHANGE_CLASSES=classes)

    assert site.names_of([line for line in crawled.stored if line["report"]["verdict"] == "changed"]) == changed


def test_run_does_not_matter_the_last_acknowledged_visit_does(project, site):
    """A page that changes and changes back has changed twice; a page that failed in between has not changed."""
    busy = {"/p4": Answer("busy", 503)}
    found = []
    for changes in ({"versions": {"p3": 2}}, {"versions": {}, "others": busy}):
        site.publish(**changes)
        crawled = site.crawl(project, RETRY_ENABLED=False)
        found.append([line["id"] for line in crawled.stored if line["report"]["verdict"] == "changed"])
    site.publish(others={})
    last = site.crawl(project)

    assert found == [[site.url("p3")]] * 2
    assert verdicts(last) == {"unchanged": PAGES}
