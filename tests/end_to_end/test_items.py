"""Items of any kind go out with their cleaned text, whatever they bring."""

import json

import pytest

from tests.end_to_end.crawling import ADDON, Crawled, Project, all_accounted_for
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page, prose

PAGES = [f"p{n}" for n in range(8)]
FOOTER = "harbour office"
# The bytes alone do not tell which charset it is: there is no meta element.
LATIN = Answer(
    "<html><body><p>Größe für Straße</p></body></html>".encode("iso-8859-15"),
    content_type="text/html; charset=iso-8859-15",
)


def pages_alone(origins: list[str]) -> Site:
    return {f"{origins[0]}/{page}": Answer(html_page(page)) for page in PAGES}


SERVED = 1, pages_alone


def start_of(server: WebServer) -> str:
    return "start=" + " ".join(server.site)


@pytest.fixture(scope="module")
def crawled(server, tmp_path_factory) -> Crawled:
    details = {"DEDUP_ITEM_DETAILS": ["removed"]}
    return Project(tmp_path_factory.mktemp("kinds"), ADDON | details).crawl("kinds", "-a", start_of(server))


def test_item_has_the_page_without_its_boilerplate(crawled):
    for kind in ("html", "attached", "no-url", "item", "dataclass", "attrs"):
        for page in (PAGES[0], PAGES[-1]):
            item = crawled.items[f"{kind} {page}"]

            assert prose(page) in item["cleaned_content"]
            assert FOOTER not in item["cleaned_content"]


def test_item_tells_what_was_removed_and_why(crawled):
    for kind in ("html", "item", "attrs"):
        report = crawled.items[f"{kind} p3"]["dedup"]

        assert report["method"] == "template"
        assert "8 of 8 pages" in str(report["removed"])


def test_report_is_small_where_nobody_asked_for_more(project, server, crawled):
    fed = project.crawl("page-items", "-a", start_of(server)).fed
    reports = [item["dedup"] for item in fed]

    assert all(FOOTER not in item["cleaned_content"] and item["dedup"]["removed"] for item in fed)
    assert [report["chunks"] for report in reports] == [{"added": 1}] * len(PAGES)
    blocks = sum(len(group["blocks"]) for group in crawled.items["html p3"]["dedup"]["removed"])
    assert {report["removed"]["boilerplate"]["blocks"] for report in reports} == {blocks}
    assert all(
        report["removed"]["boilerplate"]["chars"] == report["chars_in"] - report["chars_out"] for report in reports
    )
    assert max(len(json.dumps(report)) for report in reports) < 1_000


def test_html_of_an_items_own_is_cleaned_instead_of_the_response(crawled):
    assert crawled.items["own-html p3"]["cleaned_content"].strip() == "A part of p3"


def test_item_that_names_no_page_of_its_own_is_told_of_the_one_it_came_from(crawled, server):
    for kind in ("other-url", "nothing"):
        item = crawled.items[f"{kind} p3"]

        assert item.keys() <= {"id", "url", "name", "dedup"}
        told = item["dedup"]
        assert (told["left"], told["verdict"], told["url"]) == ("no_page", "new", f"{server.origins[0]}/p3")
    assert crawled.count("left/no_page") == 2 * len(PAGES)


def test_item_that_names_another_url_brings_that_page(crawled, server):
    assert crawled.items["other-url-content p3"]["dedup"]["url"] == f"{server.origins[0]}/p3/of-another"


def test_field_that_is_undeclared_or_replaced_is_told_once(crawled):
    assert crawled.log.count("dict has a field dedup of its own, which the plugin's replaces") == 1
    assert "dedup" not in crawled.items["dataclass p3"]
    told = "Article has no field dedup, which would be set; to have it, add to the class: dedup: dict | None = None"
    assert crawled.log.count(told) == 1


@pytest.fixture(scope="module")
def bare(server, tmp_path_factory) -> Crawled:
    """Items that only feeds refuse: Scrapy hands anything that a callback yields to the pipelines."""
    project = Project(tmp_path_factory.mktemp("bare"), {**ADDON, "FEEDS": {}})
    with serving(1, lambda origins: {f"{origins[0]}/latin": LATIN}) as latin:
        start = f"{start_of(server)} {latin.origins[0]}/latin"
        crawled = project.crawl("kinds", "-a", start, "-a", "bare=1", clean=False)
    all_accounted_for(crawled)
    return crawled


def test_what_is_no_item_or_cannot_take_the_text_passes_through(bare):
    pages = len(PAGES) + 1

    assert bare.count("left/no_field") == 2 * pages
    assert bare.log.count("add to the class: cleaned_content = scrapy.Field()") == 1
    assert bare.log.count("add to the class: cleaned_content: str | None = None") == 1
    assert bare.stored_ids.count("42") == bare.stored_ids.count("'text'") == pages
    assert bare.count("left/no_item") == 2 * pages


def test_object_that_is_yielded_several_times_leaves_as_often(bare):
    texts = [line["cleaned"] for line in bare.stored if line["id"].startswith("one object p")]

    assert len(texts) == 3 * len(PAGES)
    assert all(FOOTER not in text for text in texts)


def test_html_in_another_charset_is_read_as_its_response_declares(bare):
    (text,) = [line["cleaned"] for line in bare.stored if line["id"] == "bytes latin"]

    assert text.strip() == "Größe für Straße"
