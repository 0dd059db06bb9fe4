import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.resilience.discovery import Entry, SitemapLimits, parse_lastmod, read_sitemap
from tests.growth import assert_in_proportion
from tests.tables import table

FOLDER = Path(__file__).parents[2] / "data" / "sitemaps"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
DATES = json.loads((FOLDER / "dates.json").read_text(encoding="utf-8"))
URL = "https://example.com/sitemap.xml"


def entries(listed: list[list[str | None]]) -> tuple[Entry, ...]:
    return tuple(Entry(str(url), datetime.fromisoformat(at) if at else None, *title) for url, at, *title in listed)


def sitemap(*entries: str, root: str = "urlset") -> bytes:
    return f"<{root}>{''.join(entries)}</{root}>".encode()


def page(path: str, rest: str = "") -> str:
    return f"<url><loc>https://example.com/{path}</loc>{rest}</url>"


@pytest.mark.parametrize("case", [pytest.param(case, id=case["file"]) for case in EXPECTED])
def test_file_is_read(case):
    found = read_sitemap((FOLDER / case["file"]).read_bytes(), URL)

    assert found.pages == entries(case.get("pages", [])), case["why"]
    assert found.children == entries(case.get("children", [])), case["why"]
    assert not found.truncated
    assert (case["error"] in (found.error or "")) if "error" in case else found.complete, found.error


def test_every_file_has_a_case():
    assert {case["file"] for case in EXPECTED} == {path.name for path in FOLDER.iterdir() if path.suffix != ".json"}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["text"] or "empty") for case in DATES])
def test_date_is_its_last_instant(case):
    expected = datetime.fromisoformat(case["until"]) if case["until"] else None

    found = parse_lastmod(case["text"])

    assert found == expected, case["why"]
    assert found is None or found.tzinfo is UTC


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_declared_encoding_counts(encoding):
    declared = encoding.removesuffix("-sig")
    body = f'<?xml version="1.0" encoding="{declared}"?>{sitemap(page("käse")).decode()}'.encode(encoding)

    assert [entry.url for entry in read_sitemap(body, URL).pages] == ["https://example.com/käse"]


def test_bytes_that_are_no_text_end_the_reading():
    found = read_sitemap(sitemap(page("a")).replace(b"</urlset>", b"\xff</urlset>"), URL)

    assert [entry.url for entry in found.pages] == ["https://example.com/a"]
    assert found.error
    assert not found.complete


def test_file_that_ends_early_is_read_up_to_there():
    body = sitemap(page("a"), page("b"))

    found = read_sitemap(body[:-20], URL)

    assert [entry.url for entry in found.pages] == ["https://example.com/a"]
    assert found.error == "unclosed token: line 1, column 82"


@table("core/declarations_end_the_reading")
def test_declarations_end_the_reading(declaration):
    body = f"<!DOCTYPE urlset [{declaration}]>".encode() + sitemap(page("&a;"))

    found = read_sitemap(body, URL)

    assert found.pages == ()
    assert found.error == "declares entities or attributes"


def test_document_type_without_declarations_is_read():
    body = b'<!DOCTYPE urlset SYSTEM "http://evil.example/x.dtd">' + sitemap(page("a"))

    assert len(read_sitemap(body, URL).pages) == 1


@table("core/limits_cut")
def test_limits_cut(limits):
    found = read_sitemap(sitemap(page("a"), page("b"), page("c")), URL, SitemapLimits(**limits))

    assert [entry.url for entry in found.pages] == ["https://example.com/a", "https://example.com/b"]
    assert found.truncated
    assert found.error is None
    assert not found.complete


def test_text_lists_are_cut_too():
    body = b"https://example.com/a\nhttps://example.com/b\n"

    assert read_sitemap(body, URL, SitemapLimits(entries=1)).truncated


def test_deep_elements_end_the_reading():
    assert read_sitemap(b"<urlset>" + b"<a>" * 100_000, URL).error == "elements are more than 50 deep"


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda n: b"<urlset>" + b"<a/>" * (n // 4), id="elements"),
        pytest.param(lambda n: b"<urlset><url><loc>" + b"x" * n, id="one-url"),
        pytest.param(lambda n: b"<urlset a='" + b"x" * n, id="attribute"),
        pytest.param(
            lambda n: b"<!DOCTYPE urlset [" + declared(n // 800) + b"]><urlset>" + b"<url/>" * (n // 400), id="declared"
        ),
        pytest.param(lambda n: b"<!--" + b"x" * n + b"-->", id="comment-before"),
        pytest.param(lambda n: b"<urlset>" + b"<!---->" * (n // 7), id="comments"),
        pytest.param(lambda n: b"http://[\n" + b"\n" * n, id="lines"),
        pytest.param(lambda n: b"https://example.com/" + b"x" * n, id="text"),
        pytest.param(lambda n: b" " * n, id="nothing"),
    ],
)
def test_hostile_sitemaps_take_time_in_proportion_to_their_length(make):
    assert_in_proportion(lambda body: read_sitemap(body, URL), make, 1_000_000)

    found = read_sitemap(make(8_000), URL, SitemapLimits(bytes=4_000, elements=500))
    assert found.pages == ()
    assert not found.complete


def declared(count: int) -> bytes:
    return b"<!ATTLIST url" + b"".join(b" a%d CDATA 'x'" % number for number in range(count)) + b">"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param(
            b"<urlset><url " + b"".join(b"a%d='' " % number for number in range(40_000)) + b"/></urlset>",
            "a tag or a comment is longer than 262144 bytes",
            id="one-tag",
        ),
        pytest.param(
            b"<urlset>" + b"".join(b"<url a%d=''/>" % number for number in range(40_000)) + b"</urlset>",
            "elements and attributes have more than 1000 names",
            id="many-tags",
        ),
        pytest.param(
            b"<urlset>" + b"".join(b"<a%d/>" % number for number in range(40_000)) + b"</urlset>",
            "elements and attributes have more than 1000 names",
            id="elements",
        ),
        pytest.param(
            b"<!DOCTYPE urlset [" + declared(10_000) + b"]><urlset>" + b"<url/>" * 10_000 + b"</urlset>",
            "declares entities or attributes",
            id="declared",
        ),
        pytest.param(
            b"<!--" + b"x" * 200_000 + b"--><!DOCTYPE urlset [" + declared(10_000) + b"]><urlset/>",
            "no element in its first 65536 bytes",
            id="declared-behind-a-comment",
        ),
    ],
)
def test_attributes_and_names_end_the_reading(body, error):
    """As many as would cost their square, or memory that a parser keeps."""
    found = read_sitemap(body, URL)

    assert (found.pages, found.error) == ((), error)


def test_entries_before_the_end_of_the_reading_stay():
    body = b"<urlset>" + page("a").encode() + b"x" * 70_000 + b"<url " + b"a='' " * 60_000

    assert [entry.url for entry in read_sitemap(body, URL).pages] == ["https://example.com/a"]


@given(st.binary(max_size=300))
def test_any_bytes_are_read(body):
    read_sitemap(body, URL)
    read_sitemap(b"<urlset><url><loc>/a</loc><lastmod>" + body, URL)


@given(st.text(max_size=40))
def test_any_date_is_read(text):
    parse_lastmod(text)
