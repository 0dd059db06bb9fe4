import gc
from typing import Any
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.http import HtmlResponse, Response, XmlResponse

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.guard import ParseLimits
from scrapy_dedup.core.urls.normal_form import DEFAULT_RULES
from scrapy_dedup.plugin.visits import Visit, Visits, forget_tree, is_signpost, untie
from scrapy_dedup.service.crawl.drafts import Draft
from scrapy_dedup.settings import Settings
from tests.plugin.builders import a_response

SETTINGS = Settings()


def a_visit(visits: Visits, response: HtmlResponse, settings: Settings | None = SETTINGS) -> Visit:
    assert response.request is not None
    visit = visits.begin(response.request, response, settings)
    assert visit is not None
    return visit


@pytest.fixture
def visits() -> Visits:
    return Visits(SETTINGS, DEFAULT_RULES)


def test_endless_callback_keeps_two_pages_at_most(visits):
    response = a_response()
    visit = a_visit(visits, response)
    shared = visit.page(ParseLimits())
    assert isinstance(shared, Page)

    for page in (shared, *([None] * 9)):
        visit.keep(Draft(visit.url, visit.page_key, visit.domain, "", visit.fetched_at, page=page))

    assert [draft.page for draft in visit.drafts] == [shared, None]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=30))
def test_visit_is_empty_once_as_many_items_left_as_came(yielded):
    """Also where the same object comes several times, and where pipelines replace some."""
    visits = Visits(SETTINGS, DEFAULT_RULES)
    response = a_response()
    visit = a_visit(visits, response)
    objects: list[dict[str, Any]] = [{"n": n} for n in range(4)]
    for number, _ in yielded:
        visits.attach(objects[number], visit)

    for left, (number, is_replaced) in enumerate(yielded):
        assert sum(times for _, times in visit.items.values()) == len(yielded) - left
        visits.left(dict(objects[number]) if is_replaced else objects[number], visit)

    assert visit.items == {}
    assert visits.of_item(objects[0], None) is None


def test_links_of_a_page_are_read_where_it_is_compared_with_what_it_was(visits):
    """Else a link that leads elsewhere, where all words stayed, is no change."""
    response = a_response("https://site.example/", "<p>One <a href=/a>two</a>")

    found = a_visit(visits, response, Settings()).page(ParseLimits())

    assert isinstance(found, Page)
    assert found.links == ("/a",)


@pytest.mark.parametrize(
    ("url", "body", "tells"),
    [
        ("robots.txt", b"User-agent: *", True),
        ("map", b"<?xml version='1.0'?>\n<!-- > --><urlset>", True),
        ("map", b"\xef\xbb\xbf<sitemapindex>", True),
        ("sitemap.xml.gz", b"\x1f\x8b", True),
        ("news", b"<!DOCTYPE rss><rss version='2.0'>", True),
        ("news", b"<atom:feed xmlns:atom=''>", True),
        ("data", b"<prices><feed/></prices>", False),
        ("robots.txt.html", b"<html>", False),
        ("deep", b"<!>" * 700 + b"<prices>", False),
        ("wide", b" " * 2_000 + b"<rss>", False),
    ],
)
def test_what_only_tells_where_pages_are_is_told_by_name_and_content(url, body, *, tells):
    request = Request(f"https://example.com/{url}")
    response = Response if b"<" not in body else XmlResponse

    assert is_signpost(request, response(request.url, body=body, request=request)) is tells


def test_page_of_html_under_the_name_of_a_sitemap_is_a_page():
    response = a_response("https://example.com/sitemap/")

    assert response.request is not None
    assert not is_signpost(response.request, response)


def test_what_a_visit_waits_for_keeps_no_crawl_in_a_process_that_goes_on():
    """A feed knows its crawler, which knows its responses: all of them must be able to go at once."""
    visits, response = Visits(SETTINGS, DEFAULT_RULES), a_response()
    a_visit(visits, response).waits_for.add((visits, response))
    gone = ref(response)

    del visits, response
    gc.collect()

    assert gone() is None


def a_plain_response() -> HtmlResponse:
    return HtmlResponse("http://a.example/", body=b"<p>text</p><p>more</p>", encoding="utf-8")


def test_response_whose_callback_has_ended_goes_with_its_last_user():
    response = a_plain_response()
    paragraphs, gone = response.css("p"), ref(response)
    untie(response)
    assert response.selector.response == response
    del response
    assert gone() is None, "no garbage was to be collected"
    assert paragraphs.css("::text").getall() == ["text", "more"]


def test_tree_of_a_response_that_waits_goes_where_the_same_is_made_again():
    plain, cut, named, unread = (a_plain_response() for _ in range(4))
    assert plain.css("p::text").getall() == ["text", "more"]
    cut.css("p")[1].drop()
    named.selector.register_namespace("q", "http://q.example/")
    for response in (plain, cut, named, unread):
        forget_tree(response)

    assert [response._cached_selector is None for response in (plain, cut, named, unread)] == [True, False, False, True]
    assert plain.css("p::text").getall() == ["text", "more"]
