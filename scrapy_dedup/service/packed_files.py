"""Files and bodies, packed or not: unpacked while they are read, within bounds, cut into lines, and read as JSON."""

import gzip
import json
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final, TypeVar, cast

if sys.version_info >= (3, 14):
    from compression import zstd as zstd  # noqa: PLC0414 (also for others, who need not know where it is)
else:
    from backports import zstd as zstd  # noqa: PLC0414

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
# What is read too much is copied again for each member, and a body may have one in every twenty bytes.
_FIRST_PIECE: Final = 1_024
MOST_BYTES: Final = 1_000_000_000
MOST_LINES: Final = 2_000_000
"""A million domains with all that is known of them are 600 MB."""
# A value that stands in two or three bytes of JSON takes a hundred in memory.
_MOST_JSON_VALUES: Final = 1_000_000
_JSON_TEXT: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


class FileRefusedError(DedupError):
    """A file is not read; the message names it, and says why."""


@contextmanager
def regular_file(path: Path | str) -> Iterator[BinaryIO]:
    """Give a file to be read; from a pipe or a device there may come nothing, or no end.

    Raises:
        FileRefusedError: it is no regular file.
        OSError: it cannot be opened.
    """
    path = Path(path)
    if not stat.S_ISREG(path.stat().st_mode):
        raise FileRefusedError(f"{path}: it is no regular file; what comes by a pipe is read as -")
    with path.open("rb") as file:
        yield file


@contextmanager
def checked_content(file: BinaryIO, name: str, most_bytes: int, *, seekable: bool = True) -> Iterator[BinaryIO]:
    """Give the content of a file, unpacked, from its beginning; it was read to its end once and can be read again.

    The file stands at its beginning, and can be read again if it is *seekable*; *name* stands in messages.

    Raises:
        FileRefusedError: it is damaged or too large.
        OSError: it cannot be read.
    """
    if not seekable:
        with TemporaryFile() as aside:
            _walk(file, name, most_bytes, aside)
            with checked_content(cast("BinaryIO", aside), name, most_bytes) as content:
                yield content
        return
    content = unpacking(file)
    if content is file:
        _walk(file, name, most_bytes)
        yield file
        return
    with TemporaryFile() as aside:
        _walk(content, name, most_bytes, aside)
        yield cast("BinaryIO", aside)


def _walk(file: BinaryIO, name: str, most_bytes: int, aside: Any = None) -> None:
    """Read all of a file, which is written *aside*; what can be read again stands at its beginning afterwards."""
    size = lines = 0
    try:
        while piece := file.read(_PIECE):
            size, lines = size + len(piece), lines + piece.count(b"\n")
            if size > most_bytes or lines > MOST_LINES:
                bounds = f"{most_bytes:,} bytes or {MOST_LINES:,} lines"
                raise FileRefusedError(f"{name}: it has more than {bounds}; nothing was taken from it, divide it")
            if aside is not None:
                aside.write(piece)
    except DAMAGED as error:
        reason = f"the packed file is damaged or cut off ({error}); nothing was taken from it"
        raise FileRefusedError(f"{name}: {reason}") from error
    (file if aside is None else aside).seek(0)


def read_json(text: bytes | str) -> Any:
    """Return the value of JSON that takes a bounded amount of memory.

    Raises:
        ValueError: it is no JSON, or has too many values.
        RecursionError: it is too deep.
    """
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if _values_in(raw) > _MOST_JSON_VALUES and _values_in(_JSON_TEXT.sub(b"", raw)) > _MOST_JSON_VALUES:
        raise ValueError(f"it has more than {_MOST_JSON_VALUES:,} values")
    return json.loads(text)


def _values_in(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


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
    found, at, size, stream = bytearray(), 0, _FIRST_PIECE, zlib.decompressobj(zlib.MAX_WBITS | 16)
    while piece := body[at : at + size]:
        found += stream.decompress(piece, most + 1 - len(found))
        _bounded(found, most)
        at, size = at + len(piece) - len(stream.unused_data), 2 * size
        if stream.eof:
            # Of what else stands behind a member, as some servers send it, browsers take no note either.
            if not body.startswith(GZIP, at):
                return bytes(found)
            size, stream = _FIRST_PIECE, zlib.decompressobj(zlib.MAX_WBITS | 16)
    raise EOFError("it is cut off")


def _inflate(body: bytes, most: int) -> bytes:
    def inflated(bits: int) -> bytes:
        stream = zlib.decompressobj(bits)
        found = _bounded(stream.decompress(body, most + 1), most)
        if not stream.eof:
            raise EOFError("it is cut off")
        return found

    try:
        return inflated(zlib.MAX_WBITS)
    except zlib.error:  # some servers leave the frame out
        return inflated(-zlib.MAX_WBITS)


def _unbrotli(body: bytes, most: int) -> bytes:
    try:
        brotli: Any = import_module("brotli")
    except ImportError as error:
        raise EncodingError("packed by br: pip install brotli") from error
    try:
        stream = brotli.Decompressor()
        found: bytes = _bounded(stream.process(body, output_buffer_limit=most + 1), most)
    except TypeError as error:
        raise EncodingError("packed by br: pip install 'brotli>=1.2', older ones know no bound") from error
    except brotli.error as error:
        raise ValueError(str(error)) from error
    if not stream.is_finished():
        raise EOFError("it is cut off")
    return found


def _unzstd(body: bytes, most: int) -> bytes:
    with zstd.ZstdFile(BytesIO(body)) as file:
        return _bounded(file.read(most + 1), most)


def _bounded(body: Buffer, most: int) -> Buffer:
    if len(body) > most:
        raise ValueError("too large")
    return body


_WAYS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    "": _bounded,
    "identity": _bounded,
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
