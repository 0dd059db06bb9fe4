"""Files of items: what each line is, and that no line ends the reading."""

import gzip
import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as choose
from hypothesis import strategies as st

from scrapy_dedup.service.packed_files import packed_by
from scrapy_dedup.service.seeding_lines import Fields, read_lines
from scrapy_dedup.service.seeding_pages import Found, FoundPage, SeedError, Unreadable
from scrapy_dedup.settings import Settings
from tests.service.stored_pages import NOON, a_url

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

NOW = NOON + timedelta(days=100)
DEFAULT = Fields("url", "html", "content")


def a_file(folder: Path, raw: bytes, name: str = "items.jl") -> Path:
    path = folder / name
    path.write_bytes(raw)
    os.utime(path, (NOON.timestamp(), NOON.timestamp()))
    return path


def read(path: Path, fields: Fields = DEFAULT, **settings: Any) -> list[Found]:
    return list(read_lines(path, fields, Settings(**settings), NOW, lambda _: None))


def lines(*items: Any) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


def page_of(found: Sequence[Found]) -> FoundPage:
    (page,) = found
    assert isinstance(page, FoundPage)
    return page


def test_an_item_is_a_page_with_all_its_fields(tmp_path: Path) -> None:
    item = {"url": f" {a_url(1)} ", "html": "<p>a</p>", "content": "a", "price": 3}

    page = page_of(read(a_file(tmp_path, lines(item))))

    assert (page.url, page.html, page.content, page.at) == (a_url(1), "<p>a</p>", "a", NOON)
    assert page.item == item
    assert page.where == "items.jl, line 1"


def test_fields_have_the_names_that_the_settings_give_them(tmp_path: Path) -> None:
    fields = Fields.of(Settings(url_field="link", html_field="body", content_field="text"), key="id")

    page = page_of(read(a_file(tmp_path, lines({"link": a_url(1), "body": "b", "text": "t", "id": 7})), fields))

    assert (page.url, page.html, page.content, page.key) == (a_url(1), "b", "t", "7")


@pytest.mark.parametrize("value", [None, "", 5, ["<p>"], {"a": 1}])
def test_what_is_no_text_is_no_content(tmp_path: Path, value: object) -> None:
    page = page_of(read(a_file(tmp_path, lines({"url": a_url(1), "html": value, "content": value}))))

    assert (page.html, page.content) == (None, None)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(lines({"url": a_url(1)}, {"url": a_url(2)}), id="json-lines"),
        pytest.param(
            b"\xef\xbb\xbf" + lines({"url": a_url(1)}) + b"\r\n\n" + lines({"url": a_url(2)})[:-1], id="windows"
        ),
        pytest.param(b'[\n{"url": "%s"},\n{"url": "%s"}\n]' % (a_url(1).encode(), a_url(2).encode()), id="json-feed"),
        pytest.param(f"{a_url(1)}\n\n  {a_url(2)}  \n".encode(), id="urls"),
        pytest.param(gzip.compress(lines({"url": a_url(1)})) + gzip.compress(lines({"url": a_url(2)})), id="gzip"),
        pytest.param(zstd.compress(lines({"url": a_url(1)})) + zstd.compress(lines({"url": a_url(2)})), id="zstd"),
    ],
)
def test_every_form_gives_the_same_pages(tmp_path: Path, raw: bytes) -> None:
    assert [one.url for one in read(a_file(tmp_path, raw)) if isinstance(one, FoundPage)] == [a_url(1), a_url(2)]


