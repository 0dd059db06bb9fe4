"""Scrapy's HTTP cache: entries as Scrapy itself writes them, and as nobody should."""

import gzip
import os
import zlib
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.extensions.httpcache import FilesystemCacheStorage
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings as ScrapySettings
from scrapy.utils.test import get_crawler

from scrapy_dedup.service.seeding_httpcache import entries_in, read_cache
from scrapy_dedup.service.seeding_pages import Found, FoundPage, NoPage, Unreadable
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.codec import Packer
from tests.service.stored_pages import NOON, a_url, html_page

LATER = datetime(2200, 1, 1, tzinfo=UTC)
HTML = html_page(1, "grün")

# Scrapy brings it since 2.19.
brotli: Any = import_module("brotli") if find_spec("brotli") else None
needs_brotli = pytest.mark.skipif(brotli is None, reason="brotli is not installed")


def with_brotli(body: bytes) -> bytes:
    packed: bytes = brotli.compress(body)
    return packed


@pytest.fixture
def began() -> datetime:
    return datetime.now(UTC) - timedelta(seconds=1)


def cache(folder: Path, *responses: Response, packed: bool = False, method: str = "GET") -> Path:
    """Write responses as Scrapy does."""
    crawler = get_crawler(Spider)
    spider = Spider.from_crawler(crawler, name="site")
    settings = {"HTTPCACHE_DIR": str(folder), "HTTPCACHE_GZIP": packed}
    storage = FilesystemCacheStorage(ScrapySettings(settings))
    crawler.request_fingerprinter = crawler.request_fingerprinter or _fingerprinter()
    spider.crawler = crawler
    storage.open_spider(spider)
    for response in responses:
        storage.store_response(spider, Request(response.url, method=method), response)
    return folder


def _fingerprinter() -> Any:
    from scrapy.utils.request import RequestFingerprinter

    return RequestFingerprinter()


def a_response(name: object = 1, body: bytes = HTML.encode(), **headers: Any) -> Response:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return Response(a_url(name), headers={"Content-Type": "text/html; charset=utf-8", **named}, body=body)


def read(folder: Path, latest: datetime = LATER, **settings: Any) -> list[Found]:
    return list(read_cache(folder, Settings(**settings), latest, lambda _: None))


def page_in(folder: Path) -> FoundPage:
    (page,) = read(folder)
    assert isinstance(page, FoundPage), page
    return page


def reason_in(folder: Path, **settings: Any) -> str:
    (found,) = read(folder, **settings)
    assert isinstance(found, Unreadable | NoPage)
    return f"{type(found).__name__}: {found.reason}"


@pytest.mark.parametrize("packed", [False, True])
def test_what_scrapy_cached_is_read(tmp_path: Path, began: datetime, *, packed: bool) -> None:
    headers: dict[str, Any] = {"ETag": '"a"', "Last_Modified": "Sun, 01 Mar 2026 12:00:00 GMT"}

    page = page_in(cache(tmp_path, a_response(**headers), packed=packed))

    assert (page.url, page.html, page.content, page.item) == (a_url(1), HTML, None, None)
    assert (page.etag, page.last_modified, page.content_type) == ('"a"', headers["Last_Modified"], "text/html")
    assert page.http_status == 200
    assert began < page.at < datetime.now(UTC)


def test_the_folder_may_be_that_of_all_spiders_or_of_a_part(tmp_path: Path) -> None:
    cache(tmp_path, a_response(1), a_response(2), a_response(3))
    parts = [tmp_path, tmp_path / "site", *(entry for entry in entries_in(tmp_path))]

    assert [len(read(part)) for part in parts] == [3, 3, 1, 1, 1]


