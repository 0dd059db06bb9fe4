import asyncio
import gzip
import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response, TextResponse, XmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import Settings as ScrapySettings

from scrapy_dedup.core.boilerplate.repeats import RepeatPolicy
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.guard import ParseLimits
from scrapy_dedup.core.recrawl.passages import page_keys
from scrapy_dedup.core.recrawl.verdicts import NEW, Change, VerdictKind
from scrapy_dedup.core.urls.normal_form import DEFAULT_RULES, page_key
from scrapy_dedup.plugin.crawl.ways import Ways
from scrapy_dedup.plugin.domains.sites import Site, Sites
from scrapy_dedup.plugin.unchanged import Comparing, ErrorPages, SitemapDates
from scrapy_dedup.service.recrawl.recrawling import (
    BACK,
    FIRST_VERSION,
    NOT_KEPT,
    OTHER_BYTES,
    SAME_BYTES,
    Judgement,
    KnownPage,
)
from scrapy_dedup.service.recrawl.versions import SAME_BLOCKS, SiteVersions
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.codec import pack_fingerprints
from scrapy_dedup.store.records.records import Record
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import NOON, a_crawled_url, a_document, a_source, a_time, a_url, state_of
from tests.tables import table

OLD = "<title>Cats</title><nav><a href=/a>A</a></nav><main><p>Cats sleep a lot.</p><p>Views: 12</p></main>"
NEW_TEXT = OLD.replace("sleep", "play")
OTHER_VIEWS = OLD.replace("12", "15")


HOME = "https://example.com/"
ERROR = (
    "<title>Oops</title><main><h1>Sorry</h1><p>We looked for {url} and found nothing at all, try the search.</p></main>"
)
REAL = "<title>Boats</title><main><p>Boats of all sizes, to hire by the hour or by the day.</p></main>"


SITE = "https://example.com"
PAGE = f"{SITE}/a"
BODY = (
    "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    f"<url><loc>{PAGE}</loc><lastmod>2026-01-02T08:00:00Z</lastmod></url><url><loc>{SITE}/b</loc></url></urlset>"
).encode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dedup.db"


@pytest.fixture
def project(path: Path) -> Iterator[ProjectStore]:
    with Store.open(f"sqlite:///{path}", timeout=timedelta(milliseconds=100)) as store:
        yield store.project("shop")


def parsed(html: str) -> Page:
    page = parse_page(html)
    assert isinstance(page, Page)
    return page


def stored(project: ProjectStore, html: str = OLD, source: dict[str, Any] | None = None, **fields: Any) -> Judgement:
    """Store a page as a crawl leaves it, and return what a new visit of it begins with."""
    page = parsed(html)
    state = {
        "content_hash": b"c" * 32,
        "blocks": pack_fingerprints(page_keys(page)),
        "last_changed_at": NOON,
    }
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


def test_page_with_the_same_blocks_is_unchanged(project: ProjectStore) -> None:
    """Whatever else its HTML has."""
    html = OLD.replace("<main>", "<script>var now = 17</script><main data-x=1>")

    assert Judged(project, stored(project), html).verdict == SAME_BLOCKS


def test_first_version_of_a_page_from_elsewhere_is_no_change(project: ProjectStore) -> None:
    assert Judged(project, stored(project, content_hash=None, blocks=None), OLD).verdict == FIRST_VERSION


@pytest.mark.parametrize(
    ("html", "kind", "change"),
    [
        pytest.param(NEW_TEXT, VerdictKind.CHANGED, Change.CONTENT, id="text"),
        pytest.param(OLD.replace("<title>Cats", "<title>Dogs"), VerdictKind.CHANGED, Change.TITLE, id="title"),
        pytest.param(OTHER_VIEWS, VerdictKind.CHANGED, Change.NUMBERS, id="numbers"),
    ],
)
def test_versions_are_compared_by_their_text(
    project: ProjectStore, html: str, kind: VerdictKind, change: Change
) -> None:
    judged = Judged(project, stored(project), html, diff=True)

    assert (judged.verdict.kind, judged.verdict.change) == (kind, change)
    assert bool(judged.judgement.diff) is (change is not Change.TITLE), "the reason says how the title differs"
    assert judged.counts == {}


