"""What the store hands out for a crawl that comes again: states, visits, extractions."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from scrapy_dedup.store.records.records import VisitRecord
from scrapy_dedup.store.records.stored import StoredRun, StoredWorker


@dataclass(frozen=True, slots=True)
class StoredState:
    """The state of a page's last acknowledged visit; for what stands beside it see `DocumentRecord`.

    Attributes:
        run_id: the run that wrote the document last.
        status: not "completed" where that run began the page and did not complete it.
        http_status, last_crawled_at: of the URL's last visit, acknowledged or not; skips are none.
        document_key: of the page that has its content; its own where it is no duplicate.
        memo_keys: of the extractions that are held for the page.
        alias_kind: the layer that found the page that has its content.
        stale: why its text is to be made anew, though it did not change.
    """

    page_key: bytes
    url: str
    domain: str
    run_id: uuid.UUID | None
    status: str
    verdict: str | None
    title: str | None
    content_hash: bytes | None
    cleaned_hash: bytes | None
    etag: str | None
    last_modified: str | None
    validated_at: datetime | None
    first_seen_at: datetime
    last_seen_at: datetime
    last_changed_at: datetime | None
    blocks: bytes | None
    interval_seconds: float | None
    visits_count: int
    changes_count: int
    missed_runs: int
    gone_at: datetime | None
    lastmod: datetime | None = None
    moved: bytes | None = None
    depth: int | None = None
    http_status: int | None = None
    last_crawled_at: datetime | None = None
    document_key: bytes | None = None
    memo_keys: frozenset[bytes] = frozenset()
    stale: str | None = None
    alias_kind: str | None = None
    body_hash: bytes | None = None


@dataclass(frozen=True, slots=True)
class StoredVisit(VisitRecord):
    """One visit of a page; run_id is None where it was made outside of a run."""

    run_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A visit whose verdict is new, changed or removed; url and domain are None where the document is gone."""

    visit: StoredVisit
    url: str | None
    domain: str | None
    visit_id: int


@dataclass(frozen=True, slots=True)
class ChangeChoice:
    """Which changes, after which one; None does not limit them."""

    since: datetime
    verdict: str | None = None
    domain: str | None = None
    after: StoredChange | None = None


@dataclass(frozen=True, slots=True)
class RunFigures:
    """A run and what its visits add up to, as far as they are kept; verdicts without a visit are left out.

    A run of one process has no workers.
    """

    run: StoredRun
    verdicts: Mapping[str, int]
    visits: int
    callbacks: int
    bytes_received: int
    seconds: float
    workers: Sequence[StoredWorker] = ()


@dataclass(frozen=True, slots=True)
class ExtractionChoice:
    """Which extractions; all conditions that are given must hold, and without any it is all of them.

    Attributes:
        page_keys: of these pages.
        memo_keys: these.
        domain: of this domain.
        created_before: made before this instant.
        outdated: made of a content that is not, or no longer, that of the page's document.
    """

    page_keys: Collection[bytes] | None = None
    memo_keys: Collection[bytes] | None = None
    domain: str | None = None
    created_before: datetime | None = None
    outdated: bool = False


@dataclass(frozen=True, slots=True)
class ExtractionFigures:
    """How many extractions there are, and their packed bytes."""

    extractions: int
    packed_bytes: int


@dataclass(frozen=True, slots=True)
class MissedPage:
    """A page that a run has not found; so many complete runs before it did not, either."""

    page_key: bytes
    url: str
    domain: str
    missed_runs: int
    last_seen_at: datetime
