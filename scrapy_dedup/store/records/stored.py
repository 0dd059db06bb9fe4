"""What the store hands out: values, unpacked; no row and no lazy attribute leaves this folder."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct, field

from scrapy_dedup.store.records import records

# A crawl tells every two seconds how it stands; a busy store may keep it waiting for some more.
SILENT_AFTER: Final = timedelta(seconds=30)


class Run(Struct, frozen=True):
    """The run that a crawl belongs to.

    Attributes:
        id: of the run.
        resumed: the run had begun before, in the same JOBDIR, and goes on.
        killed: it was not ended before it went on.
        worker: this process among those that share the run; None where the run has but one.
    """

    id: uuid.UUID
    resumed: bool = False
    killed: bool = False
    worker: uuid.UUID | None = None

    @property
    def lost_requests(self) -> bool:
        """Say whether requests may be lost that the duplicate filter knows; workers queue a URL and note it at once."""
        return self.killed and self.worker is None


class StoredRun(Struct, frozen=True):
    """A crawl, and how it ended if it did; seen_at is when it last said how it stands, in stats."""

    id: uuid.UUID
    spider: str
    jobdir: str | None
    status: str
    reason: str | None
    started_at: datetime
    finished_at: datetime | None
    stats: Mapping[str, Any]
    seen_at: datetime | None = None

    @property
    def took(self) -> timedelta | None:
        """How long it took; None while it runs, or where it was killed."""
        return self.finished_at - self.started_at if self.finished_at else None

    @property
    def why(self) -> str:
        """Why it ended, where its status does not say so."""
        return self.reason if self.reason and self.reason != self.status else ""

    def silence(self, at: datetime) -> timedelta | None:
        """Return for how long a run that is said to be running has not been heard, if that is long: it was killed."""
        silent = at - (self.seen_at or self.started_at)
        return silent if self.status == "running" and silent > SILENT_AFTER else None


class StoredWorker(Struct, frozen=True):
    """One of the crawler processes that share a run.

    Its status is running, finished, stopped, or lost, which is not heard within its lease; and resumed, where it was
    one of the last two before the run, of which nobody was left, went on.
    """

    id: uuid.UUID
    run_id: uuid.UUID
    name: str
    status: str
    reason: str | None
    started_at: datetime
    lease_until: datetime
    finished_at: datetime | None
    stats: Mapping[str, Any]


class WorkerEnding(Struct, frozen=True):
    """What the end of one worker means for its run; a run of one process ends with it.

    Attributes:
        is_last: nobody else is at work, so that the run is over.
        status: of the run.
    """

    is_last: bool
    status: records.RunStatus


class StoredSource(Struct, frozen=True):
    """A stored page; content is None when the original was dropped by the size bound."""

    page_key: bytes
    url: str
    domain: str
    source_group: str | None
    field: str
    content: str | None
    cleaned_content: str | None
    title: str | None
    content_type: str | None
    fetched_at: datetime
    report: Mapping[str, Any] | None = None
    """What stands on an item beside the cleaned text."""


class StoredDocument(records.DocumentRecord, frozen=True):
    """What became of a page's content; run_id is that of the run that wrote it last."""

    run_id: uuid.UUID | None = None


class StoredUrl(records.CrawledUrlRecord, frozen=True):
    """The present state of a URL, and the run that wrote it."""

    run_id: uuid.UUID | None = None


class StoredDecision(records.DecisionRecord, frozen=True):
    """What a layer decided about a page, why, and in which run."""

    run_id: uuid.UUID | None = None


class StoredBoilerplate(records.BoilerplateRecord, frozen=True, kw_only=True):
    """What is stored for (project, domain, method): the record, and when it was first and last written."""

    id: uuid.UUID
    project_id: uuid.UUID
    created_at: datetime
    updated_at: datetime


class StoredPage(Struct, frozen=True):
    """Everything current about one page_key; a part that is not there is None."""

    crawled_url: StoredUrl | None
    document: StoredDocument | None
    source: StoredSource | None


class StoredVersion(Struct, frozen=True):
    """An older original."""

    fetched_at: datetime
    content: str


class ProjectFigures(Struct, frozen=True):
    """A project and how much of it is stored; stored_bytes counts packed originals and cleaned texts."""

    id: uuid.UUID
    name: str
    created_at: datetime
    pages: int
    runs: int
    stored_bytes: int