def test_diff_is_made_where_the_user_wants_it(project: ProjectStore) -> None:
    assert Judged(project, stored(project), NEW_TEXT).judgement.diff == ""


def test_number_that_moved_the_time_before_is_a_counter(project: ProjectStore) -> None:
    first = Judged(project, stored(project), OTHER_VIEWS)
    moved = first.judgement.moved
    second = Judged(project, stored(project, moved=moved), OTHER_VIEWS)
    third = Judged(project, stored(project, moved=moved), NEW_TEXT)

    assert moved
    assert (second.verdict.kind, second.verdict.change) == (VerdictKind.UNCHANGED, Change.VOLATILE)
    assert third.verdict.change is Change.CONTENT
    assert third.judgement.moved is None


@pytest.mark.parametrize(
    ("source", "fields"),
    [
        pytest.param({"field": "content"}, {}, id="original-is-text"),
        pytest.param({"field": "item_html"}, {}, id="original-is-an-items-own"),
        pytest.param({"fetched_at": a_time(1)}, {}, id="original-of-a-visit-that-was-never-acknowledged"),
        pytest.param({"content": "<div>" * 50_000}, {}, id="original-cannot-be-parsed"),
        pytest.param({}, {"last_changed_at": None}, id="original-without-a-time"),
    ],
)
def test_page_whose_last_version_is_not_kept_counts_as_changed(
    project: ProjectStore, source: dict[str, Any], fields: dict[str, Any]
) -> None:
    judged = Judged(project, stored(project, source=source, **fields), NEW_TEXT)

    assert judged.verdict == NOT_KEPT
    assert judged.counts == {"unchanged/not_comparable": 1}


@table("recrawl/page_counts_as_changed_where_the_store_does_not_answer")
def test_page_counts_as_changed_where_the_store_does_not_answer(project: ProjectStore, path: Path, damage: str) -> None:
    judgement = stored(project)
    with closing(sqlite3.connect(path)) as other:
        other.execute(damage)
        other.commit()

    judged = Judged(project, judgement, NEW_TEXT)

    assert judged.verdict == NOT_KEPT
    assert judged.counts == {"store/errors": 1, "unchanged/not_comparable": 1}


@pytest.mark.parametrize("field", ["blocks", "moved"])
def test_damaged_fingerprints_are_counted(project: ProjectStore, field: str) -> None:
    judgement = stored(project)
    assert judgement.state is not None
    damaged = Judgement(KnownPage(replace(judgement.state, **{field: b"\x01\x02\x03"})))  # type: ignore[arg-type]

    judged = Judged(project, damaged, NEW_TEXT)

    assert judged.verdict.kind is VerdictKind.CHANGED
    assert judged.counts["store/errors"] == 1


@pytest.mark.parametrize(
    ("fields", "body", "verdict"),
    [
        pytest.param(None, b"x", NEW, id="new"),
        pytest.param({"gone_at": a_time(1)}, b"x", BACK, id="back"),
        pytest.param({"content_hash": None}, b"x", FIRST_VERSION, id="from-elsewhere"),
        pytest.param({}, b"x", SAME_BYTES, id="same"),
        pytest.param({}, b"y", OTHER_BYTES, id="other"),
    ],
)
def test_what_is_no_page_is_compared_by_its_bytes(
    project: ProjectStore, fields: dict[str, Any] | None, body: bytes, verdict: object
) -> None:
    known = {"content_hash": hashlib.sha256(b"x").digest(), **(fields or {})}
    judgement = Judgement(KnownPage()) if fields is None else stored(project, **known)
    comparing = Comparing(project, ParseLimits(), lambda *_: None)

    comparing.other(Response(a_url(), body=body), judgement)

    assert judgement.verdict == verdict
    assert judgement.content == hashlib.sha256(body).digest()


def error_page(request: Request) -> Response:
    return html(request.url, ERROR.format(url=request.url))


def html(url: str, body: str, **fields: Any) -> HtmlResponse:
    return HtmlResponse(url, body=body.encode(), encoding="utf-8", **fields)


