"""Files and folders of pages: each form gives the same pages, and nothing in a file ends the reading."""

import gzip
import io
import json
import os
import sys
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as choose
from hypothesis import strategies as st
from scrapy.http import HtmlResponse

from scrapy_dedup.service.files.inputs import Inputs
from scrapy_dedup.service.files.inputs_records import BadRecord, InputError, InputPage, NoPage, decoded
from scrapy_dedup.service.packed_files import FileRefusedError
from scrapy_dedup.settings import Settings
from tests.service.warc_files import an_answer
from tests.tables import table

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ONE, TWO = "https://a.example/1", "https://a.example/2"
ROWS = ({"url": ONE, "html": "<p>één"}, {"url": TWO, "html": "<p>two"})
PAGES = [(ONE, "<p>één"), (TWO, "<p>two")]
ANSWERS = an_answer(ONE, "<p>één".encode()) + an_answer(TWO, b"<p>two")


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def a_file(folder: Path, raw: bytes, name: str = "pages.jsonl") -> str:
    (folder / name).write_bytes(raw)
    return str(folder / name)


def a_folder(folder: Path, name: str, manifest: str, **files: bytes) -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(manifest, encoding="utf-8")
    for stem, raw in files.items():
        (folder / f"{stem}.html").write_bytes(raw)
    return str(folder)


def read(*names: str, stdin: bytes = b"", **settings: Any) -> list[InputPage | BadRecord | NoPage]:
    chosen = Settings(**settings)
    told: list[int] = []
    with Inputs(names, io.BytesIO(stdin)) as inputs:
        found = list(inputs.records(chosen, told.append))
        assert list(inputs.records(chosen, lambda _: None)) == found
        assert sum(told) <= inputs.total
        return [one if isinstance(one, BadRecord | NoPage) else one.page(chosen) for one in found]


def pages(found: Iterable[InputPage | BadRecord | NoPage]) -> list[tuple[str, str]]:
    return [(one.url, one.html) for one in found if isinstance(one, InputPage)]


def bodies(*rows: dict[str, str]) -> bytes:
    return lines(*({"url": row["url"], "body": b64encode(row["html"].encode()).decode()} for row in rows))


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(lines(*ROWS), id="json-lines"),
        pytest.param(b"\xef\xbb\xbf" + lines(ROWS[0]) + b"\r\n\n" + lines(ROWS[1])[:-1], id="windows"),
        pytest.param(b"[\n" + lines(ROWS[0])[:-1] + b",\n" + lines(ROWS[1]) + b"]", id="json-feed"),
        pytest.param(gzip.compress(lines(ROWS[0])) + gzip.compress(lines(ROWS[1])), id="gzip"),
        pytest.param(zstd.compress(lines(ROWS[0])) + zstd.compress(lines(ROWS[1])), id="zstd"),
        pytest.param(
            b"".join(map(gzip.compress, (b"", lines(*ROWS)[:20], b"", lines(*ROWS)[20:]))), id="gzip-in-parts"
        ),
        pytest.param(bodies(*ROWS), id="bodies"),
        pytest.param(ANSWERS, id="warc"),
        pytest.param(
            gzip.compress(an_answer(ONE, "<p>één".encode())) + gzip.compress(an_answer(TWO, b"<p>two")), id="warc.gz"
        ),
        pytest.param(gzip.compress(ANSWERS), id="warc.gz-in-one"),
        pytest.param(
            zstd.compress(an_answer(ONE, "<p>één".encode())) + zstd.compress(an_answer(TWO, b"<p>two")), id="warc.zst"
        ),
    ],
)
def test_every_form_of_file_gives_the_same_pages_and_standard_input_does_as_well(tmp_path, raw):
    assert pages(read(a_file(tmp_path, raw, "any.name"))) == pages(read("-", stdin=raw)) == PAGES


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_what_may_have_no_end_is_refused_by_its_name(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(FileRefusedError, match="no regular file"):
        read(str(tmp_path / name))


def test_a_page_of_json_that_is_all_values_is_no_item():
    bad, good = read("-", stdin=b'{"url": [' + b"[]," * 1_000_001 + b"[]]}\n" + lines(ROWS[0]))

    assert isinstance(bad, BadRecord)
    assert "more than 1,000,000 values" in bad.reason
    assert isinstance(good, InputPage)


class TestLines:
    def test_what_is_no_html_is_no_page(self):
        row = {"url": ONE, "body": "", "content_type": "image/png"}

        reason = "'image/png' is neither HTML nor PDF"
        assert read("-", stdin=lines(row)) == [NoPage("standard input, line 1", reason)]

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            pytest.param(b"{", "no JSON", id="cut-off"),
            pytest.param(b"\xff\xfe{}", "no JSON", id="utf-16"),
            pytest.param(b'"text"', "no item", id="a-text"),
            pytest.param(b"[{}, {}]", "write one item a line", id="a-list"),
            pytest.param(b"[" * 100_000, "no JSON", id="nested"),
            pytest.param(b"1" * 5_000, "no JSON", id="endless-number"),
            pytest.param(b"{}", "no URL in the field 'url'; -s DEDUP_URL_FIELD", id="no-url"),
            pytest.param(b'{"url": 5, "html": ""}', "no URL", id="url-is-a-number"),
            pytest.param(b'{"url": " ", "html": ""}', "no URL", id="url-is-empty"),
            pytest.param(b'{"url": "u"}', "neither HTML in 'html' nor base64 in 'body'", id="no-html"),
            pytest.param(b'{"url": "u", "html": 5}', "neither HTML", id="html-is-a-number"),
            pytest.param(b'{"url": "u", "body": "!"}', "no base64", id="no-base64"),
            pytest.param('{"url": "u", "body": "é"}'.encode(), "no base64", id="no-ascii"),
            pytest.param(b'{"url": "' + b"x" * 4_100_000 + b'"}', "too long; DEDUP_MAX_PAGE_BYTES", id="too-long"),
        ],
    )
    def test_a_bad_line_is_told_and_the_next_one_read(self, line, reason):
        bad, good = read("-", stdin=line + b"\n" + lines(ROWS[1]), max_page_bytes=1_000)

        assert isinstance(bad, BadRecord)
        assert bad.where == "standard input, line 1"
        assert reason in bad.reason
        assert pages([good]) == PAGES[1:]

    @pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
    def test_of_a_packed_file_that_is_cut_off_there_is_the_beginning(self, pack):
        found = read("-", stdin=pack(lines(*ROWS)) + pack(lines(*ROWS))[:-9])

        assert pages(found)[:2] == PAGES
        assert isinstance(found[-1], BadRecord)
        assert "damaged or cut off" in found[-1].reason


