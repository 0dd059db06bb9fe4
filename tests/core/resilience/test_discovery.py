import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.resilience.discovery import (
    Entry,
    SitemapLimits,
    may_have_signposts,
    read_feed,
    read_signposts,
    sitemaps_of_robots,
    usual_sitemaps,
)
from tests.growth import assert_in_proportion
from tests.tables import table

URL = "http://a.example/x/"


def test_robots_txt_names_sitemaps():
    body = b"\xef\xbb\xbfUser-agent: *\nSITEMAP:http://a.example/1.xml\n sitemap: /2.xml # two\n"
    body += b"Sitemap: mailto:x\nSitemap: http://[\n"

    assert sitemaps_of_robots(body * 2, "http://a.example/robots.txt") == [
        "http://a.example/1.xml",
        "http://a.example/2.xml",
    ]


def test_robots_txt_names_no_more_than_are_read():
    assert len(sitemaps_of_robots("".join(f"Sitemap: /{number}\n" for number in range(200)).encode(), URL)) == 100


def test_usual_places_are_on_the_host():
    assert usual_sitemaps(URL)[0] == "http://a.example/sitemap.xml"


@table("core/archive_is_found_by_its_name")
def test_archive_is_found_by_its_name(link):
    assert read_signposts(link, URL).archives == ("http://a.example/old",)


@pytest.mark.parametrize(
    ("path", "is_archive"),
    [("/2023", True), ("/blog/2023/05/", True), ("/site_map", True), ("/2023/05/17", False), ("/archivist", False)],
)
def test_archive_is_found_by_its_address(path, *, is_archive):
    found = read_signposts(f'<nav><a href="{path}">x</a></nav>', URL).archives

    assert found == ((f"http://a.example{path}",) if is_archive else ())


def test_signposts_of_one_page_are_few():
    links = "".join(f'<a href="/{number}">archive</a>' for number in range(99))
    feeds = "".join(f'<link rel=alternate type="application/rss+xml" href="/{number}">' for number in range(99))

    found = read_signposts(f"<head>{feeds}</head><nav>{links}</nav>", URL)

    assert (len(found.archives), len(found.feeds)) == (50, 10)


@pytest.mark.parametrize(
    "tag", ['<link rel="next" href="/2">', '<a rel="nofollow next" href="/2">x</a>', "<a REL=next href=/2>"]
)
def test_next_part_is_found(tag):
    assert may_have_signposts(tag)
    assert read_signposts(f"<a rel=prev href=/1>{tag}", URL).next_href == "http://a.example/2"


@pytest.mark.parametrize(("unit", "end"), [("rel=", ""), ("rel ", ""), ("<nav>", "<a href=x>archive"), ("rel=a ", "")])
def test_hostile_page_takes_time_in_proportion_to_its_length(unit, end):
    assert_in_proportion(
        lambda html: (may_have_signposts(html), read_signposts(html, URL)), lambda size: unit * size + end, 50_000
    )


@given(st.text())
def test_any_text_is_taken(text):
    read_signposts(f"<nav><a href='{text}'>archive", URL)
    sitemaps_of_robots(text.encode("utf-8", "surrogatepass"), URL)


FEED = "https://example.com/feed"
PAGE = "https://example.com/p"
XML = {
    "rss": "<rss><channel><item><link>/p</link></item></channel></rss>",
    "atom": "<feed><entry><link rel='alternate' href='/p'/></entry></feed>",
    "rdf": "<r:RDF xmlns:r='r'><item><link>/p</link></item></r:RDF>",
}


def feed(*items: Any) -> bytes:
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items}).encode()


@pytest.mark.parametrize("body", XML.values(), ids=XML)
def test_feed_of_xml_is_read(body):
    assert [entry.url for entry in read_feed(body.encode(), FEED).pages] == [PAGE]


def test_feed_of_json_is_read():
    items = [
        {"url": "/p", "title": "P", "date_modified": "2024-05-01T10:00:00Z"},
        {"id": PAGE},
        {"id": "/q", "title": 5},
    ]

    found = read_feed(b"\xef\xbb\xbf " + feed(*items), FEED)

    assert found.pages == (Entry(PAGE, datetime(2024, 5, 1, 10, tzinfo=UTC), "P"), Entry("https://example.com/q"))
    assert found.complete


@pytest.mark.parametrize(
    "item", [5, {}, {"url": 5}, {"url": "x" * 3_000}, {"url": "http://[bad"}, {"url": "mailto:me"}, {"id": ""}]
)
def test_entry_that_names_no_page_is_passed_over(item):
    assert read_feed(feed(item, {"url": "/p"}), FEED).pages == (Entry(PAGE),)


@pytest.mark.parametrize("body", [b"{", b'{"items": 5}', b"{" * 100_000, b'{"a":' * 100_000])
def test_what_is_no_feed_says_so(body):
    assert read_feed(body, FEED).error


def test_feed_is_read_up_to_its_limits():
    body = feed({"url": "/p"}, {"url": "/q"})

    assert read_feed(body, FEED, SitemapLimits(entries=1)).truncated
    assert read_feed(body, FEED, SitemapLimits(bytes=5)).truncated


def test_entities_are_refused():
    body = b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><item><link>/&x;</link></item></channel></rss>'

    assert read_feed(body, FEED).pages == ()


@given(st.binary() | st.text().map(lambda text: ("{" + text).encode("utf-8", "surrogatepass")))
def test_any_bytes_are_taken(body):
    read_feed(body, FEED)
