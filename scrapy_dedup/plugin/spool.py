"""Records that wait in a file: a crawl whose feed is stored at its end may have seen a million pages by then."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from typing import IO, Any

from scrapy_dedup.core.keeping import DamagedValueError, KeepLimits, Unkeepable, decode, encode
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

_HELD = (
    DocumentRecord,
    SeenRecord,
    CrawledUrlRecord,
    VisitRecord,
    ExtractionRecord,
    GoneRecord,
    CleanedRecord,
    DecisionRecord,
)
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
                with suppress(DamagedValueError):
                    yield _KINDS[name](*map(decode, values))
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
            values = [encode(getattr(record, name), _LIMITS) for name in _NAMES[kind]]
            if any(isinstance(value, Unkeepable) for value in values):
                # An outcome beyond all bounds: its page comes again.
                continue
            self._file.write(json.dumps([kind.__name__, *values], separators=(",", ":")) + "\n")
        self._records.clear()