class TestFolders:
    @pytest.mark.parametrize(
        "damaged",
        [
            pytest.param(gzip.compress(b"<p>" * 99)[:10] + b"\xff", id="gzip"),
            pytest.param(gzip.compress(os.urandom(99))[:-9], id="gzip-cut-off"),
            pytest.param(gzip.compress(b"<p>") + gzip.compress(os.urandom(99))[:-9], id="second-member-cut-off"),
            pytest.param(zstd.compress(os.urandom(99))[:-9], id="zstd-cut-off"),
        ],
    )
    def test_files_may_be_packed_and_are_whole_then(self, tmp_path, damaged):
        manifest = "\n".join(
            f'{{"url": "{url}", "file": "{file}.html"}}' for url, file in zip("123", "abc", strict=True)
        )
        folder = a_folder(
            tmp_path, "manifest.jsonl", manifest, a=gzip.compress(b"<p>"), b=zstd.compress(b"<p>"), c=damaged
        )

        *good, bad = read(folder)

        assert pages(good) == [("1", "<p>"), ("2", "<p>")]
        assert isinstance(bad, BadRecord)

    @table("service/bad_entries_of_manifests")
    def test_a_bad_entry_is_told_and_the_next_one_read(self, tmp_path, entry, reason):
        (tmp_path / "secret").write_text("<p>secret")
        site = tmp_path / "site"
        manifest = json.dumps({"pages": [entry, {"url": TWO, "file": "b.html"}]})
        folder = a_folder(site, "manifest.json", manifest, b=b"<p>two")
        (site / "link").symlink_to(tmp_path / "secret")
        (site / "large").write_bytes(b"x" * 4_010_000)
        os.mkfifo(site / "pipe")

        bad, good = read(folder, max_page_bytes=1_000)

        assert isinstance(bad, BadRecord)
        assert bad.where == f"{folder}/manifest.json, entry 1"
        assert reason in bad.reason
        assert pages([good]) == PAGES[1:]

    def test_the_content_of_a_file_says_whether_it_is_a_page(self, tmp_path):
        page = b"<!DOCTYPE html><p>one"
        (tmp_path / "a").mkdir()
        shown = {
            "a/page.php?x=1": b"\xef\xbb\xbf\n<!-- saved --><HTML lang=en>",
            "about": page,
            "p.gz": gzip.compress(page),
            "wide": page.decode().encode("utf-16"),
            "xhtml": b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">',
        }
        others = {
            "a.css": b"p { color: red }",
            "a.js": b"<!---->" * 99 + b"let a = 1",
            "a.png": b"\x89PNG\r\n\x1a\n" + bytes(9_999),
            "a.svg": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg">',
            "a.xml": b"<rss><channel><link>x",
            "empty": b"",
        }
        kinds = {InputPage: shown, NoPage: others, BadRecord: {"b.gz": gzip.compress(page)[:12]}}
        told = {a_file(tmp_path, raw, name): kind for kind in kinds for name, raw in kinds[kind].items()}

        assert {one.where: type(one) for one in read(str(tmp_path))} == told

    @pytest.mark.parametrize("manifest", ["{", "{}", "5", "[" * 100_000])
    def test_a_manifest_that_is_none_ends_the_call(self, tmp_path, manifest):
        with pytest.raises(InputError, match="manifest"):
            read(a_folder(tmp_path, "manifest.json", manifest))


