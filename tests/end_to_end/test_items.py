"""Items of any kind go out with their cleaned text, whatever they bring."""

import json
from collections.abc import Iterator

import pytest

from tests.end_to_end.crawling import ADDON, Crawled, Project, all_accounted_for
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page, prose

pytestmark = pytest.mark.crawl

PAGES = [f"p{n}" for n in range(8)]
FOOTER = "harbour office"


def pages_alone(origins: list[str]) -> Site:
    return {f"{origins[0]}/{page}": Answer(html_page(page)) for page in PAGES}


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with serving(1, pages_alone) as running:
        yield running


def start_of(server: WebServer) -> str:
    return "start=" + " ".join(server.site)


@pytest.fixture(scope="module")
def crawled(server: WebServer, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    details = {"DEDUP_ITEM_DETAILS": ["removed"]}
    return Project(tmp_path_factory.mktemp("kinds"), ADDON | details).crawl("kinds", "-a", start_of(server))


@pytest.mark.parametrize("kind", ["html", "attached", "no-url", "item", "dataclass", "attrs"])
@pytest.mark.parametrize("page", [PAGES[0], PAGES[-1]])
def test_item_has_the_page_without_its_boilerplate(crawled: Crawled, kind: str, page: str) -> None:
    item = crawled.items[f"{kind} {page}"]

    assert prose(page) in item["cleaned_content"]
    assert FOOTER not in item["cleaned_content"]


@pytest.mark.parametrize("kind", ["html", "item", "attrs"])
def test_item_tells_what_was_removed_and_why(crawled: Crawled, kind: str) -> None:
    report = crawled.items[f"{kind} p3"]["dedup"]

    assert report["method"] == "template"
    assert "8 of 8 pages" in str(report["removed"])


def test_report_is_small_where_nobody_asked_for_more(project: Project, server: WebServer, crawled: Crawled) -> None:
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


def test_html_of_an_items_own_is_cleaned_instead_of_the_response(crawled: Crawled) -> None:
    assert crawled.items["own-html p3"]["cleaned_content"].strip() == "A part of p3"


@pytest.mark.parametrize("kind", ["other-url", "nothing"])
def test_item_that_names_no_page_of_its_own_is_told_of_the_one_it_came_from(
    crawled: Crawled, server: WebServer, kind: str
) -> None:
    item = crawled.items[f"{kind} p3"]

    assert item.keys() <= {"id", "url", "name", "dedup"}
    told = item["dedup"]
    assert (told["left"], told["verdict"], told["url"]) == ("no_page", "new", f"{server.origins[0]}/p3")
    assert crawled.count("left/no_page") == 2 * len(PAGES)


def test_item_that_names_another_url_brings_that_page(crawled: Crawled, server: WebServer) -> None:
    assert crawled.items["other-url-content p3"]["dedup"]["url"] == f"{server.origins[0]}/p3/of-another"


def test_undeclared_field_is_left_out_with_one_warning(crawled: Crawled) -> None:
    assert "dedup" not in crawled.items["dataclass p3"]
    assert crawled.log.count("Article has no field dedup: left out") == 1


def test_what_is_no_item_or_cannot_take_the_text_passes_through(project: Project, server: WebServer) -> None:
    """Scrapy hands anything that a callback yields to the pipelines; only feeds refuse it."""
    crawled = project.crawl("kinds", "-a", start_of(server), "-a", "bare=1", clean=False, FEEDS={})

    all_accounted_for(crawled)
    assert crawled.count("left/no_field") == 2 * len(PAGES)
    assert crawled.log.count("add to the class: cleaned_content = scrapy.Field()") == 1
    assert crawled.log.count("add to the class: cleaned_content: str | None = None") == 1
    assert crawled.stored_ids.count("42") == crawled.stored_ids.count("'text'") == len(PAGES)
    assert crawled.count("left/no_item") == 2 * len(PAGES)


def test_object_that_is_yielded_several_times_leaves_as_often(project: Project, server: WebServer) -> None:
    crawled = project.crawl("twice", "-a", start_of(server))

    assert len(crawled.stored) == 3 * len(PAGES)
    assert all(FOOTER not in item["cleaned_content"] for item in crawled.fed)


def test_html_in_another_charset_is_read_as_its_response_declares(project: Project) -> None:
    """The bytes alone do not tell: there is no meta element."""

    def latin(origins: list[str]) -> Site:
        body = "<html><body><p>Größe für Straße</p></body></html>".encode("iso-8859-15")
        return {f"{origins[0]}/latin": Answer(body, content_type="text/html; charset=iso-8859-15")}

    with serving(1, latin) as running:
        fields = ["url", "cleaned_content"]  # bytes are nothing for a JSON feed
        crawled = project.crawl("raw-bytes", "-a", start_of(running), FEED_EXPORT_FIELDS=fields)

    assert crawled.fed[0]["cleaned_content"].strip() == "Größe für Straße"
