import pytest
from scrapy import Request
from scrapy.settings import Settings as ScrapySettings

from scrapy_dedup.plugin.crawl.requests import Ways

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
def test_headers_go_to_their_own_origin_alone_and_proxies_with_who_asks(
    ways: Ways, url: str, page_url: str, authorization: bytes | None, proxy: str
) -> None:
    request = ways.to(url, page_url=page_url).lead(Request(url))

    assert request.headers.get("Authorization") == authorization
    assert request.meta["proxy"] == proxy


def test_what_a_request_says_itself_wins_and_nothing_is_known_at_first() -> None:
    assert Ways(ScrapySettings()).to(SHOP) == ({}, {})
    ways = Ways(ScrapySettings())
    ways.note(Request(SHOP, headers={"X-Key": "1", "Referer": "x"}, meta={"proxy": "http://one.example:1"}))

    request = ways.to(f"{SHOP}/b").lead(Request(f"{SHOP}/b", headers={"X-Key": "2"}))

    assert (request.headers["X-Key"], "Referer" in request.headers) == (b"2", False)


def test_a_header_that_a_spider_does_not_want_to_be_sent_is_not_sent_with_the_next_request_either() -> None:
    ways = Ways(ScrapySettings())
    ways.note(Request(SHOP, headers={"User-Agent": None, "X-Key": None}))

    request = ways.to(f"{SHOP}/b").lead(Request(f"{SHOP}/b"))

    assert [(name, request.headers.getlist(name)) for name in request.headers] == [(b"User-Agent", []), (b"X-Key", [])]