@pytest.mark.parametrize(
    ("item", "field", "at"),
    [
        pytest.param({}, "", NOON, id="as-old-as-its-file"),
        pytest.param({"t": "2026-02-01T10:00:00+02:00"}, "t", datetime(2026, 2, 1, 8, tzinfo=UTC), id="with-zone"),
        pytest.param({"t": "2026-02-01 10:00"}, "t", datetime(2026, 2, 1, 10, tzinfo=UTC), id="without-is-utc"),
        pytest.param({"t": 1_700_000_000.5}, "t", datetime.fromtimestamp(1_700_000_000.5, UTC), id="seconds"),
        pytest.param({"t": 9_999_999_999}, "t", NOW, id="tomorrow-is-now"),
        pytest.param({"t": None}, "t", NOON, id="without-a-time"),
        pytest.param({"t": 1}, "", NOON, id="not-asked-for"),
        pytest.param(
            {"dedup": {"fetched_at": "2026-01-01T00:00:00+00:00"}}, "", datetime(2026, 1, 1, tzinfo=UTC), id="ours"
        ),
        pytest.param({"dedup": "x"}, "", NOON, id="not-ours"),
    ],
)
def test_an_item_is_as_old_as_it_says(tmp_path: Path, item: dict[str, Any], field: str, at: datetime) -> None:
    path = a_file(tmp_path, lines({"url": a_url(1), **item}))

    assert page_of(read(path, Fields("url", "html", "content", time=field))).at == at


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param(b"{", "neither JSON nor a URL", id="cut-off"),
        pytest.param(b"\xff\xfe{}", "neither JSON nor a URL", id="utf-16"),
        pytest.param(b'"text"', "no item", id="a-text"),
        pytest.param(b'[{"url": "https://a.example"}, {}]', "write one item a line", id="a-list"),
        pytest.param(b"[" * 100_000, "neither JSON nor a URL", id="nested"),
        pytest.param(b"1" * 5_000, "neither JSON nor a URL", id="endless-number"),
        pytest.param(b"{}", "no URL in its field 'url'; --url-field", id="no-url"),
        pytest.param(b'{"url": 5}', "no URL in its field 'url'", id="url-is-a-number"),
        pytest.param(b'{"url": " "}', "no URL in its field 'url'", id="url-is-empty"),
        pytest.param(b'{"url": "https://a.example", "t": "soon"}', "'t' holds no time", id="no-time"),
        pytest.param(b'{"url": "https://a.example", "t": [1]}', "'t' holds no time", id="time-is-a-list"),
        pytest.param(b'{"url": "https://a.example", "t": 1e300}', "'t' holds no time", id="time-is-endless"),
        pytest.param(b'{"url": "https://a.example", "t": NaN}', "'t' holds no time", id="time-is-nan"),
        pytest.param(
            b'{"url": "https://a.example", "t": "0001-01-01T00:00:00+10:00"}', "'t' holds no time", id="ancient"
        ),
        pytest.param(b'{"url": "' + b"x" * 4_100_000 + b'"}', "line is too long; DEDUP_MAX_PAGE_BYTES", id="too-long"),
    ],
)
def test_a_bad_line_is_told_and_the_next_one_read(tmp_path: Path, line: bytes, reason: str) -> None:
    path = a_file(tmp_path, line + b"\n" + lines({"url": a_url(2)}))

    bad, good = read(path, Fields("url", "html", "content", time="t"), max_page_bytes=1_000)

    assert isinstance(bad, Unreadable)
    assert bad.where == "items.jl, line 1"
    assert reason in bad.reason
    assert isinstance(good, FoundPage)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(gzip.compress(lines(*({"url": a_url(n)} for n in range(2_000))))[:-2_000], id="cut-off"),
        pytest.param(gzip.compress(lines({"url": a_url(1)}))[:-6] + b"\0\0\0\0\0\0", id="wrong-checksum"),
        pytest.param(b"\x1f\x8b rubbish", id="rubbish"),
    ],
)
def test_a_damaged_gzip_file_gives_what_it_has(tmp_path: Path, raw: bytes) -> None:
    found = read(a_file(tmp_path, raw))

    assert isinstance(found[-1], Unreadable)
    assert "damaged or cut off" in found[-1].reason
    assert all(isinstance(one, FoundPage) for one in found[:-1])


def test_a_bomb_is_never_unpacked_as_a_whole(tmp_path: Path) -> None:
    path = a_file(tmp_path, gzip.compress(b"x" * 50_000_000 + b"\n" + lines({"url": a_url(1)}), 9))

    bad, good = read(path, max_page_bytes=1_000)

    assert isinstance(bad, Unreadable)
    assert isinstance(good, FoundPage)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_progress_ends_at_the_size_of_the_file(tmp_path: Path, pack: Any) -> None:
    path = a_file(tmp_path, pack(lines(*({"url": a_url(n)} for n in range(500)))))
    told: list[int] = []

    list(read_lines(path, DEFAULT, Settings(), NOW, told.append))

    assert sum(told) == path.stat().st_size


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(SeedError, match="cannot be opened"):
        read(a_file(tmp_path, b"").rename(tmp_path / "x").parent)


@given(raw=st.binary(max_size=300))
@choose(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_end_the_reading(tmp_path: Path, raw: bytes) -> None:
    path = a_file(tmp_path, raw + b"\n" + lines({"url": a_url(1)}))

    found = read(path)

    if not packed_by(raw):
        assert isinstance(found[-1], FoundPage)
