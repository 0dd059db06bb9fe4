"""Files and bodies, packed or not: unpacked while they are read, within bounds, and cut into lines."""

import gzip
import struct
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from io import BytesIO
from typing import Any, BinaryIO, Final, TypeVar, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.settings import Settings

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
# A file packed with a dictionary begins with a frame that holds it, and that other readers pass over.
ZSTD_SKIPPABLE: Final = tuple(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60))
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
DAMAGED: Final = (EOFError, gzip.BadGzipFile, zlib.error, zstd.ZstdError)
"""What reading raises where a packed file is damaged or cut off."""

# A character of HTML takes up to six bytes in JSON ("\u003c"); an item has other fields, too.
_BYTES_A_CHARACTER: Final = 6
_OTHER_FIELDS_BYTES: Final = 4_000_000
Buffer = TypeVar("Buffer", bytes, bytearray)
_PIECE: Final = 65_536


def packed_by(start: bytes) -> str:
    """Return how a file with these first bytes (four or more) is packed: gzip, zstd, or "" for not at all."""
    if start.startswith(GZIP):
        return "gzip"
    return "zstd" if start.startswith((ZSTD, *ZSTD_SKIPPABLE)) else ""


def unpacking(file: BinaryIO) -> BinaryIO:
    """Return what gives the content of a file that stands at its start; the position of *file* tells how far we are."""
    packing = packed_by(file.read(len(ZSTD)))
    file.seek(0)
    if packing == "gzip":
        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if packing == "zstd":
        return cast("BinaryIO", zstd.ZstdFile(file))
    return file


def most_line_bytes(settings: Settings) -> int:
    """Return how long a line with a page can be at most."""
    return _BYTES_A_CHARACTER * settings.max_page_bytes + _OTHER_FIELDS_BYTES


def lines_of(file: BinaryIO, most: int) -> Iterator[bytes | None]:
    """Yield the lines of a file; None in the place of those that are longer than *most* bytes."""
    while line := file.readline(most + 1):
        if len(line) <= most:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(most)
        yield None


class EncodingError(DedupError):
    """A body cannot be unpacked; the message says why."""


def unpacked(body: bytes, encodings: str, most: int) -> bytes:
    """Return a body without its content encodings.

    Args:
        body: as it was received.
        encodings: value of Content-Encoding, the first that was applied first.
        most: bytes; one that is larger is refused.

    Raises:
        EncodingError: it is larger, damaged, or packed in a way that is not known.
    """
    for name in reversed([name.strip().lower() for name in encodings.split(",")]):
        unpack = _WAYS.get(name)
        if unpack is None:
            raise EncodingError(f"packed by {name[:40]!r}, which is not known here")
        try:
            body = unpack(body, most)
        except (*DAMAGED, OSError, ValueError) as error:
            raise EncodingError(f"packed by {name}, and damaged or larger than {most} bytes: {error}") from error
    return body


def _gunzip(body: bytes, most: int) -> bytes:
    # As Scrapy does it, which not every process that reads files has: of a body that was cut off, what there is.
    found = bytearray()
    with gzip.GzipFile(fileobj=BytesIO(body)) as file:
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


_WAYS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    "": _same,
    "identity": _same,
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
