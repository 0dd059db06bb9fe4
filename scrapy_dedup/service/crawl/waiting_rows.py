"""What may wait for a store that cannot be written, and what is given up when more comes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from scrapy_dedup.service.crawl.crawl import is_knowledge
from scrapy_dedup.store.records.records import ExtractionRecord, Record, ResponseRecord, SourceRecord

# What a row weighs beside its long texts: measured of documents, visits and URLs, with their keys and addresses.
_ROW_SIZE: Final = 600
_VALUE_SIZE: Final = 100
# What is beyond its bounds shrinks to this share of them, so that giving up is rare.
_ROOM: Final = 0.9


class RowBounds(Struct, frozen=True):
    """How much may wait: half a minute of a fast crawl, a hundred pages a second with ten rows each, fits.

    Attributes:
        rows: how many.
        size: about how many bytes they hold.
    """

    rows: int = 50_000
    size: int = 200_000_000


class HeldRows(Struct, frozen=True):
    """What still waits.

    Attributes:
        rows: in their order.
        size: about how many bytes they hold.
        originals: pages whose original, or outcome, was given up; they count as seen all the same.
        given_up: other rows; their pages come again.
    """

    rows: list[Record]
    size: int
    originals: int = 0
    given_up: Sequence[Record] = ()


def size_of(row: Record) -> int:
    """Return about how many bytes a row holds."""
    if isinstance(row, SourceRecord):
        return _ROW_SIZE + len(row.content) + len(row.cleaned_content or "")
    if isinstance(row, ResponseRecord):
        return _ROW_SIZE + len(row.body)
    if isinstance(row, ExtractionRecord):
        return _ROW_SIZE + sum(map(_value_size, (row.requests, row.items or ())))
    return _ROW_SIZE


def give_up(rows: Sequence[Record], bounds: RowBounds) -> HeldRows:
    """Return what is within the bounds.

    Too many bytes: the oldest originals and outcomes go, which a crawl can do without. Too many rows, or still too many
    bytes: the oldest go, but for what domains have learned.
    """
    sizes = [size_of(row) for row in rows]
    total, kept = sum(sizes), [True] * len(rows)
    originals = 0
    given_up: list[Record] = []
    if total > bounds.size:
        for place, row in enumerate(rows):
            if total <= bounds.size * _ROOM:
                break
            if isinstance(row, SourceRecord | ExtractionRecord | ResponseRecord):
                kept[place], total, originals = False, total - sizes[place], originals + 1
    left = len(rows) - originals
    if left > bounds.rows or total > bounds.size:
        for place, row in enumerate(rows):
            if left <= bounds.rows * _ROOM and total <= bounds.size:
                break
            if kept[place] and not is_knowledge(row):
                kept[place], total, left = False, total - sizes[place], left - 1
                given_up.append(row)
    return HeldRows([row for row, stays in zip(rows, kept, strict=True) if stays], total, originals, given_up)


def _value_size(value: Any) -> int:
    """Return about how many bytes a value of JSON holds; it is as deep as its callback made it, so no recursion."""
    size, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        size += _VALUE_SIZE + (len(one) if isinstance(one, str) else 0)
        if isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return size
