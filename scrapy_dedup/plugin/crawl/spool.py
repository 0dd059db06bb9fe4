"""Records that wait in a file: a crawl whose feed is stored at its end may have seen a million pages by then."""

import json
import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

from scrapy_dedup.core.recrawl.values import DamagedValueError, KeepLimits, Unkeepable, decode, encode
from scrapy_dedup.store.records.records import (
    ChunksRecord,
    CleanedRecord,
    ConfidenceRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DeliveryRecord,
    DocumentRecord,
    ExtractionRecord,
    GoneRecord,
    LeaseRecord,
    Record,
    SeenRecord,
    SignatureRecord,
    VisitRecord,
    chunks_from,
    chunks_values,
    signature_from,
    signature_values,
)

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
    DeliveryRecord,
    LeaseRecord,
)
# Those with values in values: to a list of plain ones, and back.
_NESTED: dict[str, tuple[Callable[[Any], list[Any]], Callable[..., Record]]] = {
    ChunksRecord.__name__: (chunks_values, chunks_from),
    SignatureRecord.__name__: (signature_values, signature_from),
}
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in _HELD}
_NAMES = {kind: kind.__struct_fields__ for kind in _KINDS.values()}
_LIMITS = KeepLimits(depth=150, values=5_000_000, characters=500_000_000)
# So many are held in memory, and written at once: encoding them holds the reactor for some milliseconds.
_IN_MEMORY = 250
# Where the file cannot grow. Beyond this all is given up: half of what says that a page was seen is worse than nothing.
_MOST_IN_MEMORY = 50_000

logger = logging.getLogger(__name__)


class Spool:
    """A list of records that is read once. The file has no name: it goes with the process."""

    def __init__(self, most_in_memory: int = _MOST_IN_MEMORY, folder: Path | None = None) -> None:
        """Take how many records may stay in memory, and where its file is to be; None: where temporary files are."""
        self._records: list[Record] = []
        self._file: FileIO | None = None
        self._due = _IN_MEMORY
        self._most_in_memory = most_in_memory
        self._folder = folder
        self.is_given_up = False
        """Whether the disk was full for so long that nothing is held any more: all its pages come again."""

    def add(self, records: list[Record]) -> None:
        """Add records; they stay in memory while the disk of temporary files is full."""
        if self.is_given_up:
            return
        self._records += records
        if len(self._records) >= self._due:
            self._try_file()

    def _try_file(self) -> None:
        try:
            if self._file is None:
                # Not buffered: what a full disk does not take must not come up later, at another write.
                self._file = tempfile.TemporaryFile("w+b", buffering=0, dir=self._folder)  # noqa: SIM115 (it outlives this call)
            self._to_file(self._file)
            self._due = _IN_MEMORY
        except OSError as error:
            self._not_kept(error)

    def _not_kept(self, error: OSError) -> None:
        if self._due == _IN_MEMORY:
            logger.warning("What waits for a feed cannot be kept in a temporary file, and stays in memory: %s", error)
        self._due = len(self._records) + _IN_MEMORY
        if len(self._records) > self._most_in_memory:
            logger.error("Too much waits for a feed: its pages come again")
            self.is_given_up = True
            self._records.clear()
            self.close()

    def take(self) -> Iterator[Record]:
        """Give the records back, in order."""
        if self._file is not None:
            self._file.seek(0)
            with BufferedReader(self._file) as lines:
                for line in lines:
                    name, *values = json.loads(line)
                    make = _NESTED[name][1] if name in _NESTED else _KINDS[name]
                    with suppress(DamagedValueError):
                        yield make(*map(decode, values))
            self._file = None
        records, self._records = self._records, []
        yield from records

    def close(self) -> None:
        """Forget what is in the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _to_file(self, file: FileIO) -> None:
        """Write all or nothing of what is in memory."""
        end = file.tell()
        try:
            left = memoryview(b"".join(map(_line, self._records)))
            while left:
                left = left[file.write(left) :]
        except OSError:
            file.seek(end)
            file.truncate()
            raise
        self._records.clear()


def _line(record: Record) -> bytes:
    kind = type(record)
    nested = _NESTED.get(kind.__name__)
    plain = nested[0](record) if nested else [getattr(record, name) for name in _NAMES[kind]]
    values = [encode(value, _LIMITS) for value in plain]
    if any(isinstance(value, Unkeepable) for value in values):
        # An outcome beyond all bounds: its page comes again.
        return b""
    return json.dumps([kind.__name__, *values], separators=(",", ":")).encode() + b"\n"
