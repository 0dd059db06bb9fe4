"""Whatever comes, the item goes out, flagged and counted; `benchmarks.hostile` says how soon."""

from collections import Counter

import pytest

from tests.end_to_end.crawling import ADDON, Crawled, Project, all_accounted_for
from tests.end_to_end.recrawl_site import rows
from tests.end_to_end.spiders.hostile import FIELDS, URLS
from tests.server import Answer, Site, serving
from tests.sites import html_page

PNG = b"\x89PNG\r\n\x1a\n" + bytes(1000)
RESPONSES = {
    "empty": Answer(""),
    "no-content": Answer("", 204),
    "image.png": Answer(PNG, content_type="image/png"),
    "paper.pdf": Answer(b"%PDF-1.7" + bytes(1000), content_type="application/pdf"),
    "data.json": Answer('{"a": "<p>b</p>"}', content_type="application/json"),
    "text.txt": Answer("plain", content_type="text/plain"),
    "wrong-charset": Answer("<p>Größe</p>".encode("latin-1"), content_type="text/html; charset=utf-8"),
    "no-charset": Answer("<p>Size</p>", content_type="text/html"),
    "strange-charset": Answer("<p>Size</p>", content_type="text/html; charset=klingon"),
    "nul": Answer("<p>before\0after</p>"),
    "surrogates": Answer("<p>high &#xD800; low &#xDC00; end</p>"),
    "deep": Answer("<div>" * 20_000 + "x"),
    "attributes": Answer("<p " + " ".join(f"a{n}=1" for n in range(20_000)) + ">x</p>"),
    "unclosed": Answer("<b><p>" * 20_000),
    "large": Answer("<p>" + "page " * 1_700_000 + "</p>"),
    "no-tags": Answer("only words"),
    "frames": Answer("<frameset><frame src='a'></frameset>"),
}
NO_HTML = ("image.png", "data.json", "text.txt", "no-content")
UNREADABLE = {
    "deep": "too_deep",
    "attributes": "too_many_attributes",
    "unclosed": "too_deep",
    "large": "too_large",
    "paper.pdf": "pdf_damaged",
}


def hostile(origins: list[str]) -> Site:
    return {f"{origins[0]}/{name}": answer for name, answer in RESPONSES.items()}


@pytest.fixture(scope="module")
def responses(tmp_path_factory) -> Crawled:
    project = Project(tmp_path_factory.mktemp("responses"), dict(ADDON))
    with serving(1, hostile) as server:
        project.settings |= {"CONCURRENT_REQUESTS": 1, "HTTPERROR_ALLOW_ALL": True, "DEDUP_BATCH": {"pages": 1}}
        return project.crawl("responses", "-a", f"start={' '.join(server.site)}")


KINDS = ("item", "attached")


def came_of(crawled: Crawled, kind: str, name: str) -> tuple[dict[str, object], str | None]:
    found = next(one for one in crawled.stored if one["id"].startswith(kind) and one["id"].endswith(f"/{name}"))
    return found["report"], found["cleaned"]


@pytest.mark.parametrize("kind", KINDS)
def test_page_that_cannot_be_read_goes_out_uncleaned_and_flagged_and_what_is_no_html_as_it_is(responses, kind):
    """Also where a spider calls everything HTML."""
    assert {name: came_of(responses, kind, name) for name in UNREADABLE} == {
        name: ({"left": reason}, None) for name, reason in UNREADABLE.items()
    }
    assert {name: came_of(responses, kind, name) for name in NO_HTML} == dict.fromkeys(NO_HTML, ({}, None))


ODD = {
    "empty": "",
    "wrong-charset": "Gr\ufffd\ufffde",
    "no-charset": "Size",
    "strange-charset": "Size",
    "nul": "beforeafter",
    "no-tags": "only words",
    "frames": "",
}


def test_odd_page_is_read_as_browsers_do(responses):
    assert {name: (came_of(responses, "attached", name)[1] or "").strip() for name in ODD} == ODD


def test_everything_is_counted(responses):
    assert responses.count("left/not_html") == 2 * len(NO_HTML)
    assert responses.count("left/too_large") == responses.count("left/too_many_attributes") == 2
    assert responses.count("left/too_deep") == 4
    assert responses.count("left/pdf_damaged") == 2
    assert responses.sum("errors/") == 0


@pytest.fixture(scope="module")
def fields(tmp_path_factory) -> Crawled:
    project = Project(tmp_path_factory.mktemp("fields"), dict(ADDON))
    with serving(1, lambda origins: {f"{origins[0]}/page": Answer(html_page("page"))}) as server:
        crawled = project.crawl("fields", "-a", f"start={server.origins[0]}/page", clean=False, FEEDS={})
    all_accounted_for(crawled)
    return crawled


def test_items_with_odd_fields_all_go_out(fields):
    assert Counter(fields.stored_ids) == Counter([*URLS, *FIELDS, "set-before", "refusing", "sealed"])
    assert fields.count("store/rows_given_up") == 0


def test_item_without_a_url_stands_for_its_response_and_one_whose_url_has_no_domain_is_flagged(fields):
    for name in ("url-none", "url-empty", "url-number", "url-relative"):
        assert str(fields.reports[name]["url"]).endswith("/page")
    for name in ("url-words", "url-brackets", "url-script", "url-port"):
        assert fields.reports[name] == {"left": "no_domain"}


def test_item_that_breaks_a_layer_is_flagged_and_counted(fields):
    assert all("error" in fields.reports[name] for name in ("html-broken", "refusing"))
    assert fields.count("errors/OSError") == 1
    assert fields.count("errors/ValueError") == 2
    assert fields.log.count("because of a defect in scrapy_dedup") == 2


def test_callbacks_that_break_wait_or_yield_without_end_lose_nothing(project):
    names = ["half_way", "waits", "returns", "many", "many_of_one"]

    def site(origins: list[str]) -> Site:
        return {f"{origins[0]}/{name}": Answer(html_page(name)) for name in names}

    with serving(1, site) as server:
        crawled = project.crawl("breaking", "-a", f"start={' '.join(server.site)}", clean=False)

    all_accounted_for(crawled)
    assert crawled.dropped == []
    assert len(crawled.stored) == 1 + 2 + 3 + 250 + 250
    done = "SELECT count(*) FROM documents WHERE status = 'completed' AND url LIKE '%/many/%'"
    assert rows(project, done) == [(250,)]