class Hosts:
    """Error pages over a site, with what was asked of it."""

    def __init__(self, answer: Callable[[Request], Response] = error_page) -> None:
        self.asked: list[Request] = []
        self.counts: Counter[str] = Counter()

        async def download_async(request: Request) -> Response:
            self.asked.append(request)
            await asyncio.sleep(0)
            return answer(request)

        runtime: Any = SimpleNamespace(
            crawl=SimpleNamespace(run=SimpleNamespace(id=UUID(int=1))),
            limits=ParseLimits(),
            ways=Ways(ScrapySettings()),
            count=lambda what, n=1: self.counts.update({what: n}),
            crawler=SimpleNamespace(engine=SimpleNamespace(download_async=download_async)),
        )
        self.pages = ErrorPages(runtime)
        self.site = Site(SiteVersions(RepeatPolicy()))

    def judge(self, *pages: tuple[str, str]) -> list[bool]:
        """Judge pages that come at once, after the host's first one."""

        async def work() -> list[bool]:
            await self._is_one(HOME, REAL)
            return await asyncio.gather(*(self._is_one(url, body) for url, body in pages))

        return asyncio.run(work())

    async def _is_one(self, url: str, body: str) -> bool:
        page = parse_page(body)
        assert isinstance(page, Page)
        request = Request(
            url,
            headers={"User-Agent": "a guest", "If-None-Match": "x"},
            meta={"proxy": "http://proxy.example", "download_slot": "slow", "depth": 3},
        )
        return await self.pages.is_one(request, html(url, body), page, self.site)


def dead(name: str = "gone") -> tuple[str, str]:
    return HOME + name, ERROR.format(url=HOME + name)


def test_error_page_is_told_from_a_real_one_by_two_probes() -> None:
    hosts = Hosts()

    assert hosts.judge(dead(), (f"{HOME}boats", REAL), dead("other")) == [True, False, True]
    assert len(hosts.asked) == 2
    assert hosts.counts == {"soft_404/probes": 2}


def test_host_with_one_page_is_not_probed() -> None:
    hosts = Hosts()

    assert hosts.judge((HOME, REAL)) == [False]
    assert hosts.asked == []


def test_every_host_is_probed_for_itself() -> None:
    hosts = Hosts()
    others = [(f"http://example.com/{name}", REAL) for name in "ab"]

    hosts.judge(dead(), *others)

    assert {request.url.rpartition("/")[0] for request in hosts.asked} == {"https://example.com", "http://example.com"}


def test_probe_is_like_no_request_of_the_spider() -> None:
    """It is not filtered, retried, redirected or cached, and it does not wait for long."""
    hosts = Hosts()
    hosts.judge(dead())

    for probe in hosts.asked:
        assert probe.callback is NO_CALLBACK
        assert probe.dont_filter
        alone = {key for key, value in probe.meta.items() if value is True}
        assert alone == {"dont_retry", "dont_redirect", "dont_cache"}
        assert probe.meta["download_timeout"] <= 30


def refuse(request: Request) -> Response:
    raise IgnoreRequest("robots.txt")


def fail(request: Request) -> Response:
    raise TimeoutError("too slow")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda request: html(request.url, ERROR, status=404), id="404"),
        pytest.param(lambda request: html(request.url, "", status=302), id="redirect"),
        pytest.param(lambda request: Response(request.url, body=b"%PDF"), id="no-text"),
        pytest.param(lambda request: TextResponse(request.url, body=b"{}"), id="no-html"),
        pytest.param(lambda request: html(request.url, "<div>" * 50_000), id="cannot-be-parsed"),
        pytest.param(refuse, id="robots-txt"),
        pytest.param(fail, id="no-answer"),
    ],
)
def test_nobody_is_judged_without_an_error_page(answer: Callable[[Request], Response]) -> None:
    hosts = Hosts(answer)

    assert hosts.judge(dead(), dead("other")) == [False, False]
    assert len(hosts.asked) == 1


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

    assert read.failed is wanted
    assert read.counts["sitemaps/failed"] == int(wanted)


def test_robots_txt_that_fails_is_no_failed_sitemap(read: Read) -> None:
    read.dates.failed(Request(f"{SITE}/robots.txt", callback=_parse_sitemap), "example.com")

    assert not read.failed
