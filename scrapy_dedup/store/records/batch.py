"""The records of one write as rows, packed."""

import json
import uuid
from collections.abc import Iterable
from datetime import datetime
from functools import singledispatchmethod
from typing import Any

from msgspec import Struct

from scrapy_dedup.core.pages.fingerprints import to_digits
from scrapy_dedup.store.engine.codec import Packer, column_text, row_of, to_json
from scrapy_dedup.store.records import records as values
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.tables.models import NO_RUN
from scrapy_dedup.store.tables.statements import Row

VALIDATOR_COUNTS = ("sent", "not_modified", "useless", "changed_304", "lastmod_right", "lastmod_wrong")
# What a page that was seen again may leave as it is.
AS_STORED = ("validated_at", "blocks", "body_hash", "lastmod")
# What a document that is begun again, or failed, takes over; its last good state stays.
BEGUN = ("url", "domain", "run_id", "status", "error", "updated_at")
# Counts that only grow: who could not ask what was known of a page counts from nothing.
LARGEST = ("visits_count", "changes_count")
_LARGEST_STATUS = 999


class Batch:
    """Rows by their keys: of two records with the same keys the later one counts, or they are added up."""

    def __init__(self, project_id: uuid.UUID, run_id: uuid.UUID | None = None) -> None:
        """Begin without records; what is written belongs to the project, and to the run."""
        self.project_id = project_id
        self.run_id = run_id
        self._packer = Packer()
        # Of contents; of what is left of a page its text and packed report.
        self.sources: dict[bytes, Row] = {}
        self.cleaned: dict[bytes, tuple[str, bytes | None]] = {}
        self.responses: dict[bytes, Row] = {}
        self.validated: dict[bytes, datetime] = {}
        self.deliveries: dict[tuple[bytes, bytes], Row] = {}
        self.extractions: dict[bytes, Row] = {}
        # Documents, and what changes them without replacing them: pages seen again, begun or failed, and gone.
        self.documents: dict[bytes, Row] = {}
        self.seen: dict[bytes, Row] = {}
        self.begun: dict[bytes, Row] = {}
        self.gone: dict[bytes, datetime] = {}
        self.urls: dict[bytes, Row] = {}
        self.decisions: dict[tuple[bytes, str], Row] = {}
        self.visits: dict[tuple[datetime, bytes], Row] = {}
        # Of domains and their layouts.
        self.boilerplate: dict[tuple[str, str], Row] = {}
        self.validators: dict[str, Row] = {}
        self.confidences: dict[str, values.ConfidenceRecord] = {}
        self.layout_signatures: dict[tuple[str, int, int], Row] = {}
        self.layout_runs: dict[tuple[str, int], Row] = {}
        self.templates: list[Row | values.TemplateStateRecord] = []
        self.alarms: list[values.AlarmRecord] = []
        # What pages share, pages that are not to be found any more, and claims that are free again.
        self.signatures: dict[bytes, values.SignatureRecord] = {}
        self.forgotten: set[bytes] = set()
        self.chunks: dict[bytes, values.ChunksRecord | values.ForgetRecord] = {}
        self.released: list[values.ReleaseRecord] = []

    def __bool__(self) -> bool:
        return any(one for one in vars(self).values() if isinstance(one, dict | list | set))

    @singledispatchmethod
    def add(self, record: values.Record) -> None:
        """Add a record."""
        raise TypeError(type(record))

    @add.register
    def _(self, record: values.SourceRecord) -> None:
        earlier = self.sources.get(record.page_key)
        if earlier is not None and record.fetched_at < earlier["fetched_at"]:
            return
        content = self._packer.text(record.content)
        packed = {"content": content, "content_bytes": len(content), "report": self._plain(record.report)}
        row = self._row(record, **packed)
        self.sources[record.page_key] = row | {"cleaned_bytes": size_of(row["cleaned_content"])}
        self.cleaned.pop(record.page_key, None)  # it belonged to the original before

    @add.register
    def _(self, record: values.CleanedRecord) -> None:
        self.cleaned[record.page_key] = column_text(record.cleaned_content), self._plain(record.report)

    @add.register
    def _(self, record: values.ResponseRecord) -> None:
        # What the server packed does not become smaller.
        is_packed = not any(name.lower() == "content-encoding" for name, _ in record.headers)
        body = self._packer.body(record.body) if is_packed else record.body
        packed = {"headers": self._plain(record.headers), "is_packed": is_packed, "body": body}
        self.responses[record.wire_key] = self._row(record, **packed, body_bytes=len(body))
        self.validated.pop(record.wire_key, None)

    @add.register
    def _(self, record: values.ValidatedRecord) -> None:
        self.validated[record.wire_key] = record.validated_at

    @add.register
    def _(self, record: values.DeliveryRecord) -> None:
        self.deliveries[record.page_key, record.giver] = self._row(record)

    @add.register
    def _(self, record: values.ExtractionRecord) -> None:
        """Add it; one of no run may be used at once."""
        self.extractions[record.memo_key] = self._row(
            record,
            run_id=self.run_id,
            is_usable=self.run_id is None,
            cb_kwargs=self._plain(record.cb_kwargs or None),
            requests=self._plain(record.requests),
            items=self._plain(record.items),
        )

    @add.register
    def _(self, record: values.DocumentRecord) -> None:
        """Add it where it belongs by its status."""
        key, acknowledged = record.page_key, record.status == "completed"
        row = self._row(
            record,
            run_id=self.run_id,
            first_seen_at=(record.first_seen_at or record.updated_at) if acknowledged else None,
            last_seen_at=(record.last_seen_at or record.updated_at) if acknowledged else None,
            stale=None,
        )
        if acknowledged:
            self.gone.pop(key, None)
            earlier = (self.documents.get(key), self.seen.pop(key, None), self.begun.pop(key, None))
            self.documents[key] = row | _largest(row, *earlier)
        elif key in self.begun:
            self.begun[key] = {**self.begun[key], **{name: row[name] for name in BEGUN}}
        else:
            self.begun[key] = row

    @add.register
    def _(self, record: values.SeenRecord) -> None:
        """Add the values for the update of a document."""
        self.gone.pop(record.page_key, None)
        begun = self.begun.pop(record.page_key, None)
        earlier = self.seen.get(record.page_key, {})
        renamed = {"page_key": "of_page", "at": "seen_at"} | {name: f"new_{name}" for name in AS_STORED}
        named = row_of(record, run_id=self.run_id, of_project=self.project_id)
        row = {renamed.get(name, name): value for name, value in named.items()}
        row |= _largest(row, earlier, begun)
        names = [f"new_{name}" for name in AS_STORED]
        as_before = {name: earlier.get(name) for name in names if row[name] is None}
        self.seen[record.page_key] = row | as_before

    @add.register
    def _(self, record: values.GoneRecord) -> None:
        self.gone.setdefault(record.page_key, record.at)

    @add.register
    def _(self, record: values.VisitRecord) -> None:
        status = _status(record.http_status)
        row = self._row(record, run_id=self.run_id or NO_RUN, http_status=status)
        self.visits[record.at, record.page_key] = row

    @add.register
    def _(self, record: values.CrawledUrlRecord) -> None:
        row = self._row(record, run_id=self.run_id, http_status=_status(record.http_status))
        self.urls[record.page_key] = row

    @add.register
    def _(self, record: values.DecisionRecord) -> None:
        detail = None if record.detail is None else self._packer.json(record.detail)
        self.decisions[record.page_key, record.layer] = self._row(record, run_id=self.run_id, detail=detail)

    @add.register
    def _(self, record: values.BoilerplateRecord) -> None:
        moment = now()
        row = self._row(
            record,
            id=uuid.uuid4(),
            boilerplate_hashes=list(record.boilerplate_hashes),
            evidence=None if record.evidence is None else self._packer.json(record.evidence),
            created_at=moment,
            updated_at=moment,
        )
        self.boilerplate[row["domain"], row["method"]] = row

    @add.register
    def _(self, record: values.ValidatorRecord) -> None:
        row = self._row(record)
        earlier = self.validators.get(row["domain"])
        if earlier:
            row |= {name: earlier[name] + row[name] for name in VALIDATOR_COUNTS}
        self.validators[row["domain"]] = row

    @add.register
    def _(self, record: values.ConfidenceRecord) -> None:
        before = self.confidences.get(record.domain)
        self.confidences[record.domain] = record if before is None else before + record

    @add.register
    def _(self, record: values.LayoutSignatureRecord) -> None:
        row = self._row(record, first_seen_at=record.last_seen_at)
        key = (row["domain"], row["level"], row["signature_hash"])
        earlier = self.layout_signatures.get(key)
        if earlier:
            row["seen_count"] += earlier["seen_count"]
            row["first_seen_at"] = min(row["first_seen_at"], earlier["first_seen_at"])
            row["last_seen_at"] = max(row["last_seen_at"], earlier["last_seen_at"])
            row["template_id"] = earlier["template_id"] if record.template_id is None else record.template_id
        self.layout_signatures[key] = row

    @add.register
    def _(self, record: values.LayoutRunRecord) -> None:
        row = self._row(record, run_id=self.run_id or NO_RUN, counted_at=now())
        earlier = self.layout_runs.get((row["domain"], record.layout))
        if earlier:
            row |= {"pages": record.pages + earlier["pages"], "first_url": earlier["first_url"]}
        self.layout_runs[row["domain"], record.layout] = row

    @add.register
    def _(self, record: values.TemplateRecord) -> None:
        self.templates.append(self.template_row(record))

    @add.register
    def _(self, record: values.TemplateStateRecord) -> None:
        self.templates.append(record)

    @add.register
    def _(self, record: values.AlarmRecord) -> None:
        self.alarms.append(record)

    @add.register
    def _(self, record: values.SignatureRecord) -> None:
        self.signatures[record.page_key] = record
        self.forgotten.discard(record.page_key)

    @add.register
    def _(self, record: values.ForgetRecord) -> None:
        self.signatures.pop(record.page_key, None)
        self.forgotten.add(record.page_key)
        self.chunks[record.page_key] = record

    @add.register
    def _(self, record: values.ChunksRecord) -> None:
        self.chunks[record.page_key] = record

    @add.register
    def _(self, record: values.ReleaseRecord) -> None:
        self.released.append(record)

    @add.register
    def _(self, record: values.LeaseRecord) -> None:
        """Add nothing: whoever writes gives it back."""

    def template_row(self, record: values.TemplateRecord) -> Row:
        """Return a row of `layout_templates` without its version, which is known once the project is locked."""
        return self._row(
            record,
            fingerprint=to_digits(record.layout),
            state_at=record.created_at,
            selectors=_as_read_back(record.selectors),
            overrides=_as_read_back(record.overrides),
            paths=self._packer.json(record.paths),
            body=self._packer.json(record.body),
        )

    def _row(self, record: Struct, **more: Any) -> Row:
        return row_of(record, project_id=self.project_id, **more)

    def _plain(self, value: object) -> bytes | None:
        return None if value is None else self._packer.plain_json(value)


def pack(records: Iterable[values.Record], project_id: uuid.UUID, run_id: uuid.UUID | None = None) -> Batch:
    """Return the records as rows; all compression happens here, before any lock is taken."""
    batch = Batch(project_id, run_id)
    for record in records:
        batch.add(record)
    return batch


def size_of(cleaned: str | None) -> int:
    """Return how many bytes a cleaned text counts for in the size bound."""
    return len(cleaned.encode()) if cleaned else 0


def _as_read_back(value: object) -> Any:
    """Return a plain value as a JSON column gives it back, so that the two can be compared."""
    return json.loads(column_text(to_json(value)))


def _largest(row: Row, *earlier: Row | None) -> Row:
    """Return the counts that only grow, as they are after what was said earlier of the same page."""
    rows = [row, *(one for one in earlier if one)]
    return {name: max(one.get(name) or 0 for one in rows) for name in LARGEST if row.get(name) is not None}


def _status(given: int | None) -> int | None:
    """Return an HTTP status; None for what is none: a server may send any number of digits."""
    return given if given is not None and 0 <= given <= _LARGEST_STATUS else None
