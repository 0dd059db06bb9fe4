"""Records as rows, and rows read back as values."""

import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row as Result

from scrapy_dedup.store.engine.codec import Packer, row_of, unpack_json, unpack_text
from scrapy_dedup.store.records.records import (
    BlockEvidence,
    BoilerplateRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    ExtractionRecord,
    ResponseRecord,
    SeenRecord,
    SourceRecord,
    VisitRecord,
)
from scrapy_dedup.store.records.stored import StoredBoilerplate, StoredDecision, StoredSource
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.tables.models import NO_RUN
from scrapy_dedup.store.tables.upserts import Row

VALIDATOR_COUNTS = ("sent", "not_modified", "useless", "changed_304", "lastmod_right", "lastmod_wrong")
# What a page that was seen again may leave as it is.
AS_STORED = ("validated_at", "blocks", "body_hash", "lastmod")
_LARGEST_STATUS = 999


def source_row(record: SourceRecord, project_id: uuid.UUID, packer: Packer) -> Row:
    """Return a row of `sources`."""
    content = packer.text(record.content)
    row = row_of(
        record,
        project_id=project_id,
        content=content,
        content_bytes=len(content),
        report=None if record.report is None else packer.plain_json(record.report),
    )
    return row | {"cleaned_bytes": size_of(row["cleaned_content"])}


def response_row(record: ResponseRecord, project_id: uuid.UUID, packer: Packer) -> Row:
    """Return a row of `responses`."""
    # What the server packed does not become smaller.
    is_packed = not any(name.lower() == "content-encoding" for name, _ in record.headers)
    body = packer.body(record.body) if is_packed else record.body
    headers = packer.plain_json(record.headers)
    return row_of(record, project_id=project_id, headers=headers, is_packed=is_packed, body=body, body_bytes=len(body))


def document_row(record: DocumentRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> Row:
    """Return a row of `documents`."""
    acknowledged = record.status == "completed"
    return row_of(
        record,
        project_id=project_id,
        run_id=run_id,
        first_seen_at=(record.first_seen_at or record.updated_at) if acknowledged else None,
        last_seen_at=(record.last_seen_at or record.updated_at) if acknowledged else None,
        stale=None,
    )


def seen_row(record: SeenRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> Row:
    """Return the values for the update of a document."""
    row = row_of(record, run_id=run_id, of_project=project_id)
    renamed = {"page_key": "of_page", "at": "seen_at"} | {name: f"new_{name}" for name in AS_STORED}
    return {renamed.get(name, name): value for name, value in row.items()}


def visit_row(record: VisitRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> Row:
    """Return a row of `visits`."""
    http_status = _status(record.http_status)
    return row_of(record, project_id=project_id, run_id=run_id or NO_RUN, http_status=http_status)


def extraction_row(record: ExtractionRecord, project_id: uuid.UUID, run_id: uuid.UUID | None, packer: Packer) -> Row:
    """Return a row of `extractions`; one of no run may be used at once."""
    return row_of(
        record,
        project_id=project_id,
        run_id=run_id,
        is_usable=run_id is None,
        cb_kwargs=packer.plain_json(record.cb_kwargs) if record.cb_kwargs else None,
        requests=packer.plain_json(record.requests),
        items=None if record.items is None else packer.plain_json(record.items),
    )


def url_row(record: CrawledUrlRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> Row:
    """Return a row of `crawled_urls`."""
    return row_of(record, project_id=project_id, run_id=run_id, http_status=_status(record.http_status))


def decision_row(record: DecisionRecord, project_id: uuid.UUID, run_id: uuid.UUID | None, packer: Packer) -> Row:
    """Return a row of `decisions`."""
    detail = None if record.detail is None else packer.json(record.detail)
    return row_of(record, project_id=project_id, run_id=run_id, detail=detail)


def boilerplate_row(record: BoilerplateRecord, project_id: uuid.UUID, packer: Packer) -> Row:
    """Return a row of `domain_boilerplate`, as new."""
    moment = now()
    return row_of(
        record,
        id=uuid.uuid4(),
        project_id=project_id,
        boilerplate_hashes=list(record.boilerplate_hashes),
        evidence=None if record.evidence is None else packer.json(record.evidence),
        created_at=moment,
        updated_at=moment,
    )


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
