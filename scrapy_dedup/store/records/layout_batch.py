"""Records about layouts as rows, and rows of templates read back."""

import json
import uuid
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import Row as Result

from scrapy_dedup.store.engine.codec import Packer, column_text, optional_text, to_json, unpack_json
from scrapy_dedup.store.records.layout_records import (
    AlarmRecord,
    LayoutKnowledge,
    LayoutRunRecord,
    LayoutSignatureRecord,
    TemplateRecord,
    TemplateStateRecord,
    to_digits,
)
from scrapy_dedup.store.records.stored import StoredTemplate
from scrapy_dedup.store.tables.base import NO_RUN
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.tables.upserts import Row


@dataclass(frozen=True, slots=True)
class LayoutBatch:
    """What one write says of layouts: counts are added up by their keys, all else stays in its order."""

    signatures: dict[tuple[str, int, int], Row] = field(default_factory=dict)
    runs: dict[tuple[str, int], Row] = field(default_factory=dict)
    templates: list[Row | TemplateStateRecord] = field(default_factory=list)
    alarms: list[AlarmRecord] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any(getattr(self, part.name) for part in fields(self))

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
    return {
        "project_id": project_id,
        "domain": column_text(record.domain),
        "layout": record.layout,
        "structure": record.structure,
        "state": record.state,
        "reason": column_text(record.reason),
        # A driver may take a member of a StrEnum for its name.
        "kind": column_text(str(record.kind)),
        "url_pattern": optional_text(record.url_pattern),
        "fingerprint": to_digits(record.layout),
        "confidence": record.confidence,
        "pages": record.pages,
        "source": record.source,
        "model": column_text(record.model),
        "algorithm_version": record.algorithm_version,
        "created_at": record.created_at,
        "state_at": record.created_at,
        "selectors": _as_read_back(record.selectors),
        "overrides": _as_read_back(record.overrides),
        "paths": packer.json(record.paths),
        "body": packer.json(record.body),
    }


def _as_read_back(value: object) -> Any:
    """Return a plain value as a JSON column gives it back, so that the two can be compared."""
    return json.loads(column_text(to_json(value)))


def read_template(row: Result[Any]) -> StoredTemplate:
    """Return the value of a row of `layout_templates`."""
    values = dict(row._mapping)  # noqa: SLF001 (SQLAlchemy's public name for it)
    for name in ("paths", "body"):
        values[name] = unpack_json(values[name])
    return StoredTemplate(**values)
