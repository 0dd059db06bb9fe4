"""The records of one write as rows, packed."""

import json
import uuid
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import astuple
from sqlalchemy import Connection
from sqlalchemy import Row as Result

from scrapy_dedup.core.pages.fingerprints import to_digits
from scrapy_dedup.store.engine.codec import Packer, column_text, row_of, to_json, unpack_json
from scrapy_dedup.store.records import shared
from scrapy_dedup.store.records.records import (
    AlarmRecord,
    BoilerplateRecord,
    ChunksRecord,
    CleanedRecord,
    ConfidenceRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DeliveryRecord,
    DocumentRecord,
    ExtractionRecord,
    ForgetRecord,
    GoneRecord,
    LayoutKnowledge,
    LayoutRunRecord,
    LayoutSignatureRecord,
    LeaseRecord,
    PageKnowledge,
    Record,
    ReleaseRecord,
    ResponseRecord,
    SeenRecord,
    SignatureRecord,
    SourceRecord,
    TemplateRecord,
    TemplateStateRecord,
    ValidatedRecord,
    ValidatorRecord,
    VisitRecord,
)
from scrapy_dedup.store.records.stored import StoredTemplate
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


def _status(given: int | None) -> int | None:
    """Return an HTTP status; None for what is none: a server may send any number of digits."""
    return given if given is not None and 0 <= given <= _LARGEST_STATUS else None


