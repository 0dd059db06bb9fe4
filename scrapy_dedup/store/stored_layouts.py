"""What the store hands out about layouts."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scrapy_dedup.store.layout_records import AlarmRecord, TemplateRecord


@dataclass(frozen=True, slots=True)
class StoredSignature:
    """A signature that pages of a domain have; layout is None where it belongs to none."""

    domain: str
    signature_hash: int
    level: int
    layout: int | None
    seen_count: int
    first_seen_at: datetime
    last_seen_at: datetime
    algorithm_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTemplate(TemplateRecord):
    """A version of a template: the record, its number, since when it has its state, its layout as 16 hex digits."""

    version: int
    state_at: datetime
    fingerprint: str


@dataclass(frozen=True, slots=True)
class TemplateFigures:
    """A version of a template without what is needed to cut by it; for what stands here see `TemplateRecord`."""

    domain: str
    layout: int
    version: int
    state: str
    reason: str
    kind: str
    url_pattern: str | None
    fingerprint: str
    confidence: float
    pages: int
    source: str
    created_at: datetime
    state_at: datetime
    overrides: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class LayoutCount:
    """How many pages of a layout a run met; run_id and started_at are None outside of one, or of one that is gone."""

    run_id: uuid.UUID | None
    started_at: datetime | None
    pages: int


@dataclass(frozen=True, slots=True)
class LayoutFigures:
    """A layout and how it developed.

    Attributes:
        layout: the signature that leads it; to REST belong those that belong to no other.
        signatures: how many of level 1 belong to it.
        pages: with these signatures, all visits counted.
        first_seen_at, last_seen_at: None where only its template is known.
        runs: that met it, oldest first, as far as their counts are kept.
        example_url: None where no run met it.
        template: the live version, else the newest; None where nothing was learned.
    """

    domain: str
    layout: int
    signatures: int
    pages: int
    first_seen_at: datetime | None
    last_seen_at: datetime | None
    runs: tuple[LayoutCount, ...]
    example_url: str | None
    template: TemplateFigures | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAlarm(AlarmRecord):
    """That a layout's template ceased to fit; cleared_at is None while it does not."""

    first_failed_at: datetime
    raised_at: datetime
