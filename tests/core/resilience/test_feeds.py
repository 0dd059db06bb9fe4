import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.resilience.discovery import read_feed
from scrapy_dedup.core.resilience.sitemaps import Entry, SitemapLimits

URL = "https://example.com/feed"
PAGE = "https://example.com/p"
XML = {
    "rss": "<rss><channel><item><link>/p</link></item></channel></rss>",
    "atom": "<feed><entry><link rel='alternate' href='/p'/></entry></feed>",
    "rdf": "<r:RDF xmlns:r='r'><item><link>/p</link></item></r:RDF>",
}


def feed(*items: Any) -> bytes:
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items}).encode()


@pytest.mark.parametrize("body", XML.values(), ids=XML)
def test_feed_of_xml_is_read(body: str) -> None:
    assert [entry.url for entry in read_feed(body.encode(), URL).pages] == [PAGE]


def test_feed_of_json_is_read() -> None:
    items = [
        {"url": "/p", "title": "P", "date_modified": "2024-05-01T10:00:00Z"},
        {"id": PAGE},
        {"id": "/q", "title": 5},
    ]

    found = read_feed(b"\xef\xbb\xbf " + feed(*items), URL)

    assert found.pages == (Entry(PAGE, datetime(2024, 5, 1, 10, tzinfo=UTC), "P"), Entry("https://example.com/q"))
    assert found.complete


@pytest.mark.parametrize(
    "item", [5, {}, {"url": 5}, {"url": "x" * 3_000}, {"url": "http://[bad"}, {"url": "mailto:me"}, {"id": ""}]
)
def test_entry_that_names_no_page_is_passed_over(item: Any) -> None:
    assert read_feed(feed(item, {"url": "/p"}), URL).pages == (Entry(PAGE),)


@pytest.mark.parametrize("body", [b"{", b'{"items": 5}', b"{" * 100_000, b'{"a":' * 100_000])
def test_what_is_no_feed_says_so(body: bytes) -> None:
    assert read_feed(body, URL).error


def test_feed_is_read_up_to_its_limits() -> None:
    body = feed({"url": "/p"}, {"url": "/q"})

    assert read_feed(body, URL, SitemapLimits(entries=1)).truncated
    assert read_feed(body, URL, SitemapLimits(bytes=5)).truncated


def test_entities_are_refused() -> None:
    body = b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><item><link>/&x;</link></item></channel></rss>'

    assert read_feed(body, URL).pages == ()


@given(st.binary() | st.text().map(lambda text: ("{" + text).encode("utf-8", "surrogatepass")))
def test_any_bytes_are_taken(body: bytes) -> None:
    read_feed(body, URL)