def test_progress_is_told_for_each_entry(tmp_path: Path) -> None:
    cache(tmp_path, a_response(1), a_response(2))
    told: list[int] = []

    list(read_cache(tmp_path, Settings(), LATER, told.append))

    assert told == [1, 1] == [1 for _ in entries_in(tmp_path)]


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        pytest.param("gzip", gzip.compress, id="gzip"),
        pytest.param("x-gzip", gzip.compress, id="x-gzip"),
        pytest.param("deflate", zlib.compress, id="deflate"),
        pytest.param("deflate", lambda body: zlib.compress(body)[2:-4], id="deflate-without-a-frame"),
        pytest.param("br", with_brotli, id="brotli", marks=needs_brotli),
        pytest.param("zstd", lambda body: Packer().text(body.decode()), id="zstd"),
        pytest.param("identity", bytes, id="identity"),
        pytest.param("gzip, br", lambda body: brotli.compress(gzip.compress(body)), id="twice", marks=needs_brotli),
    ],
)
def test_bodies_are_packed_as_they_came(tmp_path: Path, encoding: str, pack: Any) -> None:
    """The cache stands nearer to the network than the middleware that unpacks."""
    assert page_in(cache(tmp_path, a_response(body=pack(HTML.encode()), Content_Encoding=encoding))).html == HTML


@pytest.mark.parametrize(
    ("encoding", "pack", "reason"),
    [
        pytest.param("gzip", gzip.compress, "larger than 2000 bytes", id="gzip-bomb"),
        pytest.param("deflate", zlib.compress, "larger than 2000 bytes", id="deflate-bomb"),
        pytest.param("br", with_brotli, "larger than 2000 bytes", id="brotli-bomb", marks=needs_brotli),
        pytest.param("zstd", lambda body: Packer().text(body.decode()), "larger than 2000 bytes", id="zstd-bomb"),
        pytest.param("identity", bytes, "response_body is larger than 2000 bytes", id="large"),
        pytest.param("gzip", lambda _: b"no gzip", "damaged", id="no-gzip"),
        pytest.param("deflate", lambda _: b"no deflate", "damaged", id="no-deflate"),
        pytest.param("br", lambda _: b"no brotli", "damaged", id="no-brotli", marks=needs_brotli),
        pytest.param("zstd", lambda _: b"no zstd", "damaged", id="no-zstd"),
        pytest.param("lzma\x1b", lambda _: b"", r"packed by 'lzma\x1b'", id="unknown"),
    ],
)
def test_a_bad_body_is_told(tmp_path: Path, encoding: str, pack: Any, reason: str) -> None:
    folder = cache(tmp_path, a_response(body=pack(b"x" * 1_000_000), Content_Encoding=encoding))

    assert reason in reason_in(folder, max_page_bytes=2_000)


@pytest.mark.parametrize(
    ("content_type", "raw"),
    [
        pytest.param("text/html; charset=iso-8859-1", "<html>grün</html>".encode("latin-1"), id="declared"),
        pytest.param("text/html", '<html><meta charset="iso-8859-1">grün</html>'.encode("latin-1"), id="in-the-page"),
        pytest.param("text/html", "<html>grün</html>".encode("cp1252"), id="guessed"),
        pytest.param("text/html", "<html>grün</html>".encode(), id="utf-8"),
        pytest.param("application/xhtml+xml", "<html>grün</html>".encode(), id="xhtml"),
    ],
)
def test_a_page_reads_as_in_a_crawl(tmp_path: Path, content_type: str, raw: bytes) -> None:
    response = HtmlResponse(a_url(1), headers={"Content-Type": content_type}, body=raw)

    page = page_in(cache(tmp_path, response))

    assert page.html == response.text


@pytest.mark.parametrize(
    ("response", "method", "reason"),
    [
        pytest.param(Response(a_url(1), status=301), "GET", "status 301", id="redirect"),
        pytest.param(Response(a_url(1), status=404, body=b"<html>"), "GET", "status 404", id="error"),
        pytest.param(a_response(), "POST", "POST", id="post"),
        pytest.param(a_response(body=b"\x89PNG\r\n\x1a\n\0", Content_Type="image/png"), "GET", "no HTML", id="picture"),
        pytest.param(
            a_response("robots.txt", b"User-agent: *", Content_Type="text/plain"), "GET", "no HTML", id="text"
        ),
        pytest.param(a_response(body=b"{}", Content_Type="application/json"), "GET", "no HTML", id="json"),
    ],
)
def test_what_is_no_page_is_told(tmp_path: Path, response: Response, method: str, reason: str) -> None:
    told = reason_in(cache(tmp_path, response, method=method))

    assert told.startswith("NoPage")
    assert reason in told


