"""The columns that go from step to step, and values as they stand in them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import pack
from typing import Any, Final, TypeAlias

import pyarrow as pa

from scrapy_dedup.service.files.inputs_records import in_lots

Row: TypeAlias = Sequence[Any]

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"

SURVEYED: Final = "domain binary, key binary, place binary, size bigint"
BAD: Final = "place binary, told string"
SOURCES: Final = "domain binary, key binary, url binary, html binary"
LEARNED: Final = "domain binary, pages bigint, layouts bigint, templates bigint, failure string, knowledge string"
CUT: Final = (
    "kind string, place binary, domain binary, chars bigint, tally string, keys array<binary>, facts string,"
    " url string, cleaned_content string, title string, date string, author string, dedup string"
)
PAGES: Final = (
    "url string, cleaned_content string, title string, date string, author string, dedup string, place binary"
)
LEFT_OUT: Final = "url string, layer string, reason string, keeper string, place binary"
BLOB: Final = "blob binary"

_TYPES: Final = {
    "string": pa.string(),
    "binary": pa.binary(),
    "bigint": pa.int64(),
    "array<binary>": pa.list_(pa.binary()),
}


def schema_of(columns: str) -> pa.Schema:
    """Return the Arrow schema of columns that are written as Spark has them."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in (one.split() for one in columns.split(", "))])


def batch_of(rows: Iterable[Row], schema: pa.Schema) -> pa.RecordBatch:
    """Return rows as a batch."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, one.type) for values, one in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def place_of(file: int, start: int, number: int) -> bytes:
    """Return where a record stands: the bytes of earlier ones are smaller.

    *file* is the number of its file, in the order in which they were given; *start* the byte at which the part of the
    file begins that one task reads, or the row, where rows are numbered; *number* that of the record in its part.
    """
    return pack(">IQI", file, start, number)


def text_of(value: str | None) -> str | None:
    """Return a text as UTF-8 can have it, which knows no lone surrogates."""
    if value is None or value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub(_REPLACEMENT, value)
    return value


def json_of(value: Mapping[str, Any]) -> str:
    """Return a value as JSON that UTF-8 can have."""
    return str(text_of(json.dumps(value, ensure_ascii=False)))


def raw(text: str) -> bytes:
    """Return a text as bytes from which `unraw` makes the same one."""
    return text.encode("utf-8", "surrogatepass")


def unraw(stored: bytes) -> str:
    """Return the text behind `raw`."""
    return stored.decode("utf-8", "surrogatepass")


Batches = Iterable[pa.RecordBatch]
Made = Iterator[pa.RecordBatch]

PAGES_AT_ONCE: Final = 64
BYTES_AT_ONCE: Final = 1_000_000
SMALL_ROWS_AT_ONCE: Final = 2_000


def in_batches(rows: Iterable[Row], written: str, most: int = SMALL_ROWS_AT_ONCE) -> Made:
    """Yield rows in batches of so many, or of a megabyte."""
    schema = schema_of(written)
    for _, lot in in_lots(rows, _size_of, most, BYTES_AT_ONCE):
        yield batch_of(lot, schema)


def _size_of(row: Row) -> int:
    return sum(len(value) for value in row if isinstance(value, str | bytes))


def rows_of(batches: Batches) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of batches, a batch in memory at a time."""
    for batch in batches:
        yield from zip(*(one.to_pylist() for one in batch.columns), strict=True)
