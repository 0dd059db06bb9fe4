"""Rows of one task, as they come from Spark and go to it: a batch in memory at a time."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from scrapy_dedup.batch.columns import Row, batch_of, schema_of

Batches = Iterable[pa.RecordBatch]
Made = Iterator[pa.RecordBatch]

PAGES_AT_ONCE: Final = 64
BYTES_AT_ONCE: Final = 1_000_000
_SMALL_ROWS_AT_ONCE: Final = 2_000


def in_batches(rows: Iterable[Row], written: str, most: int = _SMALL_ROWS_AT_ONCE) -> Made:
    """Yield rows in batches of so many, or of a megabyte."""
    schema = schema_of(written)
    held: list[Row] = []
    size = 0
    for row in rows:
        held.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(held) >= most or size >= BYTES_AT_ONCE:
            yield batch_of(held, schema)
            held, size = [], 0
    if held:
        yield batch_of(held, schema)


def rows_of(batches: Batches) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of batches, a batch in memory at a time."""
    for batch in batches:
        yield from zip(*(one.to_pylist() for one in batch.columns), strict=True)
