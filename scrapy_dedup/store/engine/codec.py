"""How contents, evidence and details are packed, and which text a column can hold."""

import base64
import json
import sys
from array import array
from collections.abc import Callable, Iterable
from functools import cache
from operator import attrgetter
from typing import Any

from msgspec import DecodeError, Struct
from msgspec import json as typed_json

from scrapy_dedup.core.errors import InvalidError
from scrapy_dedup.store.engine.errors import DamagedError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# 30 kB of real HTML: level 3 takes 75 µs and keeps 27 %, level 1 takes 56 µs and keeps 28 %.
LEVEL = 3
# 8 kB of an item as JSON: level 3 takes 35 µs, level 1 takes 26 µs and 1 % more bytes.
EXTRACTION_LEVEL = 1

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# `json.dumps` makes a new one for every call with options.
_STRICT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Packer:
    """Compresses with one zstd context for each level, which new ones for every page would cost a third more.

    Not to be shared between threads.
    """

    def __init__(self) -> None:
        self._compressor = zstd.ZstdCompressor(level=LEVEL)
        self._quick = zstd.ZstdCompressor(level=EXTRACTION_LEVEL)

    def text(self, text: str) -> bytes:
        """Return the packed text; NUL characters and lone surrogates survive."""
        return self.body(text.encode("utf-8", "surrogatepass"))

    def body(self, raw: bytes) -> bytes:
        """Return the packed bytes."""
        return self._compressor.compress(raw, zstd.ZstdCompressor.FLUSH_FRAME)

    def json(self, value: object) -> bytes:
        """Return the packed compact JSON of a plain value; what JSON does not know becomes its `str`."""
        return self.text(to_json(value))

    def plain_json(self, value: object) -> bytes:
        """Return the packed compact JSON of a value that must come back as it is.

        Raises:
            TypeError: JSON does not know a part of it.
        """
        raw = _STRICT.encode(value).encode("utf-8", "surrogatepass")
        return self._quick.compress(raw, zstd.ZstdCompressor.FLUSH_FRAME)


def pack_checked(text: str) -> bytes:
    """Return the packed text with a checksum: what was altered is not unpacked."""
    options = {int(zstd.CompressionParameter.compression_level): LEVEL, int(zstd.CompressionParameter.checksum_flag): 1}
    return zstd.compress(text.encode("utf-8", "surrogatepass"), options=options)


def to_json(value: object) -> str:
    """Return compact JSON in which every character but quotes, backslashes and controls stands for itself."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def unpack_text(packed: bytes) -> str:
    """Return the text that `Packer.text` packed.

    Raises:
        DamagedError: the bytes are damaged.
    """
    try:
        return unpack_bytes(packed).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise DamagedError(f"a stored content cannot be unpacked ({error})") from error


def unpack_bytes(packed: bytes) -> bytes:
    """Return the bytes that `Packer.body` packed.

    Raises:
        DamagedError: the bytes are damaged.
    """
    try:
        return zstd.decompress(packed)
    except zstd.ZstdError as error:
        raise DamagedError(f"a stored content cannot be unpacked ({error})") from error


def unpack_json(packed: bytes) -> Any:
    """Return the value that `Packer.json` packed; tuples come back as lists.

    Raises:
        DamagedError: the bytes are damaged.
    """
    text = unpack_text(packed)
    try:
        return json.loads(text)
    except ValueError as error:
        raise DamagedError(f"a stored detail is not JSON ({error})") from error


def column_text(text: str) -> str:
    """Return the text as a text column of every database holds it.

    PostgreSQL refuses NUL, and no driver encodes a lone surrogate: both become
    U+FFFD (two surrogates that make a pair become their character).
    """
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def row_of(record: Struct, **more: Any) -> dict[str, Any]:
    """Return a record as a row: its fields as the columns of their names, texts as a column holds them.

    *more* are columns that it has no field for, and those in whose place it has something else.
    """
    names, values = _read_of(type(record))
    of_record = zip(names, values(record), strict=True)
    row = {name: _column(value) for name, value in of_record if name not in more}
    return row | more


@cache
def _read_of(kind: type[Struct]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    return kind.__struct_fields__, attrgetter(*kind.__struct_fields__)


def _column(value: Any) -> Any:
    # A driver may take a member of a StrEnum for its name.
    return column_text(str(value)) if isinstance(value, str) else value


def optional_text(text: str | None) -> str | None:
    """Return `column_text` of a text, None of None."""
    return None if text is None else column_text(text)


def pack_fingerprints(fingerprints: Iterable[int]) -> bytes:
    """Return 64-bit fingerprints as 8 bytes each, in their order, the same on every machine."""
    return _little_endian(array("Q", fingerprints)).tobytes()


def unpack_fingerprints(packed: bytes) -> list[int]:
    """Return the fingerprints that `pack_fingerprints` packed.

    Raises:
        DamagedError: the bytes are damaged.
    """
    fingerprints = array("Q")
    try:
        fingerprints.frombytes(packed)
    except ValueError as error:
        raise DamagedError(f"stored fingerprints are cut off after {len(packed)} bytes") from error
    return _little_endian(fingerprints).tolist()


def _little_endian(words: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        words.byteswap()
    return words


class CursorError(InvalidError):
    """A cursor is none, or that of another list."""

    def __init__(self, cursor: str) -> None:
        super().__init__(f"after={cursor[:60]!a}: is no `next` of this list; leave it out for the first page again")


def to_cursor(place: Any) -> str | None:
    """Return a place of a list as text that can stand in a URL; None of None."""
    return None if place is None else base64.urlsafe_b64encode(typed_json.encode(place)).decode().rstrip("=")


def from_cursor(cursor: str | None, kind: Any) -> Any:
    """Return the place of some type that `to_cursor` wrote; None of None.

    Raises:
        CursorError: it wrote no such text.
    """
    if cursor is None:
        return None
    padded = cursor + "=" * (-len(cursor) % 4)
    try:
        return typed_json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=kind)
    except (DecodeError, ValueError, RecursionError) as error:
        raise CursorError(cursor) from error
