"""What one write says of titles, texts and chunks of pages."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass, field

from sqlalchemy import Connection

from scrapy_dedup.store import document_chunks, signatures
from scrapy_dedup.store.page_records import ChunksRecord, ForgetRecord, PageKnowledge
from scrapy_dedup.store.signatures import SignatureRecord


@dataclass(slots=True)
class PageBatch:
    """The last word about each page."""

    signatures: dict[bytes, SignatureRecord] = field(default_factory=dict)
    forgotten: set[bytes] = field(default_factory=set)
    """Pages that are not to be found any more."""
    chunks: dict[bytes, ChunksRecord | ForgetRecord] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.signatures or self.forgotten or self.chunks)

    def add(self, record: PageKnowledge) -> None:
        """Add a record."""
        key = record.page_key
        if isinstance(record, SignatureRecord):
            self.signatures[key] = record
            self.forgotten.discard(key)
        elif isinstance(record, ForgetRecord):
            self.signatures.pop(key, None)
            self.forgotten.add(key)
            self.chunks[key] = record
        else:
            self.chunks[key] = record

    def write(
        self, connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, gone: Collection[bytes]
    ) -> None:
        """Write it, after the documents: who counts depends on them. Pages that are gone hold nothing any more."""
        signatures.forget(connection, project_id, self.forgotten.union(gone))
        signatures.write(connection, project_id, self.signatures.values())
        document_chunks.write(connection, project_id, run_id, self.chunks | {key: ForgetRecord(key) for key in gone})