class DomainFigures(Struct, frozen=True):
    """Completed documents of a domain; characters are those of visible text before and after cleaning."""

    domain: str
    pages: int
    chars_in: int
    chars_out: int

    @property
    def removed_share(self) -> float:
        """Return which share of the visible text was removed, 0.0 to 1.0."""
        return 1 - self.chars_out / self.chars_in if self.chars_in else 0.0


class RepeatedBlock(Struct, frozen=True):
    """A block that repeats: on `pages` of the domain's `pages_analyzed`."""

    domain: str
    method: str
    fingerprint: str
    pages: int
    pages_analyzed: int
    path: str
    sample: str


class StoredTemplate(records.TemplateRecord, frozen=True, kw_only=True):
    """A version of a template: the record, its number, since when it has its state, its layout as 16 hex digits."""

    version: int
    state_at: datetime
    fingerprint: str


class TemplateFigures(Struct, frozen=True):
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


class MetRun(Struct, frozen=True):
    """A run that met pages; id and started_at are None outside of one, or of one that is gone."""

    id: uuid.UUID | None
    started_at: datetime | None


class LayoutFigures(Struct, frozen=True):
    """A layout and how it developed.

    Attributes:
        layout: the signature that leads it; to REST belong those that belong to no other.
        signatures: how many of level 1 belong to it.
        visits: of pages with these signatures, in all runs.
        first_seen_at, last_seen_at: None where only its template is known.
        runs: that met it, oldest first, as far as their counts are kept, with the number of its pages.
        example_url: None where no run met it.
        template: the live version, else the newest; None where nothing was learned.
    """

    domain: str
    layout: int
    signatures: int = 0
    visits: int = 0
    first_seen_at: datetime | None = None
    last_seen_at: datetime | None = None
    runs: Mapping[MetRun, int] = field(default_factory=dict)
    example_url: str | None = None
    template: TemplateFigures | None = None


class StoredAlarm(records.AlarmRecord, frozen=True, kw_only=True):
    """That a layout's template ceased to fit; cleared_at is None while it does not."""

    first_failed_at: datetime
    raised_at: datetime


class StoredState(StoredDocument, frozen=True, kw_only=True):
    """The state of a page's last acknowledged visit.

    Attributes:
        status: not "completed" where the last run began the page and did not complete it.
        http_status, last_crawled_at: of the URL's last visit, acknowledged or not; skips are none.
        document_key: of the page that has its content; its own where it is no duplicate.
        memo_keys: of the extractions that are held for the page.
        alias_kind: the layer that found the page that has its content.
        stale: why its text is to be made anew, though it did not change.
    """

    first_seen_at: datetime
    last_seen_at: datetime
    http_status: int | None = None
    last_crawled_at: datetime | None = None
    document_key: bytes | None = None
    memo_keys: frozenset[bytes] = frozenset()
    stale: str | None = None
    alias_kind: str | None = None


class StoredVisit(records.VisitRecord, frozen=True):
    """One visit of a page; run_id is None where it was made outside of a run."""

    run_id: uuid.UUID | None = None


class StoredChange(StoredVisit, frozen=True, kw_only=True):
    """A visit whose verdict is new, changed or removed; url and domain are None where the document is gone."""

    url: str | None
    domain: str | None
    visit_id: int


class ChangeChoice(Struct, frozen=True):
    """Which changes, after which one; None does not limit them."""

    since: datetime
    verdict: str | None = None
    domain: str | None = None
    after: StoredChange | None = None


class RunFigures(Struct, frozen=True):
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


class ExtractionChoice(Struct, frozen=True):
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


class ExtractionFigures(Struct, frozen=True):
    """How many extractions there are, and their packed bytes."""

    extractions: int
    packed_bytes: int


class MissedPage(Struct, frozen=True):
    """A page that a run has not found; so many complete runs before it did not, either.

    Attributes:
        parent_key: of the page that led to it when it was last seen; None: none did, or it is not known.
        asked: what this run wrote down of its URL, if anything: a status of `crawled_urls`.
        http_status: of its URL's last visit.
    """

    page_key: bytes
    url: str
    domain: str
    missed_runs: int
    last_seen_at: datetime
    parent_key: bytes | None = None
    asked: str | None = None
    http_status: int | None = None
