"""Records as rows, and rows read back as values."""

import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row as Result

from scrapy_dedup.store.engine.codec import Packer, column_text, optional_text, unpack_json, unpack_text
from scrapy_dedup.store.records.records import (
    BlockEvidence,
    BoilerplateRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DeliveryRecord,
    DocumentRecord,
    ExtractionRecord,
    ResponseRecord,
    SeenRecord,
    SourceRecord,
    ValidatorRecord,
    VisitRecord,
)
from scrapy_dedup.store.records.stored import StoredBoilerplate, StoredDecision, StoredSource
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.tables.models import NO_RUN
from scrapy_dedup.store.tables.upserts import Row

VALIDATOR_COUNTS = ("sent", "not_modified", "useless", "changed_304", "lastmod_right", "lastmod_wrong")
_LARGEST_STATUS = 999


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
        "report": None if record.report is None else packer.plain_json(record.report),
    }


def response_row(record: ResponseRecord, project_id: uuid.UUID, packer: Packer) -> Row:
    """Return a row of `responses`."""
    # What the server packed does not become smaller.
    is_packed = not any(name.lower() == "content-encoding" for name, _ in record.headers)
    body = packer.body(record.body) if is_packed else record.body
    return {
        "project_id": project_id,
        "wire_key": record.wire_key,
        "url": column_text(record.url),
        "domain": column_text(record.domain),
        "etag": optional_text(record.etag),
        "last_modified": optional_text(record.last_modified),
        "received_at": record.received_at,
        "validated_at": record.validated_at,
        "sent_hash": record.sent_hash,
        "cookie_hash": record.cookie_hash,
        "body_hash": record.body_hash,
        "headers": packer.plain_json(record.headers),
        "is_packed": is_packed,
        "body": body,
        "body_bytes": len(body),
    }


def delivery_row(record: DeliveryRecord, project_id: uuid.UUID) -> Row:
    """Return a row of `deliveries`."""
    return {
        "project_id": project_id,
        "page_key": record.page_key,
        "giver": record.giver,
        "domain": column_text(record.domain),
        "at": record.at,
        "items": record.items,
        "fields": record.fields,
        "left_out": record.left_out,
    }


def document_row(record: DocumentRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> Row:
    """Return a row of `documents`."""
    acknowledged = record.status == "completed"
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
        "error": optional_text(record.error),
        "updated_at": record.updated_at,
        "etag": optional_text(record.etag),
        "last_modified": optional_text(record.last_modified),
        "validated_at": record.validated_at,
        "first_seen_at": (record.first_seen_at or record.updated_at) if acknowledged else None,
        "last_seen_at": (record.last_seen_at or record.updated_at) if acknowledged else None,
        "last_changed_at": record.last_changed_at,
        "blocks": record.blocks,
        "body_hash": record.body_hash,
        "interval_seconds": record.interval_seconds,
        "visits_count": record.visits_count,
        "changes_count": record.changes_count,
        "missed_runs": record.missed_runs,
        "gone_at": record.gone_at,
        "lastmod": record.lastmod,
        "moved": record.moved,
        "depth": record.depth,
        "stale": None,
    }


def seen_row(record: SeenRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> Row:
    """Return the values for the update of a document."""
    return {
        "of_project": project_id,
        "of_page": record.page_key,
        "run_id": run_id,
        "verdict": record.verdict,
        "seen_at": record.at,
        "etag": optional_text(record.etag),
        "last_modified": optional_text(record.last_modified),
        "interval_seconds": record.interval_seconds,
        "visits_count": record.visits_count,
        "new_validated_at": record.validated_at,
        "new_blocks": record.blocks,
        "new_body_hash": record.body_hash,
        "new_lastmod": record.lastmod,
        "new_moved": record.moved,
        "is_renewed": record.is_renewed,
    }


def visit_row(record: VisitRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> Row:
    """Return a row of `visits`."""
    return {
        "project_id": project_id,
        "run_id": run_id or NO_RUN,
        "page_key": record.page_key,
        "at": record.at,
        "http_status": _status(record.http_status),
        "verdict": record.verdict,
        "change_class": record.change_class,
        "reason": column_text(record.reason),
        "bytes_received": record.bytes_received,
        "seconds": record.seconds,
        "callback_run": record.callback_run,
        "fetched": record.fetched,
    }


def extraction_row(record: ExtractionRecord, project_id: uuid.UUID, run_id: uuid.UUID | None, packer: Packer) -> Row:
    """Return a row of `extractions`; one of no run may be used at once."""
    return {
        "run_id": run_id,
        "is_usable": run_id is None,
        "body_hash": record.body_hash,
        "project_id": project_id,
        "memo_key": record.memo_key,
        "page_key": record.page_key,
        "url": column_text(record.url),
        "domain": column_text(record.domain),
        "content_hash": record.content_hash,
        "callback": column_text(record.callback),
        "dedup_version": optional_text(record.dedup_version),
        "created_at": record.created_at,
        "cb_kwargs": packer.plain_json(record.cb_kwargs) if record.cb_kwargs else None,
        "requests": packer.plain_json(record.requests),
        "items": None if record.items is None else packer.plain_json(record.items),
    }


def validator_row(record: ValidatorRecord, project_id: uuid.UUID) -> Row:
    """Return a row of `domain_validators`, as new."""
    counts = {name: getattr(record, name) for name in VALIDATOR_COUNTS}
    return {"project_id": project_id, "domain": column_text(record.domain), **counts}


def url_row(record: CrawledUrlRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> Row:
    """Return a row of `crawled_urls`."""
    return {
        "project_id": project_id,
        "page_key": record.page_key,
        "url": column_text(record.url),
        "domain": column_text(record.domain),
        "status": record.status,
        "http_status": _status(record.http_status),
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
    packed, report = values.pop("content"), values.pop("report")
    return StoredSource(
        content=None if packed is None else unpack_text(packed),
        report=None if report is None else unpack_json(report),
        **values,
    )


def read_decision(row: Result[Any]) -> StoredDecision:
    """Return the value of a row of `decisions`."""
    values = dict(row._mapping)  # noqa: SLF001
    packed = values.pop("detail")
    return StoredDecision(detail=None if packed is None else unpack_json(packed), **values)


def read_extraction(row: Result[Any]) -> ExtractionRecord:
    """Return the value of a row of `extractions`."""
    values = dict(row._mapping)  # noqa: SLF001
    for name in ("cb_kwargs", "requests", "items"):
        values[name] = None if values[name] is None else unpack_json(values[name])
    values["cb_kwargs"] = values["cb_kwargs"] or {}
    return ExtractionRecord(**values)


def read_boilerplate(row: Result[Any]) -> StoredBoilerplate:
    """Return the value of a row of `domain_boilerplate`."""
    values = dict(row._mapping)  # noqa: SLF001
    hashes, packed = values.pop("boilerplate_hashes"), values.pop("evidence")
    return StoredBoilerplate(boilerplate_hashes=tuple(hashes), evidence=read_evidence(packed), **values)


def read_evidence(packed: bytes | None) -> Mapping[str, BlockEvidence] | None:
    """Return unpacked evidence by fingerprint."""
    if packed is None:
        return None
    return {fingerprint: BlockEvidence(*parts) for fingerprint, parts in unpack_json(packed).items()}


def _status(given: int | None) -> int | None:
    """Return an HTTP status; None for what is none: a server may send any number of digits."""
    return given if given is not None and 0 <= given <= _LARGEST_STATUS else None
