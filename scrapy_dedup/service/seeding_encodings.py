"""Bodies as they came over the network, unpacked within a bound."""

import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from gzip import GzipFile
from importlib import import_module
from io import BytesIO
from typing import Any, Final, TypeVar

from scrapy_dedup.core.errors import DedupError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


Buffer = TypeVar("Buffer", bytes, bytearray)
_PIECE: Final = 65_536


class EncodingError(DedupError):
    """A body cannot be unpacked; the message says why."""


def unpacked(body: bytes, encodings: Iterable[bytes], most: int) -> bytes:
    """Return a body without its content encodings.

    Args:
        body: as it was received.
        encodings: values of Content-Encoding, in their order.
        most: bytes; one that is larger is refused.

    Raises:
        EncodingError: it is larger, damaged, or packed in a way that is not known.
    """
    names = [name.strip().lower().decode("latin-1") for value in encodings for name in value.split(b",")]
    for name in reversed(names):
        unpack = _WAYS.get(name)
        if unpack is None:
            raise EncodingError(f"packed by {name[:40]!r}, which is not known here")
        try:
            body = unpack(body, most)
        except (*_DAMAGED, ValueError) as error:
            raise EncodingError(f"packed by {name}, and damaged or larger than {most} bytes: {error}") from error
    return body


def _gunzip(body: bytes, most: int) -> bytes:
    # As Scrapy does it, which not every process that reads files has: of a body that was cut off, what there is.
    found = bytearray()
    with GzipFile(fileobj=BytesIO(body)) as file:
        while True:
            try:
                piece = file.read1(_PIECE)
            except (OSError, EOFError, zlib.error, struct.error):
                if not found:
                    raise
                break
            if not piece:
                break
            found += piece
            _bounded(found, most)
    return bytes(found)


def _inflate(body: bytes, most: int) -> bytes:
    try:
        return _bounded(zlib.decompressobj().decompress(body, most + 1), most)
    except zlib.error:  # some servers leave the frame out
        return _bounded(zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, most + 1), most)


def _unbrotli(body: bytes, most: int) -> bytes:
    try:
        brotli: Any = import_module("brotli")
    except ImportError as error:
        raise EncodingError("packed by br: pip install brotli") from error
    try:
        found: bytes = brotli.Decompressor().process(body, output_buffer_limit=most + 1)
        return _bounded(found, most)
    except TypeError as error:
        raise EncodingError("packed by br: pip install 'brotli>=1.2', older ones know no bound") from error
    except brotli.error as error:
        raise ValueError(str(error)) from error


def _unzstd(body: bytes, most: int) -> bytes:
    with zstd.ZstdFile(BytesIO(body)) as file:
        return _bounded(file.read(most + 1), most)


def _same(body: bytes, most: int) -> bytes:
    return _bounded(body, most)


def _bounded(body: Buffer, most: int) -> Buffer:
    if len(body) > most:
        raise ValueError("too large")
    return body


_DAMAGED: Final = (zlib.error, OSError, EOFError, zstd.ZstdError)
_WAYS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    "": _same,
    "identity": _same,
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
