"""From what Spark reads of files to records, each with its place."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, Literal

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from scrapy_dedup.batch.columns import place_of, rows_of
from scrapy_dedup.service.files.inputs import record_of_line
from scrapy_dedup.service.files.inputs_records import BadRecord, Found, InputPage, NoPage, is_page, page_of
from scrapy_dedup.service.files.warc_records import read_answers
from scrapy_dedup.service.packed_files import most_line_bytes
from scrapy_dedup.settings import Settings

Kind = Literal["lines", "warc", "parquet"]

WARC_BREAK: Final = "\r\n\r\nWARC/1."
"""Between two records of a WARC file; Spark cuts the file where it stands."""

_BREAK: Final = WARC_BREAK.encode()
_BEGINNING: Final = b"WARC/1."
_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"^content-length:[ \t]*([0-9]{1,18})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


class RecordSource(Struct, frozen=True):
    """Where records come from.

    Attributes:
        kind: of the files.
        files: number and name of each, by its path, as it is and as in a URL.
        settings: bound the size of a record, and name its fields.
    """

    kind: Kind
    files: Mapping[str, tuple[int, str]]
    settings: Settings


Placed = tuple[bytes, Found]
"""A record, and its place."""


def path_of(address: str) -> str:
    """Return a path as files are looked up by: Spark writes that of a local file in two ways."""
    return re.sub("^file:/+", "file:/", address)


def records(batches: Iterable[pa.RecordBatch], source: RecordSource) -> Iterator[Placed]:
    """Iterate over the records of one task, in their order."""
    if source.kind == "parquet":
        return _rows(batches, source)
    pieces = _pieces(batches)
    return _answers(pieces, source) if source.kind == "warc" else _lines(pieces, source)


class _RecordPiece(Struct, frozen=True):
    """What Spark read as one record: a line, or what stands between two breaks of a WARC file."""

    file: str
    start: int
    number: int
    """From 1 on, in its part of the file."""
    value: bytes

    def where(self, name: str, word: str) -> str:
        """Return which record it is, for a person."""
        behind = f" behind byte {self.start}" if self.start else ""
        return f"{name}, {word} {self.number}{behind}"


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[_RecordPiece]:
    part, number = ("", -1), 0
    for file, start, value in rows_of(batches):
        if (file, start) != part:
            part, number = (file, start), 0
        number += 1
        yield _RecordPiece(file, start, number, value)


def _lines(pieces: Iterable[_RecordPiece], source: RecordSource) -> Iterator[Placed]:
    most = most_line_bytes(source.settings)
    for piece in pieces:
        file, name = source.files[path_of(piece.file)]
        where = piece.where(name, "line")
        found: Found | None
        # The line's end counts, where `clean` reads it.
        if len(piece.value) >= most:
            found = BadRecord(where, "the line is too long; DEDUP_MAX_PAGE_BYTES bounds a page")
        else:
            found = record_of_line(piece.value, where)
        if found is not None:
            yield place_of(file, piece.start, piece.number), found


def _answers(pieces: Iterable[_RecordPiece], source: RecordSource) -> Iterator[Placed]:
    for first, raw, size in _joined(pieces, most_line_bytes(source.settings)):
        file, name = source.files[path_of(first.file)]
        number, passed, last = first.number, 0, 0
        for at, one in read_answers(raw, size, first.where(name, "record"), source.settings):
            # What a wrong length had swallowed has the number of its own piece.
            number, passed = number + raw.count(_BREAK, passed, at + len(_BEGINNING)), at
            where = replace(first, number=number).where(name, "record")
            found: Found = replace(one, where=where)  # type: ignore[type-var]
            if number == last and not isinstance(found, BadRecord):
                found = BadRecord(where, "another record, which nothing divides from the one before it")
            last = number
            yield place_of(file, first.start, number), found


def _joined(pieces: Iterable[_RecordPiece], most: int) -> Iterator[tuple[_RecordPiece, bytes, int]]:
    """Yield records of a WARC file with their sizes; one in whose body a break stands is put together again.

    Where it is cut off at the end of a task's part of the file, what there is comes, which is then told as cut off.

    Of a body *most* bytes are kept, and those of the piece that goes beyond; of a record that is larger no more is
    asked for.
    """
    first: _RecordPiece | None = None
    record, size, enough, missing = bytearray(), 0, 0, 0
    for piece in chain(pieces, [None]):
        is_same = first is not None and piece is not None and piece.file == first.file
        if first is not None and piece is not None and missing > 0 and is_same and piece.start == first.start:
            # In place: any server can send a page with a break in every eleven bytes.
            if len(record) < enough:
                record += _BREAK
                record += piece.value
            missing -= len(_BREAK) + len(piece.value)
            size += len(_BREAK) + len(piece.value)
            continue
        # Behind the last one of a file it stands.
        if first is not None and size == len(record) and (is_same or not record.endswith(_END)):
            record += _END
            size += len(_END)
        if first is not None:
            yield first, bytes(record), size
        if piece is None:
            return
        is_whole = piece.value.startswith(_BEGINNING) and piece.start == 0 and piece.number == 1
        first, record = piece, bytearray(b"" if is_whole else _BEGINNING) + piece.value
        size, enough, missing = len(record), len(record) + most, _missing(record)


def _missing(record: bytearray) -> int:
    """Return how many bytes of a record's body are not there."""
    head, _, body = record.partition(_END)
    said = _LENGTH.search(head)
    return int(said[1]) - len(body) if said else 0


class RowRecord(Struct, frozen=True):
    """A row of a Parquet file."""

    where: str
    address: Any
    html: Any
    body: Any
    content_type: Any

    @property
    def size(self) -> int:
        """How many bytes or characters the page has."""
        return sum(len(one) for one in (self.html, self.body) if isinstance(one, str | bytes))

    def url(self, settings: Settings) -> str | None:  # noqa: ARG002 (of all records)
        """Return the row's URL."""
        return (self.address.strip() or None) if isinstance(self.address, str) else None

    def page(self, settings: Settings) -> InputPage | BadRecord | NoPage:
        """Return the row's page: a text is HTML, bytes are what a server sent."""
        url = self.url(settings)
        if url is None:
            field = settings.url_field
            return BadRecord(self.where, f"no URL in the column {field!r}; -s DEDUP_URL_FIELD=NAME names another")
        content_type = self.content_type if isinstance(self.content_type, str) else ""
        if isinstance(self.html, str):
            return InputPage(self.where, url, self.html)
        body = self.html if isinstance(self.html, bytes) else self.body
        if not isinstance(body, bytes):
            return BadRecord(self.where, f"no page in the column {settings.html_field!r}; see DEDUP_HTML_FIELD")
        if not is_page(content_type):
            return NoPage(self.where, f"{content_type[:100]!r} is neither HTML nor PDF")
        return page_of(self.where, url, body, content_type, settings)


def _rows(batches: Iterable[pa.RecordBatch], source: RecordSource) -> Iterator[Placed]:
    most = source.settings.max_page_bytes
    for address, row, url, html, body, kind in rows_of(batches):
        file, name = source.files[path_of(address)]
        found = RowRecord(f"{name}, row {row + 1}", url, html, body, kind)
        too_large = found.size > _CHARACTER_BYTES * most
        bad = BadRecord(found.where, "the page is too large; DEDUP_MAX_PAGE_BYTES bounds a page")
        yield place_of(file, row, 0), bad if too_large else found


# As `clean` bounds a line: no page of so many bytes can be within the bound.
_CHARACTER_BYTES: Final = 6
