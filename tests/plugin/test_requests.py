import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings as ScrapySettings

from scrapy_dedup.plugin.requests import PARENT, Ways, note_parent, parent_of

SHOP, CDN = "https://shop.example", "https://cdn.example"


@pytest.fixture
def ways() -> Ways:
    found = Ways(ScrapySettings())
    found.note(Request(f"{CDN}/a", headers={"Authorization": "for the cdn"}, meta={"proxy": "http://one.example:1"}))
    found.note(Request(f"{SHOP}/a", headers={"Authorization": "for the shop"}, meta={"proxy": "http://two.example:2"}))
    return found


@pytest.mark.parametrize(
    ("url", "page_url", "authorization", "proxy"),
    [
        pytest.param(f"{SHOP}/robots.txt", "", b"for the shop", "http://two.example:2", id="own-origin"),
        pytest.param(f"{SHOP}/b.css", f"{SHOP}/a", b"for the shop", "http://two.example:2", id="of-a-page-of-it"),
        pytest.param(f"{SHOP}/b.css", f"{CDN}/a", None, "http://one.example:1", id="of-another-origin-s-page"),
        pytest.param("https://new.example/", f"{CDN}/a", None, "http://one.example:1", id="new-origin-of-a-page"),
        pytest.param("https://new.example/", "", None, "http://two.example:2", id="new-origin"),
    ],
)
def test_headers_go_to_their_own_origin_alone_and_proxies_with_who_asks(ways, url, page_url, authorization, proxy):
    request = ways.to(url, page_url=page_url).lead(Request(url))

    assert request.headers.get("Authorization") == authorization
    assert request.meta["proxy"] == proxy


def test_what_a_request_says_itself_wins_and_nothing_is_known_at_first():
    assert Ways(ScrapySettings()).to(SHOP) == ({}, {})
    ways = Ways(ScrapySettings())
    ways.note(Request(SHOP, headers={"X-Key": "1", "Referer": "x"}, meta={"proxy": "http://one.example:1"}))

    request = ways.to(f"{SHOP}/b").lead(Request(f"{SHOP}/b", headers={"X-Key": "2"}))

    assert (request.headers["X-Key"], "Referer" in request.headers) == (b"2", False)


def test_a_header_that_a_spider_does_not_want_to_be_sent_is_not_sent_with_the_next_request_either():
    ways = Ways(ScrapySettings())
    ways.note(Request(SHOP, headers={"User-Agent": None, "X-Key": None}))

    request = ways.to(f"{SHOP}/b").lead(Request(f"{SHOP}/b"))

    assert [(name, request.headers.getlist(name)) for name in request.headers] == [(b"User-Agent", []), (b"X-Key", [])]


LIST, PAGE = b"l" * 16, b"p" * 16


@pytest.mark.parametrize(
    ("url", "meta", "known", "parent"),
    [
        pytest.param("/next", {}, True, PAGE, id="link"),
        pytest.param("/next", {PARENT: LIST.hex()}, True, PAGE, id="link-with-the-page-s-meta"),
        pytest.param("/next", {PARENT: LIST.hex()}, False, None, id="of-a-page-that-is-not-judged"),
        pytest.param("/page", {}, True, LIST, id="polled"),
        pytest.param("/old", {PARENT: LIST.hex()}, True, LIST, id="asked-again-as-it-was-asked"),
    ],
)
def test_request_knows_the_page_that_led_to_it(url, meta, parent, *, known):
    asked = Request(f"{SHOP}/old", meta={PARENT: LIST.hex()})
    request = Request(f"{SHOP}{url}", meta=meta)

    note_parent(request, Response(f"{SHOP}/page", request=asked), PAGE if known else None)

    assert parent_of(request) == parent
    assert parent_of(asked) == LIST


def test_start_request_and_who_asks_for_it_again_have_no_parent():
    asked = Request(f"{SHOP}/page")
    note_parent(again := asked.replace(dont_filter=True), Response(asked.url, request=asked), PAGE)

    assert (parent_of(asked), parent_of(again)) == (None, None)
