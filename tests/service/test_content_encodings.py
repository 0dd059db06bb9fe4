"""Bodies are unpacked whole or not at all."""

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from scrapy_dedup.service.packed_files import EncodingError, unpacked, zstd
from tests.growth import assert_in_proportion

brotli: Any = pytest.importorskip("brotli")

PAGE = bytes(range(256)) * 9


def raw_deflate(page: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(page) + stream.flush()


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        pytest.param("gzip", gzip.compress, id="gzip"),
        pytest.param("deflate", zlib.compress, id="deflate"),
        pytest.param("deflate", raw_deflate, id="deflate-without-frame"),
        pytest.param("br", brotli.compress, id="brotli"),
        pytest.param("zstd", zstd.compress, id="zstd"),
    ],
)
def test_a_body_that_is_cut_off_anywhere_is_none(name: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(PAGE)

    assert unpacked(packed, name, 10_000) == PAGE
    for end in range(len(packed)):
        with pytest.raises(EncodingError):
            unpacked(packed[:end], name, 10_000)
    with pytest.raises(EncodingError):
        unpacked(packed, name, len(PAGE) - 1)


def test_what_stands_behind_gzip_is_passed_over() -> None:
    assert unpacked(gzip.compress(PAGE) + gzip.compress(b"tea") + b"\0junk", "gzip", 10_000) == PAGE + b"tea"


def test_many_members_take_time_in_proportion() -> None:
    def unpack(body: bytes) -> None:
        unpacked(body, "gzip", 10_000)

    assert_in_proportion(unpack, lambda size: gzip.compress(b"") * (size // 20), 200_000)
