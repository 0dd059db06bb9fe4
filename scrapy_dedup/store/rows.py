"""Records packed into rows, and rows read back into values."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row as Result

from scrapy_dedup.store.codec import Packer, column_text, optional_text, unpack_json, unpack_text
from scrapy_dedup.store.models import now
from scrapy_dedup.store.records import (
    BoilerplateRecord,
    CleanedRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    Evidence,
    Record,
    SourceRecord,
)
from scrapy_dedup.store.stored import StoredBoilerplate, StoredDecision, StoredSource
from scrapy_dedup.store.upserts import Row


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows by their keys: of two records with the same keys the later one counts."""

    sources: dict[bytes, Row] = field(default_factory=dict)
    cleaned: dict[bytes, str] = field(default_factory=dict)
    documents: dict[bytes, Row] = field(default_factory=dict)
    urls: dict[bytes, Row] = field(default_factory=dict)
    decisions: dict[tuple[bytes, str], Row] = field(default_factory=dict)
    boilerplate: dict[tuple[str, str], Row] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any((self.sources, self.cleaned, self.documents, self.urls, self.decisions, self.boilerplate))


def pack(records: Iterable[Record], project_id: uuid.UUID, run_id: uuid.UUID | None) -> Batch:
    """Return the records as rows; all compression happens here, before any lock is taken."""
    batch, packer = Batch(), Packer()
    for record in records:
        match record:
            case SourceRecord():
                batch.sources[record.page_key] = source_row(record, project_id, packer)
                batch.cleaned.pop(record.page_key, None)  # it belonged to the original before
            case CleanedRecord():
                batch.cleaned[record.page_key] = column_text(record.cleaned_content)
            case DocumentRecord():
                batch.documents[record.page_key] = document_row(record, project_id, run_id)
            case CrawledUrlRecord():
                batch.urls[record.page_key] = url_row(record, project_id, run_id)
            case DecisionRecord():
                batch.decisions[record.page_key, record.layer] = decision_row(record, project_id, run_id, packer)
            case BoilerplateRecord():
                row = boilerplate_row(record, project_id, packer)
                batch.boilerplate[row["domain"], row["method"]] = row
    return batch


def source_row(record: SourceRecord, project_id: uuid.UUID, packer: Packer) -> Row:
    """Return a row of `sources`."""
    content = packer.text(record.content)
    cleaned = optional_text(record.cleaned_content)
    return {
        "project_id": project_id,
        "page_key": record.page_key,
        "url": column_text(record.url),
        "domain": column_text(record.domain),
        "source_group": optional_text(record.source_group),
        "field": record.field,
        "content": content,
        "content_bytes": len(content),
        "cleaned_content": cleaned,
        "cleaned_bytes": size_of(cleaned),
        "title": optional_text(record.title),
        "content_type": optional_text(record.content_type),
        "fetched_at": record.fetched_at,
    }


def document_row(record: DocumentRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> Row:
    """Return a row of `documents`."""
    return {
        "project_id": project_id,
        "page_key": record.page_key,
        "url": column_text(record.url),
        "domain": column_text(record.domain),
        "run_id": run_id,
        "status": record.status,
        "verdict": record.verdict,
        "title": optional_text(record.title),
        "canonical_url": optional_text(record.canonical_url),
        "content_hash": record.content_hash,
        "cleaned_hash": record.cleaned_hash,
        "chars_in": record.chars_in,
        "chars_out": record.chars_out,
        "sketch": record.sketch,
        "error": optional_text(record.error),
        "updated_at": record.updated_at,
    }


def url_row(record: CrawledUrlRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> Row:
    """Return a row of `crawled_urls`."""
    return {
        "project_id": project_id,
        "page_key": record.page_key,
        "url": column_text(record.url),
        "domain": column_text(record.domain),
        "status": record.status,
        "http_status": record.http_status,
        "last_crawled_at": record.last_crawled_at,
        "run_id": run_id,
        "document_key": record.document_key,
        "alias_kind": record.alias_kind,
    }


def decision_row(record: DecisionRecord, project_id: uuid.UUID, run_id: uuid.UUID | None, packer: Packer) -> Row:
    """Return a row of `decisions`."""
    return {
        "project_id": project_id,
        "page_key": record.page_key,
        "layer": record.layer,
        "run_id": run_id,
        "action": record.action,
        "reason": column_text(record.reason),
        "detail": None if record.detail is None else packer.json(record.detail),
        "decided_at": record.decided_at,
    }


def boilerplate_row(record: BoilerplateRecord, project_id: uuid.UUID, packer: Packer) -> Row:
    """Return a row of `domain_boilerplate`, as new."""
    moment = now()
    return {
        "id": uuid.uuid4(),
        "project_id": project_id,
        "domain": column_text(record.domain),
        "method": record.method,
        "boilerplate_hashes": list(record.boilerplate_hashes),
        "evidence": None if record.evidence is None else packer.json(record.evidence),
        "pages_analyzed": record.pages_analyzed,
        "blocks_total": record.blocks_total,
        "blocks_boilerplate": record.blocks_boilerplate,
        "bytes_removed_avg": record.bytes_removed_avg,
        "threshold_pct": record.threshold_pct,
        "min_pages": record.min_pages,
        "min_block_chars": record.min_block_chars,
        "created_at": moment,
        "updated_at": moment,
    }


def size_of(cleaned: str | None) -> int:
    """Return how many bytes a cleaned text counts for in the size bound."""
    return len(cleaned.encode()) if cleaned else 0


def read_source(row: Result[Any]) -> StoredSource:
    """Return the value of a row of `sources`."""
    values = dict(row._mapping)  # noqa: SLF001 (SQLAlchemy's public name for it)
    packed = values.pop("content")
    return StoredSource(content=None if packed is None else unpack_text(packed), **values)


def read_decision(row: Result[Any]) -> StoredDecision:
    """Return the value of a row of `decisions`."""
    values = dict(row._mapping)  # noqa: SLF001
    packed = values.pop("detail")
    return StoredDecision(detail=None if packed is None else unpack_json(packed), **values)


def read_boilerplate(row: Result[Any]) -> StoredBoilerplate:
    """Return the value of a row of `domain_boilerplate`."""
    values = dict(row._mapping)  # noqa: SLF001
    hashes, packed = values.pop("boilerplate_hashes"), values.pop("evidence")
    return StoredBoilerplate(boilerplate_hashes=tuple(hashes), evidence=read_evidence(packed), **values)


def read_evidence(packed: bytes | None) -> Mapping[str, Evidence] | None:
    """Return unpacked evidence by fingerprint."""
    if packed is None:
        return None
    return {fingerprint: Evidence(*parts) for fingerprint, parts in unpack_json(packed).items()}