class TestWarc:
    def test_the_body_is_unpacked_and_decoded(self):
        latin = b"Content-Type: text/html; charset=iso-8859-1"
        packed = gzip.compress("<p>é".encode("latin-1"))
        chunked = b"4\r\n<p>\xe9\r\n0\r\n\r\n"
        answers = [
            an_answer("1", packed, latin, b"Content-Encoding: gzip"),
            an_answer("2", chunked, latin, b"Transfer-Encoding: chunked"),
            an_answer("3", b"<p>\xe9", latin, b"Content-Encoding: gzip", b"Transfer-Encoding: chunked"),
            an_answer("<4>", b"<p>\xe9", b"content-type: TEXT/HTML; charset=latin-1"),
        ]

        assert pages(read("-", stdin=b"".join(answers))) == [(name, "<p>é") for name in "1234"]

    def test_only_answers_with_html_are_pages(self):
        records = [
            an_answer(status=b"301 Moved"),
            an_answer(ONE, b"x", b"Content-Type: image/png"),
            an_answer(ONE, b"x", b"X: y"),
            an_answer(kind=b"request"),
            an_answer(kind=b"revisit"),
        ]

        assert [type(one) for one in read("-", stdin=b"".join(records))] == [NoPage] * 3

    def test_a_file_full_of_damages_is_given_up(self):
        found = read("-", stdin=b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: x\r\n\r\n" * 2_000)

        assert isinstance(found[-1], BadRecord)
        assert len(found) < 2_002


BODIES = [
    pytest.param(b"<p>plain", "", id="ascii"),
    pytest.param("<p>één".encode(), "", id="utf-8"),
    pytest.param(b"\xef\xbb\xbf<p>", "text/html; charset=latin-1", id="byte-order-mark"),
    pytest.param("<meta charset=cp1251><p>чай".encode("cp1251"), "text/html", id="declared"),
    pytest.param("<p>чай".encode("cp1251"), "text/html; charset=windows-1251", id="content-type"),
    pytest.param(b"<p>\xff\xfe\x80", "text/html; charset=utf-8", id="invalid"),
    pytest.param(b"<p>x", "text/html; charset=nonsense", id="unknown"),
    pytest.param("<p>één".encode("utf-16-be"), "text/html; charset=utf-16", id="utf-16"),
    pytest.param("<p>茶".encode("gb2312"), "text/html; charset=gb2312", id="gb2312"),
]


@pytest.mark.parametrize(("body", "content_type"), BODIES)
def test_bodies_are_decoded_as_scrapy_decodes_them(body, content_type):
    headers = {"Content-Type": content_type} if content_type else {}

    assert decoded(body, content_type) == HtmlResponse("https://a.example", headers=headers, body=body).text


@given(
    raw=st.binary(max_size=300),
    start=st.sampled_from([b"", b"WARC/1.0\r\n", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"{"]),
)
@choose(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_end_the_reading(raw, start):
    assert all(isinstance(one, InputPage | BadRecord | NoPage) for one in read("-", stdin=start + raw))
