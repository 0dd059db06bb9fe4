import asyncio
import gzip
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse, XmlResponse

from scrapy_dedup.core.boilerplate.repeats import RepeatPolicy
from scrapy_dedup.core.pages.guard import ParseLimits
from scrapy_dedup.core.recrawl.verdicts import Change, VerdictKind, page_keys
from scrapy_dedup.core.urls.normal_form import DEFAULT_RULES
from scrapy_dedup.plugin.domains import Site, Sites
from scrapy_dedup.plugin.unchanged import Comparing, SitemapDates
from scrapy_dedup.service.recrawl import NOT_KEPT, Judgement, KnownPage, SiteVersions
from scrapy_dedup.service.templates.site_knowledge import learn_site
from scrapy_dedup.service.templates.site_records import template_record
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.codec import pack_fingerprints
from scrapy_dedup.store.records.records import Record
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.core.builders import parsed
from tests.databases import change
from tests.service.site_pages import DOMAIN, article, pages, url_of, words
from tests.store.builders import NOON, a_crawled_url, a_document, a_source, state_of
from tests.tables import table

OLD = "<title>Cats</title><nav><a href=/a>A</a></nav><main><p>Cats sleep a lot.</p><p>Views: 12</p></main>"
NEW_TEXT = OLD.replace("sleep", "play")

SITE = "https://example.com"
PAGE = f"{SITE}/a"
BODY = (
    "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    f"<url><loc>{PAGE}</loc><lastmod>2026-01-02T08:00:00Z</lastmod></url><url><loc>{SITE}/b</loc></url></urlset>"
).encode()


def stored(project: ProjectStore, html: str = OLD, source: dict[str, Any] | None = None, **fields: Any) -> Judgement:
    """Store a page as a crawl leaves it, and return what a new visit of it begins with."""
    page = parsed(html)
    state = {"content_hash": b"c" * 32, "blocks": pack_fingerprints(page_keys(page)), "last_changed_at": NOON}
    records: list[Record] = [a_document(1, **{**state, **fields}), a_crawled_url(1)]
    project.write([*records, a_source(1, **{"content": html, **(source or {})})])
    return Judgement(KnownPage(state_of(project, 1)))


class Judged:
    """A judgement on a page as it is now."""

    def __init__(self, project: ProjectStore, judgement: Judgement, html: str, **settings: Any) -> None:
        self.counts: Counter[str] = Counter()
        self.judgement = judgement
        self.comparing = Comparing(project, ParseLimits(), lambda what, n: self.counts.update({what: n}))
        site = Site(SiteVersions(RepeatPolicy()), loaded=True)
        asyncio.run(self.comparing.page(parsed(html), site, judgement, Settings(**settings)))

    @property
    def verdict(self) -> Any:
        return self.judgement.verdict


@table("recrawl/page_counts_as_changed_where_the_store_does_not_answer")
def test_page_counts_as_changed_where_the_store_does_not_answer(project, path, damage):
    judgement = stored(project)
    change(path, damage)

    judged = Judged(project, judgement, NEW_TEXT)

    assert judged.verdict == NOT_KEPT
    assert judged.counts == {"store/errors": 1, "unchanged/not_comparable": 1}


def test_damaged_fingerprints_are_counted(project):
    judgement = stored(project)
    assert judgement.known.state is not None
    damaged = Judgement(KnownPage(replace(judgement.known.state, blocks=b"\x01\x02\x03")))

    judged = Judged(project, damaged, NEW_TEXT)

    assert judged.verdict.kind is VerdictKind.CHANGED
    assert judged.counts["store/errors"] == 1


def test_other_links_beside_the_text_are_no_change(project):
    """By the templates of earlier crawls: nothing repeats among the pages that one visit knows."""
    known = learn_site(DOMAIN, pages(20), Settings())
    project.write([template_record(known, layout, NOON) for layout in known.templates])
    others = article(99).replace('"/a/100"', '"/a/555"').replace(words(100, 4), "other links there")
    edited = article(99).replace(words(99 * 100, 4), "other links there")
    judgement = stored(project, article(99), domain=DOMAIN, url=url_of("a", 99))

    verdicts = [Judged(project, judgement, html).verdict for html in (others, edited)]

    assert [one.change for one in verdicts] == [Change.BOILERPLATE_ONLY, Change.CONTENT]


def html(url: str, body: str, **fields: Any) -> HtmlResponse:
    return HtmlResponse(url, body=body.encode(), encoding="utf-8", **fields)


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


BOMB = gzip.compress(b"\0" * 60_000_000, 1)


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
def test_sitemap_that_cannot_be_read_to_its_end_has_failed(read, body, caplog):
    read.take_in(body)

    assert read.failed
    assert read.counts["sitemaps/failed"] == 1
    assert "no page will count as missing" in caplog.text


@pytest.mark.parametrize(
    ("url", "body"),
    [
        pytest.param("/robots.txt", b"Sitemap: /sitemap.xml", id="robots"),
        pytest.param("/page", b"<html><p>urlset</p></html>", id="page"),
        pytest.param("/page", b"<p>" + b"x" * 3_000 + b"<urlset>", id="page-that-shows-one"),
    ],
)
def test_other_responses_are_not_read(read, url, body):
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
def test_request_for_a_sitemap_is_told_before_its_answer(read, request_, *, wanted):
    read.dates.failed(request_, "example.com")

    assert read.failed is wanted
    assert read.counts["sitemaps/failed"] == int(wanted)