class LayoutBatch(Struct, frozen=True):
    """What one write says of layouts: counts are added up by their keys, all else stays in its order."""

    signatures: dict[tuple[str, int, int], Row] = field(default_factory=dict)
    runs: dict[tuple[str, int], Row] = field(default_factory=dict)
    templates: list[Row | TemplateStateRecord] = field(default_factory=list)
    alarms: list[AlarmRecord] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any(astuple(self))

    def add(self, record: LayoutKnowledge, project_id: uuid.UUID, run_id: uuid.UUID | None, packer: Packer) -> None:
        """Add what one record says."""
        match record:
            case LayoutSignatureRecord():
                self._add_signature(record, project_id)
            case LayoutRunRecord():
                self._add_run(record, project_id, run_id)
            case TemplateRecord():
                self.templates.append(template_row(record, project_id, packer))
            case TemplateStateRecord():
                self.templates.append(record)
            case AlarmRecord():
                self.alarms.append(record)

    def _add_signature(self, record: LayoutSignatureRecord, project_id: uuid.UUID) -> None:
        domain = column_text(record.domain)
        key = (domain, record.level, record.signature_hash)
        row = {
            "project_id": project_id,
            "domain": domain,
            "level": record.level,
            "signature_hash": record.signature_hash,
            "template_id": record.layout,
            "seen_count": record.seen,
            "first_seen_at": record.at,
            "last_seen_at": record.at,
            "algorithm_version": record.algorithm_version,
        }
        earlier = self.signatures.get(key)
        if earlier:
            row["seen_count"] += earlier["seen_count"]
            row["first_seen_at"] = min(record.at, earlier["first_seen_at"])
            row["last_seen_at"] = max(record.at, earlier["last_seen_at"])
            row["template_id"] = earlier["template_id"] if record.layout is None else record.layout
        self.signatures[key] = row

    def _add_run(self, record: LayoutRunRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> None:
        domain = column_text(record.domain)
        earlier = self.runs.get((domain, record.layout))
        self.runs[domain, record.layout] = {
            "project_id": project_id,
            "domain": domain,
            "layout": record.layout,
            "run_id": run_id or NO_RUN,
            "pages": record.pages + (earlier["pages"] if earlier else 0),
            "first_url": earlier["first_url"] if earlier else column_text(record.url),
            "counted_at": now(),
        }


def template_row(record: TemplateRecord, project_id: uuid.UUID, packer: Packer) -> Row:
    """Return a row of `layout_templates` without its version."""
    return row_of(
        record,
        project_id=project_id,
        fingerprint=to_digits(record.layout),
        state_at=record.created_at,
        selectors=_as_read_back(record.selectors),
        overrides=_as_read_back(record.overrides),
        paths=packer.json(record.paths),
        body=packer.json(record.body),
    )


def _as_read_back(value: object) -> Any:
    """Return a plain value as a JSON column gives it back, so that the two can be compared."""
    return json.loads(column_text(to_json(value)))


def read_template(row: Result[Any]) -> StoredTemplate:
    """Return the value of a row of `layout_templates`."""
    values = dict(row._mapping)  # noqa: SLF001 (SQLAlchemy's public name for it)
    for name in ("paths", "body"):
        values[name] = unpack_json(values[name])
    return StoredTemplate(**values)


# What a document that is begun again, or failed, takes over; its last good state stays.
BEGUN = ("url", "domain", "run_id", "status", "error", "updated_at")
# Counts that only grow: who could not ask what was known of a page counts from nothing.
LARGEST = ("visits_count", "changes_count")


class PageBatch(Struct):
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
        shared.forget_signatures(connection, project_id, self.forgotten.union(gone))
        shared.write_signatures(connection, project_id, self.signatures.values())
        shared.write_chunks(connection, project_id, run_id, self.chunks | {key: ForgetRecord(key) for key in gone})


class Batch(Struct, frozen=True):
    """Rows by their keys: of two records with the same keys the later one counts."""

    sources: dict[bytes, Row] = field(default_factory=dict)
    cleaned: dict[bytes, tuple[str, bytes | None]] = field(default_factory=dict)
    """Text and packed report."""
    documents: dict[bytes, Row] = field(default_factory=dict)
    # What changes documents without replacing them: pages seen again, and pages that are begun or failed.
    seen: dict[bytes, Row] = field(default_factory=dict)
    begun: dict[bytes, Row] = field(default_factory=dict)
    gone: dict[bytes, datetime] = field(default_factory=dict)
    urls: dict[bytes, Row] = field(default_factory=dict)
    decisions: dict[tuple[bytes, str], Row] = field(default_factory=dict)
    boilerplate: dict[tuple[str, str], Row] = field(default_factory=dict)
    visits: dict[tuple[datetime, bytes], Row] = field(default_factory=dict)
    extractions: dict[bytes, Row] = field(default_factory=dict)
    responses: dict[bytes, Row] = field(default_factory=dict)
    validated: dict[bytes, datetime] = field(default_factory=dict)
    deliveries: dict[tuple[bytes, bytes], Row] = field(default_factory=dict)
    validators: dict[str, Row] = field(default_factory=dict)
    confidences: dict[str, ConfidenceRecord] = field(default_factory=dict)
    layouts: LayoutBatch = field(default_factory=LayoutBatch)
    pages: PageBatch = field(default_factory=PageBatch)
    released: list[ReleaseRecord] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any(astuple(self))

    def add_content(self, record: SourceRecord | CleanedRecord, project_id: uuid.UUID, packer: Packer) -> None:
        """Add a page's original, or what is left of it."""
        if isinstance(record, SourceRecord):
            earlier = self.sources.get(record.page_key)
            if earlier is not None and record.fetched_at < earlier["fetched_at"]:
                return
            self.sources[record.page_key] = source_row(record, project_id, packer)
            self.cleaned.pop(record.page_key, None)  # it belonged to the original before
        else:
            report = None if record.report is None else packer.plain_json(record.report)
            self.cleaned[record.page_key] = column_text(record.cleaned_content), report

    def add_answer(
        self,
        record: ExtractionRecord | ResponseRecord | ValidatedRecord | DeliveryRecord,
        project_id: uuid.UUID,
        run_id: uuid.UUID | None,
        packer: Packer,
    ) -> None:
        """Add what a server answered, that it still holds, or what came of it."""
        if isinstance(record, ExtractionRecord):
            self.extractions[record.memo_key] = extraction_row(record, project_id, run_id, packer)
        elif isinstance(record, ResponseRecord):
            self.responses[record.wire_key] = response_row(record, project_id, packer)
            self.validated.pop(record.wire_key, None)
        elif isinstance(record, ValidatedRecord):
            self.validated[record.wire_key] = record.validated_at
        else:
            self.deliveries[record.page_key, record.giver] = row_of(record, project_id=project_id)

    def add_document(self, record: DocumentRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> None:
        """Add a document's row where it belongs by its status."""
        key, row = record.page_key, document_row(record, project_id, run_id)
        if record.status == "completed":
            self.gone.pop(key, None)
            earlier = (self.documents.get(key), self.seen.pop(key, None), self.begun.pop(key, None))
            self.documents[key] = row | _largest(row, *earlier)
        elif key in self.begun:
            self.begun[key] = {**self.begun[key], **{name: row[name] for name in BEGUN}}
        else:
            self.begun[key] = row

    def add_state(self, record: SeenRecord | GoneRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> None:
        """Add that a page was seen again, or that it is gone."""
        if isinstance(record, GoneRecord):
            self.gone.setdefault(record.page_key, record.at)
        else:
            self.add_seen(record, project_id, run_id)

    def add_seen(self, record: SeenRecord, project_id: uuid.UUID, run_id: uuid.UUID | None) -> None:
        """Add what a page that was seen again changes."""
        self.gone.pop(record.page_key, None)
        begun = self.begun.pop(record.page_key, None)
        earlier = self.seen.get(record.page_key, {})
        row = seen_row(record, project_id, run_id)
        row |= _largest(row, earlier, begun)
        names = [f"new_{name}" for name in AS_STORED]
        as_before = {name: earlier.get(name) for name in names if row[name] is None}
        self.seen[record.page_key] = row | as_before

    def add_knowledge(
        self,
        record: LayoutKnowledge | PageKnowledge | ReleaseRecord,
        project_id: uuid.UUID,
        run_id: uuid.UUID | None,
        packer: Packer,
    ) -> None:
        """Add what a record says of layouts, or of what pages have in common, or might have."""
        if isinstance(record, ReleaseRecord):
            self.released.append(record)
        elif isinstance(record, SignatureRecord | ChunksRecord | ForgetRecord):
            self.pages.add(record)
        else:
            self.layouts.add(record, project_id, run_id, packer)

    def add_counts(self, record: ValidatorRecord | ConfidenceRecord, project_id: uuid.UUID) -> None:
        """Add counts to those of the same domain."""
        if isinstance(record, ConfidenceRecord):
            before = self.confidences.get(record.domain)
            self.confidences[record.domain] = record if before is None else before + record
            return
        row = row_of(record, project_id=project_id)
        earlier = self.validators.get(row["domain"])
        if earlier:
            row |= {name: earlier[name] + row[name] for name in VALIDATOR_COUNTS}
        self.validators[row["domain"]] = row


def _largest(row: Row, *earlier: Row | None) -> Row:
    """Return the counts that only grow, as they are after what was said earlier of the same page."""
    rows = [row, *(one for one in earlier if one)]
    return {name: max(one.get(name) or 0 for one in rows) for name in LARGEST if row.get(name) is not None}


def pack(records: Iterable[Record], project_id: uuid.UUID, run_id: uuid.UUID | None) -> Batch:
    """Return the records as rows; all compression happens here, before any lock is taken."""
    batch, packer = Batch(), Packer()
    for record in records:
        match record:
            case SourceRecord() | CleanedRecord():
                batch.add_content(record, project_id, packer)
            case DocumentRecord():
                batch.add_document(record, project_id, run_id)
            case SeenRecord() | GoneRecord():
                batch.add_state(record, project_id, run_id)
            case VisitRecord():
                batch.visits[record.at, record.page_key] = visit_row(record, project_id, run_id)
            case ValidatorRecord() | ConfidenceRecord():
                batch.add_counts(record, project_id)
            case CrawledUrlRecord():
                batch.urls[record.page_key] = url_row(record, project_id, run_id)
            case DecisionRecord():
                batch.decisions[record.page_key, record.layer] = decision_row(record, project_id, run_id, packer)
            case BoilerplateRecord():
                row = boilerplate_row(record, project_id, packer)
                batch.boilerplate[row["domain"], row["method"]] = row
            case ExtractionRecord() | ResponseRecord() | ValidatedRecord() | DeliveryRecord():
                batch.add_answer(record, project_id, run_id, packer)
            case LeaseRecord():
                pass  # whoever writes gives it back
            case _:
                batch.add_knowledge(record, project_id, run_id, packer)
    return batch
