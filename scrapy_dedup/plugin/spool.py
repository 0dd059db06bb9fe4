"""Records that wait in a file: a crawl whose feed is stored at its end may have seen a million pages by then."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields
from typing import IO, Any

from scrapy_dedup.core.keeping import DamagedValueError, KeepLimits, Unkeepable, decode, encode
from scrapy_dedup.store.domain_records import ConfidenceRecord
from scrapy_dedup.store.page_records import (
    ChunksRecord,
    chunks_from,
    chunks_values,
    signature_from,
    signature_values,
)
from scrapy_dedup.store.records import (
    CleanedRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    ExtractionRecord,
    GoneRecord,
    Record,
    SeenRecord,
    VisitRecord,
)
from scrapy_dedup.store.signatures import SignatureRecord

_HELD = (
    DocumentRecord,
    SeenRecord,
    CrawledUrlRecord,
    VisitRecord,
    ExtractionRecord,
    GoneRecord,
    CleanedRecord,
    ConfidenceRecord,
    DecisionRecord,
)
# Those with values in values: to a list of plain ones, and back.
_NESTED: dict[str, tuple[Callable[[Any], list[Any]], Callable[..., Record]]] = {
    ChunksRecord.__name__: (chunks_values, chunks_from),
    SignatureRecord.__name__: (signature_values, signature_from),
}
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in _HELD}
_NAMES = {kind: [field.name for field in fields(kind)] for kind in _KINDS.values()}
_LIMITS = KeepLimits(depth=150, values=5_000_000, characters=500_000_000)
# So many are held in memory, and written at once: encoding them holds the reactor for some milliseconds.
_IN_MEMORY = 250


class Spool:
    """A list of records that is read once. The file has no name: it goes with the process."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._file: IO[str] | None = None

    def add(self, records: list[Record]) -> None:
        """Add records."""
        self._records += records
        if len(self._records) >= _IN_MEMORY:
            self._to_file()

    def take(self) -> Iterator[Record]:
        """Give the records back, in order."""
        if self._file is not None:
            self._file.seek(0)
            for line in self._file:
                name, *values = json.loads(line)
                make = _NESTED[name][1] if name in _NESTED else _KINDS[name]
                with suppress(DamagedValueError):
                    yield make(*map(decode, values))
            self.close()
        records, self._records = self._records, []
        yield from records

    def close(self) -> None:
        """Forget what is in the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _to_file(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115 (it outlives this call)
        for record in self._records:
            kind = type(record)
            nested = _NESTED.get(kind.__name__)
            plain = nested[0](record) if nested else [getattr(record, name) for name in _NAMES[kind]]
            values = [encode(value, _LIMITS) for value in plain]
            if any(isinstance(value, Unkeepable) for value in values):
                # An outcome beyond all bounds: its page comes again.
                continue
            self._file.write(json.dumps([kind.__name__, *values], separators=(",", ":")) + "\n")
        self._records.clear()
