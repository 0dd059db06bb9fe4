"""Bodies by their Content-Encoding; files are read in `test_inputs`."""

import gzip
import sys
import zlib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from scrapy_dedup.service.packed_files import EncodingError, unpacked
from tests.growth import assert_in_proportion

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BODY = b"<p>" + bytes(range(256)) * 2 + b"text " * 400
RAW_DEFLATE = zlib.compress(BODY)[2:-4]
# Scrapy brings it since 2.19.
brotli: Any = import_module("brotli") if find_spec("brotli") else None
needs_brotli = pytest.mark.skipif(brotli is None, reason="brotli is not installed")
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda body: bytes(brotli.compress(body)),
    "zstd": zstd.compress,
    "identity": bytes,
}
ENCODINGS = [pytest.param(name, marks=needs_brotli if name == "br" else ()) for name in PACKERS]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_body_is_unpacked_within_its_bound_and_whole_or_not_at_all(encoding):
    packed = PACKERS[encoding](BODY)

    assert unpacked(packed, f" {encoding.upper()} ", len(BODY)) == BODY
    with pytest.raises(EncodingError, match=f"larger than {len(BODY) - 1} bytes"):
        unpacked(packed, encoding, len(BODY) - 1)
    for end in range(len(packed) if encoding != "identity" else 0):
        with pytest.raises(EncodingError, match=f"packed by {encoding}, and damaged"):
            unpacked(packed[:end], encoding, len(BODY))


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        pytest.param("", BODY, id="none"),
        pytest.param("x-gzip", gzip.compress(BODY), id="x-gzip"),
        pytest.param("deflate", RAW_DEFLATE, id="deflate-without-a-frame"),
        pytest.param("deflate, gzip", gzip.compress(zlib.compress(BODY)), id="twice"),
    ],
)
def test_body_is_unpacked_as_servers_pack(encoding, packed):
    assert unpacked(packed, encoding, len(BODY)) == BODY


def test_half_a_body_without_a_frame_is_no_body():
    for end in range(len(RAW_DEFLATE)):
        with pytest.raises(EncodingError):
            unpacked(RAW_DEFLATE[:end], "deflate", len(BODY))


def test_what_stands_behind_gzip_is_passed_over():
    assert unpacked(gzip.compress(BODY) + gzip.compress(b"tea") + b"\0junk", "gzip", 10_000) == BODY + b"tea"


def test_many_members_take_time_in_proportion():
    def unpack(body: bytes) -> None:
        unpacked(body, "gzip", 10_000)

    assert_in_proportion(unpack, lambda size: gzip.compress(b"") * (size // 20), 200_000)


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if name.values != ("identity",)])
def test_damaged_body_is_refused(encoding):
    with pytest.raises(EncodingError, match=f"packed by {encoding}, and damaged"):
        unpacked(b"not so", encoding, 1000)


def test_unknown_encoding_is_refused_by_its_name():
    with pytest.raises(EncodingError, match=r"packed by 'lzma\\x1b', which is not known here"):
        unpacked(BODY, "lzma\x1b", 10_000)
