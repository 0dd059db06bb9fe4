"""Who may say that the plugin acts otherwise, or not at all."""

from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.end_to_end.spiders.switches import Plain
from tests.server import Answer, Site, WebServer, redirect, serving
from tests.sites import html_page
from tests.tables import table

FOOTER = "all rights reserved"


def site(origins: list[str]) -> Site:
    pages = [f"{kind}/{n}" for kind in ("plain", *Plain.overrides) for n in range(6)]
    return {f"{origins[0]}/{page}": Answer(html_page(page)) for page in pages}


SERVED = 1, site


def crawl(project: Project, server: WebServer, spider: str = "plain", *arguments: str, **settings: Any) -> Crawled:
    return project.crawl(spider, "-a", f"start={' '.join(server.site)}", *arguments, **settings)


@table("end_to_end/switched_off")
def test_items_are_byte_identical_when_the_plugin_is_off(project, server, spider, settings):
    project.settings = settings
    crawled = crawl(project, server, spider)

    pages = {
        url: {"url": url, "html": str(answer.body)} for url, answer in server.site.items() if isinstance(answer, Answer)
    }
    assert crawled.items == pages
    assert not [name for name in crawled.stats if name.startswith("dedup/")]
    assert not (project.folder / ".scrapy" / "dedup.db").exists()


def test_redirects_pass_a_spider_that_is_switched_off(project):
    """The fingerprinter is there all the same, for it is set before the spider's attributes can be read."""
    with serving(
        1, lambda origins: {f"{origins[0]}/hub": redirect("/new"), f"{origins[0]}/new": Answer(html_page("new"))}
    ) as server:
        crawled = crawl(project, server, "off-by-attribute")

    assert len(crawled.stored) == 1


@pytest.fixture(scope="module")
def mixed(server, tmp_path_factory) -> Crawled:
    project = Project(tmp_path_factory.mktemp("mixed"), dict(ADDON))
    crawled = crawl(project, server, clean=False)
    assert crawled.exit_code == 0
    return crawled


def of_kind(crawled: Crawled, kind: str) -> list[dict[str, Any]]:
    return [item for item in crawled.fed if f"/{kind}/" in item["url"]]


@pytest.mark.parametrize("kind", ["off", "off-by-dict"])
def test_request_that_wants_to_be_left_alone_is(mixed, kind):
    assert [set(item) for item in of_kind(mixed, kind)] == [{"url", "html"}] * 6
    assert mixed.count("left/disabled") == 12


@pytest.mark.parametrize("kind", ["plain", "on", "unknown", "out-of-range", "nonsense"])
def test_request_without_a_valid_override_is_cleaned(mixed, kind):
    texts = [item["cleaned_content"] for item in of_kind(mixed, kind)]

    assert len(texts) == 6
    assert all(text.startswith("# On ") and FOOTER not in text for text in texts)


def test_wrong_override_is_told_once(mixed):
    assert mixed.log.count("no_such_thing is not a setting") == 1
    assert mixed.log.count("min_pages=0: needs 2 to 100") == 1
    assert mixed.log.count('request.meta["dedup"] is 3.5; it needs True, False or a dict of settings') == 1


def test_request_may_override_single_settings(mixed):
    assert all(item["cleaned_content"].startswith("On ") for item in of_kind(mixed, "as-text"))
    assert all(FOOTER in item["cleaned_content"] for item in of_kind(mixed, "whole"))


@table("end_to_end/spider_may_override_the_project")
def test_spider_may_override_the_project(project, server, spider, arguments):
    urls = [url for url in server.site if "/plain/" in url]
    crawled = project.crawl(spider, "-a", f"start={' '.join(urls)}", *arguments, DEDUP_OUTPUT="html")

    assert all(item["cleaned_content"].startswith("On ") for item in crawled.fed)
