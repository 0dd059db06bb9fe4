import asyncio
import gzip
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from scrapy import Request
from scrapy.http import Response, TextResponse, XmlResponse

from scrapy_dedup.core.repeats import RepeatPolicy
from scrapy_dedup.core.urls import DEFAULT_RULES, page_key
from scrapy_dedup.plugin.sitemap_dates import SitemapDates
from scrapy_dedup.plugin.sites import Sites
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store

SITE = "https://example.com"
PAGE = f"{SITE}/a"
BODY = (
    "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    f"<url><loc>{PAGE}</loc><lastmod>2026-01-02T08:00:00Z</lastmod></url><url><loc>{SITE}/b</loc></url></urlset>"
).encode()


class Read:
    """Dates with what they count, over an empty store."""

    def __init__(self, store: Store) -> None:
        self.counts: Counter[str] = Counter()
        count = lambda what, n: self.counts.update({what: n})  # noqa: E731 - as Runtime.count
        self.sites = Sites(store.project("shop"), RepeatPolicy(), count)
        self.dates = SitemapDates(self.sites, Settings(), DEFAULT_RULES, count)

    def take_in(self, body: bytes, url: str = f"{SITE}/sitemap.xml", kind: type[Response] = XmlResponse) -> None:
        asyncio.run(self.dates.read(Request(url), kind(url, body=body)))

    @property
    def failed(self) -> bool:
        return self.sites.of("example.com").failed_sitemap


@pytest.fixture
def read() -> Iterator[Read]:
    with Store.open("sqlite://") as store:
        yield Read(store)


@pytest.mark.parametrize(
    ("url", "body"),
    [
        pytest.param("/sitemap.xml", BODY, id="plain"),
        pytest.param("/sitemap.xml.gz", gzip.compress(BODY), id="gzip"),
        pytest.param("/sitemap_index/3.xml", BODY, id="told-by-its-body"),
        pytest.param("/sitemap", BODY, id="told-by-its-path"),
    ],
)
def test_dates_are_known_by_page(read: Read, url: str, body: bytes) -> None:
    read.take_in(body, SITE + url)

    assert read.dates.of(page_key(PAGE)) == datetime(2026, 1, 2, 8, tzinfo=UTC)
    assert read.dates.of(page_key(f"{SITE}/b")) is None
    assert (read.counts, read.failed) == ({"sitemaps/read": 1}, False)


def test_date_is_of_the_page_however_its_url_is_spelt(read: Read) -> None:
    read.take_in(BODY.replace(b"example.com/a", b"EXAMPLE.com:443/a?utm_source=x"))

    assert read.dates.of(page_key(PAGE)) is not None


BOMB = gzip.compress(b"\0" * 60_000_000)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(BODY[:-20], id="cut-off"),
        pytest.param(gzip.compress(BODY)[:-20], id="gzip-cut-off"),
        pytest.param(BOMB, id="bomb"),
        pytest.param(b"<html><body>Not found</body></html>", id="error-page"),
        pytest.param(b"<!DOCTYPE x [<!ENTITY a 'b'>]>" + BODY, id="entities"),
    ],
)
def test_sitemap_that_cannot_be_read_to_its_end_has_failed(
    read: Read, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    read.take_in(body)

    assert read.failed
    assert read.counts["sitemaps/failed"] == 1
    assert "no page will count as missing" in caplog.text


def test_what_was_read_before_a_sitemap_broke_off_is_used(read: Read) -> None:
    read.take_in(BODY[:-20])

    assert read.dates.of(page_key(PAGE)) is not None


@pytest.mark.parametrize(
    ("url", "body"),
    [
        pytest.param("/robots.txt", b"Sitemap: /sitemap.xml", id="robots"),
        pytest.param("/page", b"<html><p>urlset</p></html>", id="page"),
        pytest.param("/page", b"<p>" + b"x" * 3_000 + b"<urlset>", id="page-that-shows-one"),
    ],
)
def test_other_responses_are_not_read(read: Read, url: str, body: bytes) -> None:
    read.take_in(body, SITE + url, TextResponse)

    assert read.counts == {}


def _parse_sitemap(response: Response) -> None:
    """As Scrapy's own spider has it."""


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (Request(f"{SITE}/sitemap.xml"), True),
        (Request(f"{SITE}/sitemap-posts-2.xml.gz?x=1"), True),
        (Request(f"{SITE}/Sitemap.TXT"), True),
        (Request(f"{SITE}/list", callback=_parse_sitemap), True),
        (Request(f"{SITE}/list"), False),
        (Request(f"{SITE}/sitemap.xml.html"), False),
        (Request(f"{SITE}/sitemap/page"), False),
    ],
    ids=lambda value: value.url if isinstance(value, Request) else str(value),
)
def test_request_for_a_sitemap_is_told_before_its_answer(read: Read, request_: Request, *, wanted: bool) -> None:
    read.dates.failed(request_, "example.com")

    assert read.dates.is_wanted(request_) is wanted
    assert read.failed is wanted
    assert read.counts["sitemaps/failed"] == int(wanted)


def test_robots_txt_that_fails_is_no_failed_sitemap(read: Read) -> None:
    read.dates.failed(Request(f"{SITE}/robots.txt", callback=_parse_sitemap), "example.com")

    assert not read.failed
