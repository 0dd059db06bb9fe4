import gc
from datetime import UTC, datetime
from typing import Any
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.http import HtmlResponse, Response, XmlResponse

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.guard import ParseLimits
from scrapy_dedup.core.urls import DEFAULT_RULES, page_key
from scrapy_dedup.plugin.visits import Visit, Visits, is_signpost
from scrapy_dedup.service.drafts import Draft
from scrapy_dedup.settings import Settings
from tests.plugin.builders import PAGE, a_request, a_response

SETTINGS = Settings()


def a_visit(visits: Visits, response: HtmlResponse, settings: Settings | None = SETTINGS) -> Visit:
    assert response.request is not None
    visit = visits.begin(response.request, response, settings)
    assert visit is not None
    return visit


@pytest.fixture
def visits() -> Visits:
    return Visits(SETTINGS, DEFAULT_RULES)


def test_item_is_known_by_itself(visits: Visits) -> None:
    response, item = a_response(), {"name": "no URL"}
    visit = a_visit(visits, response)
    visits.attach(item, visit)

    assert visits.of_item(item, None) is visit
    assert visits.of_item(dict(item), None) is None


def test_item_that_was_replaced_is_known_by_its_url(visits: Visits) -> None:
    response = a_response()
    visit = a_visit(visits, response)
    visits.attach({"url": PAGE}, visit)

    assert visits.of_item({"url": PAGE}, page_key(PAGE)) is visit
    assert visits.of_item({"url": f"{PAGE}/other"}, page_key(f"{PAGE}/other")) is None


def test_nothing_is_kept_of_a_response_that_is_gone(visits: Visits) -> None:
    response, item = a_response(), {"url": PAGE}
    visit = a_visit(visits, response)
    visits.attach(item, visit)
    visits.left(item, visit)

    del response, visit
    gc.collect()

    assert len(list(visits.take_gone())) == 1
    gc.collect()
    assert len(visits) == 0


def test_items_that_never_left_are_given_up_with_their_response(visits: Visits) -> None:
    response = a_response()
    visits.attach({"url": PAGE}, a_visit(visits, response))

    del response
    gc.collect()
    for visit in visits.take_gone():
        visits.forget_items(visit)
    del visit
    gc.collect()

    assert len(visits) == 0


def test_response_without_a_domain_has_no_visit(visits: Visits) -> None:
    response = a_response("data:text/html,x")

    assert visits.begin(a_request(response.url), response, SETTINGS) is None


def test_response_that_is_left_alone_has_a_visit_that_says_so(visits: Visits) -> None:
    """Else an item that another pipeline replaced would be taken for one without a response, and cleaned."""
    response = a_response()

    assert a_visit(visits, response, None).settings.enabled is False


def test_endless_callback_keeps_two_pages_at_most(visits: Visits) -> None:
    response = a_response()
    visit = a_visit(visits, response)
    shared = visit.page(ParseLimits())
    assert isinstance(shared, Page)

    for page in (shared, *([None] * 9)):
        visit.keep(Draft(visit.url, visit.page_key, visit.domain, "", visit.fetched_at, page=page))

    assert [draft.page for draft in visit.drafts] == [shared, None]


def test_page_is_parsed_once(visits: Visits) -> None:
    response = a_response()
    visit = a_visit(visits, response)

    assert visit.page(ParseLimits()) is visit.page(ParseLimits())


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=30))
def test_visit_is_empty_once_as_many_items_left_as_came(yielded: list[tuple[int, bool]]) -> None:
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


def test_fetched_at_is_now_in_utc(visits: Visits) -> None:
    response = a_response()
    visit = a_visit(visits, response)

    assert visit.fetched_at.tzinfo is UTC
    assert visit.fetched_at <= datetime.now(UTC)


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
def test_what_only_tells_where_pages_are_is_told_by_name_and_content(url: str, body: bytes, *, tells: bool) -> None:
    request = Request(f"https://example.com/{url}")
    response = Response if b"<" not in body else XmlResponse

    assert is_signpost(request, response(request.url, body=body, request=request)) is tells


def test_page_of_html_under_the_name_of_a_sitemap_is_a_page() -> None:
    response = a_response("https://example.com/sitemap/")

    assert response.request is not None
    assert not is_signpost(response.request, response)


def test_what_a_visit_waits_for_keeps_no_crawl_in_a_process_that_goes_on() -> None:
    """A feed knows its crawler, which knows its responses: all of them must be able to go at once."""
    visits, response = Visits(SETTINGS, DEFAULT_RULES), a_response()
    a_visit(visits, response).waits_for.add((visits, response))
    gone = ref(response)

    del visits, response
    gc.collect()

    assert gone() is None