META = {"url": a_url(1), "method": "GET", "status": 200, "response_url": a_url(1), "timestamp": NOON.timestamp()}


def an_entry(folder: Path, meta: bytes, body: bytes = b"<html>x</html>") -> Path:
    entry = folder / "site" / "ab" / ("ab" * 20)
    entry.mkdir(parents=True)
    for name, content in {"meta": meta, "response_headers": b"Content-Type: text/html", "response_body": body}.items():
        (entry / name).write_bytes(content)
    return entry


@pytest.mark.parametrize(
    "meta",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff", id="no-text"),
        pytest.param(b"{'url'", id="cut-off"),
        pytest.param(b"[]", id="a-list"),
        pytest.param(b"__import__('os').system('touch ran')", id="code"),
        pytest.param(repr({**META, "status": "200"}).encode(), id="status-is-text"),
        pytest.param(repr({**META, "response_url": 7}).encode(), id="url-is-a-number"),
        pytest.param(repr({**META, "timestamp": "soon"}).encode(), id="no-time"),
        pytest.param(repr({**META, "timestamp": 1e300}).encode(), id="endless-time"),
        pytest.param(b"(" * 19_000, id="nested"),
        pytest.param(b"-" * 19_000 + b"1", id="signs"),
        pytest.param(b"{" + b"1:{" * 6_000, id="nested-dicts"),
        pytest.param(b" " * 30_000, id="too-large"),
        pytest.param(gzip.compress(b" " * 5_000_000), id="bomb"),
    ],
)
def test_a_damaged_entry_is_told_and_runs_nothing(tmp_path: Path, meta: bytes) -> None:
    an_entry(tmp_path, meta)

    assert reason_in(tmp_path).startswith("Unreadable: ")
    assert not (tmp_path / "ran").exists()


def test_pickles_are_never_touched(tmp_path: Path) -> None:
    entry = an_entry(tmp_path, repr(META).encode())
    for name in ("pickled_meta", "response_data"):
        (entry / name).write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")

    assert page_in(tmp_path).at == NOON


@pytest.mark.parametrize("name", ["meta", "response_headers", "response_body"])
def test_files_that_lead_out_of_the_cache_are_not_followed(tmp_path: Path, name: str) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(repr(META).encode())
    entry = an_entry(tmp_path, repr(META).encode())
    (entry / name).unlink()
    (entry / name).symlink_to(secret)

    assert "no ordinary file" in reason_in(tmp_path)


@pytest.mark.parametrize("name", ["response_headers", "response_body"])
def test_a_missing_file_is_told(tmp_path: Path, name: str) -> None:
    (an_entry(tmp_path, repr(META).encode()) / name).unlink()

    assert "No such file" in reason_in(tmp_path)


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    entry = an_entry(tmp_path, repr(META).encode())
    (entry / "meta").unlink()
    os.mkfifo(entry / "meta")

    assert "no ordinary file" in reason_in(tmp_path)


def test_folders_are_not_followed_in_a_circle(tmp_path: Path) -> None:
    entry = an_entry(tmp_path, repr(META).encode())
    (entry / "again").symlink_to(tmp_path, target_is_directory=True)

    assert len(read(tmp_path)) == 1


def test_no_page_is_younger_than_now(tmp_path: Path) -> None:
    an_entry(tmp_path, repr(META).encode())
    yesterday = NOON - timedelta(days=1)

    (page,) = read(tmp_path, latest=yesterday)

    assert isinstance(page, FoundPage)
    assert page.at == yesterday
