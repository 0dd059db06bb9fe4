"""Files as they lie on a disk, packed or not: unpacked while they are read, and cut into lines of a bounded length."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

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
