"""What callers hand to the store of a page's chunks, and of all by which other pages are compared with it."""

from enum import IntEnum
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, astuple

from scrapy_dedup.core.chunks.chunks import GIVEN, HOLDING, ChunkState, StoredChunk
from scrapy_dedup.core.duplicates import Sketch
from scrapy_dedup.store.records.signatures import SignatureRecord

__all__ = [
    "GIVEN",
    "HOLDING",
    "ChunkState",
    "ChunksRecord",
    "ClaimKey",
    "ClaimKind",
    "ForgetRecord",
    "PageKnowledge",
    "ReleaseRecord",
    "StoredChunk",
    "Twin",
    "chunks_from",
    "chunks_values",
    "signature_from",
    "signature_values",
]


class ChunksRecord(Struct, frozen=True):
    """All chunks of a page; they replace those of an earlier version.

    Attributes:
        most_holders: so many pages may hold one text.
    """

    page_key: bytes
    chunks: tuple[StoredChunk, ...]
    most_holders: int = 1


class ForgetRecord(Struct, frozen=True):
    """A page's text does not count any more: its items failed, or another page stands for it.

    Attributes:
        most_holders: so many pages may hold one text.
    """

    page_key: bytes
    most_holders: int = 1


class ClaimKind(IntEnum):
    """What a page claims before it goes out, in a run that several workers share."""

    TITLE = 1
    TEXT = 2
    PAGE = 3
    """Itself: kept with what it shows, by which others find out whether it has what they have."""


class ClaimKey(NamedTuple):
    """By what a claim is known within a run; *key* has 16 bytes."""

    kind: ClaimKind
    key: bytes


class ReleaseRecord(Struct, frozen=True):
    """What a page claimed is free again; without effect on what another page has."""

    claim: ClaimKey
    owner: bytes


PageKnowledge = SignatureRecord | ChunksRecord | ForgetRecord


class Twin(Struct, frozen=True):
    """A page that has the title of another."""

    page_key: bytes
    text_hash: bytes
    dropped: bool
    """Another page stood for it."""


def chunks_values(record: ChunksRecord) -> list[Any]:
    """Return a record as plain values; `chunks_from` reads them back."""
    return [record.page_key, [list(astuple(one)) for one in record.chunks], record.most_holders]


def chunks_from(page_key: bytes, chunks: list[list[Any]], most_holders: int) -> ChunksRecord:
    """Return the record behind `chunks_values`."""
    return ChunksRecord(page_key, tuple(StoredChunk(*one) for one in chunks), most_holders)


def signature_values(record: SignatureRecord) -> list[Any]:
    """Return a record as plain values; `signature_from` reads them back."""
    sketch = record.sketch
    flat = None if sketch is None else [sketch.shingles, sketch.signature, list(sketch.bands)]
    return [*(asdict(record) | {"sketch": flat}).values()]


def signature_from(*values: Any) -> SignatureRecord:
    """Return the record behind `signature_values`."""
    named = dict(zip(SignatureRecord.__struct_fields__, values, strict=True))
    if named["sketch"] is not None:
        shingles, signature, bands = named["sketch"]
        named["sketch"] = Sketch(shingles, signature, tuple(bands))
    return SignatureRecord(**named)
