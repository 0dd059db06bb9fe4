"""The tables.

Every table but `projects` belongs to a project and goes with it (ON DELETE
CASCADE). Without a foreign key to `crawl_runs`, and without relationships:
deleting a run must not search through its rows, and rows are read by columns.

Page keys are random, so an index that begins with one costs every batch a
write all over the file. Tables have one such index each (`extractions`, which
are found by memo and by page, have two); the others are partial, or grow at
their end or at that of a domain.
"""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index, LargeBinary, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from scrapy_dedup.store.base import NO_RUN, Base, of_project
from scrapy_dedup.store.columns import Key, RowNumber, now
from scrapy_dedup.store.domain_models import Candidate, DiscoverySession, Domain
from scrapy_dedup.store.layout_models import LayoutAlarm, LayoutRun, LayoutSignature, LayoutTemplate
from scrapy_dedup.store.page_models import DocumentChunk, NearDuplicate, PageSignature, SiteConfig
from scrapy_dedup.store.shared_models import Claim, RunWorker, SeenScope, SeenUrl
from scrapy_dedup.store.teaching_models import LayoutPicture, UrlParameter

# What stands in modules of its own; whoever imports this one has all tables.
__all__ = [
    "NO_RUN",
    "Base",
    "Candidate",
    "Claim",
    "DiscoverySession",
    "DocumentChunk",
    "Domain",
    "LayoutAlarm",
    "LayoutPicture",
    "LayoutRun",
    "LayoutSignature",
    "LayoutTemplate",
    "NearDuplicate",
    "PageSignature",
    "RunWorker",
    "SeenScope",
    "SeenUrl",
    "SiteConfig",
    "UrlParameter",
]


class Project(Base):
    """A namespace of all knowledge."""

    __tablename__ = "projects"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    name: Mapped[str] = mapped_column(unique=True)
    # Packed originals and cleaned texts, kept up to date by every write: a sum over all pages is too slow.
    stored_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime] = mapped_column(default=now)


class CrawlRun(Base):
    """One crawl; with JOBDIR a crawl that was stopped and resumed is one run."""

    __tablename__ = "crawl_runs"
    __table_args__ = (Index(None, "project_id", "started_at"),)

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    project_id: Mapped[uuid.UUID] = of_project()
    spider: Mapped[str]
    jobdir: Mapped[str | None]
    status: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str | None]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    stats: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    # When the pages that it did not find were counted, which happens once: NULL until then.
    missed_counted_at: Mapped[datetime | None]
    # When it last said how it stands, in `stats`; NULL for one that never did.
    seen_at: Mapped[datetime | None]


class Source(Base):
    """The newest original of a page, as it came."""

    __tablename__ = "sources"
    __table_args__ = (
        UniqueConstraint("project_id", "page_key"),
        # Two orders in which the pages of a domain are read.
        Index("ix_sources_domain_by_key", "project_id", "domain", "page_key"),
        Index("ix_sources_domain_oldest", "project_id", "domain", "fetched_at", "page_key"),
        # What the size bound drops next; rows that were emptied are not in it.
        Index("ix_sources_oldest", "project_id", "fetched_at", "page_key", sqlite_where=text("content IS NOT NULL")),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    project_id: Mapped[uuid.UUID] = of_project()
    page_key: Mapped[bytes] = mapped_column(Key)
    url: Mapped[str]
    domain: Mapped[str]
    source_group: Mapped[str | None]
    field: Mapped[str] = mapped_column(String(16))
    content: Mapped[bytes | None] = mapped_column(LargeBinary)
    content_bytes: Mapped[int] = mapped_column(default=0)
    cleaned_content: Mapped[str | None]
    cleaned_bytes: Mapped[int] = mapped_column(default=0)
    title: Mapped[str | None]
    content_type: Mapped[str | None]
    fetched_at: Mapped[datetime]


class SourceVersion(Base):
    """An older original of a page, kept when DEDUP_KEEP_PAGES is a number above 1."""

    __tablename__ = "source_versions"
    __table_args__ = (Index("ix_source_versions_oldest", "project_id", "fetched_at", "page_key"),)

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    fetched_at: Mapped[datetime] = mapped_column(primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    content_bytes: Mapped[int]


class Document(Base):
    """What became of a page's content, and the state of its last acknowledged visit."""

    __tablename__ = "documents"
    __table_args__ = (
        Index(None, "run_id", "updated_at", "page_key"),
        # The pages of a domain that a complete run did not find; without it every run would read all documents.
        # In the order in which they are listed: an entry that moves does so from and to the end of its domain.
        Index("ix_documents_domain_newest", "project_id", "domain", "updated_at", "page_key"),
        Index("ix_documents_newest", "project_id", "updated_at", "page_key"),
        # Few pages are; every crawl asks which.
        Index("ix_documents_stale", "project_id", "page_key", sqlite_where=text("stale IS NOT NULL")),
    )

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    url: Mapped[str]
    domain: Mapped[str]
    run_id: Mapped[uuid.UUID | None]
    status: Mapped[str] = mapped_column(String(16))
    verdict: Mapped[str | None] = mapped_column(String(16))
    title: Mapped[str | None]
    canonical_url: Mapped[str | None]
    content_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    cleaned_hash: Mapped[bytes | None] = mapped_column(Key)
    chars_in: Mapped[int | None]
    chars_out: Mapped[int | None]
    sketch: Mapped[bytes | None] = mapped_column(LargeBinary)
    error: Mapped[str | None]
    updated_at: Mapped[datetime]
    etag: Mapped[str | None]
    last_modified: Mapped[str | None]
    validated_at: Mapped[datetime | None]
    first_seen_at: Mapped[datetime | None]
    last_seen_at: Mapped[datetime | None]
    last_changed_at: Mapped[datetime | None]
    blocks: Mapped[bytes | None] = mapped_column(LargeBinary)
    links_hash: Mapped[bytes | None] = mapped_column(Key)
    interval_seconds: Mapped[float | None]
    visits_count: Mapped[int] = mapped_column(default=0)
    changes_count: Mapped[int] = mapped_column(default=0)
    missed_runs: Mapped[int] = mapped_column(default=0)
    gone_at: Mapped[datetime | None]
    lastmod: Mapped[datetime | None]
    moved: Mapped[bytes | None] = mapped_column(LargeBinary)
    depth: Mapped[int | None]
    # Why its text is to be made anew, though the page did not change; NULL for most.
    stale: Mapped[str | None]


class CrawledUrl(Base):
    """The present state of one URL; an alias has its own row."""

    __tablename__ = "crawled_urls"
    __table_args__ = (
        # Aliases only: the others stand for the document with their own key.
        Index(None, "project_id", "document_key", sqlite_where=text("document_key <> page_key")),
    )

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    url: Mapped[str]
    domain: Mapped[str]
    status: Mapped[str] = mapped_column(String(16))
    http_status: Mapped[int | None]
    last_crawled_at: Mapped[datetime]
    run_id: Mapped[uuid.UUID | None]
    document_key: Mapped[bytes | None] = mapped_column(Key)
    alias_kind: Mapped[str | None] = mapped_column(String(16))


class Decision(Base):
    """What a layer decided about a page, and why."""

    __tablename__ = "decisions"
    __table_args__ = (Index("ix_decisions_oldest", "project_id", "decided_at", "page_key", "layer"),)

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    layer: Mapped[str] = mapped_column(String(32), primary_key=True)
    run_id: Mapped[uuid.UUID | None]
    action: Mapped[str] = mapped_column(String(32))
    reason: Mapped[str]
    detail: Mapped[bytes | None] = mapped_column(LargeBinary)
    decided_at: Mapped[datetime]


class Visit(Base):
    """One visit of a page, which may have been a 304 or none at all."""

    __tablename__ = "visits"
    __table_args__ = (
        # A visit written again is the same visit; a run's visits are read in this order, and grow at their end.
        UniqueConstraint("project_id", "run_id", "at", "page_key"),
        # What the bound drops next, and what happened since an instant: that is counted from here alone.
        Index("ix_visits_oldest", "project_id", "at", "id", "verdict"),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    project_id: Mapped[uuid.UUID] = of_project()
    # NO_RUN outside of one: two NULLs would not be equal.
    run_id: Mapped[uuid.UUID]
    page_key: Mapped[bytes] = mapped_column(Key)
    at: Mapped[datetime]
    http_status: Mapped[int | None]
    verdict: Mapped[str | None] = mapped_column(String(16))
    change_class: Mapped[str | None] = mapped_column(String(32))
    reason: Mapped[str]
    bytes_received: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float]
    callback_run: Mapped[bool]
    fetched: Mapped[str] = mapped_column(String(16))


class Extraction(Base):
    """What a callback made of one content of a page: enough to do without the callback next time."""

    __tablename__ = "extractions"
    # Covers the question which memos a page has.
    __table_args__ = (Index(None, "project_id", "page_key", "memo_key"),)

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    memo_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key)
    url: Mapped[str]
    domain: Mapped[str]
    content_hash: Mapped[bytes] = mapped_column(LargeBinary)
    callback: Mapped[str]
    dedup_version: Mapped[str | None]
    created_at: Mapped[datetime]
    # Packed JSON, last: SQLite reads a row from its beginning.
    cb_kwargs: Mapped[bytes | None] = mapped_column(LargeBinary)
    requests: Mapped[bytes] = mapped_column(LargeBinary)
    items: Mapped[bytes | None] = mapped_column(LargeBinary)


class DomainValidators(Base):
    """How far a domain's ETag and Last-Modified, and the dates in its sitemaps, can be trusted."""

    __tablename__ = "domain_validators"

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    sent: Mapped[int] = mapped_column(BigInteger)
    not_modified: Mapped[int] = mapped_column(BigInteger)
    useless: Mapped[int] = mapped_column(BigInteger)
    changed_304: Mapped[int] = mapped_column(BigInteger)
    lastmod_right: Mapped[int] = mapped_column(BigInteger)
    lastmod_wrong: Mapped[int] = mapped_column(BigInteger)


class DomainBoilerplate(Base):
    """What repeats on a domain; a row also means that the domain is known."""

    __tablename__ = "domain_boilerplate"
    __table_args__ = (UniqueConstraint("project_id", "domain", "method"),)

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    project_id: Mapped[uuid.UUID] = of_project()
    domain: Mapped[str]
    method: Mapped[str] = mapped_column(String(16))
    boilerplate_hashes: Mapped[list[str]] = mapped_column(JSON, default=list)
    evidence: Mapped[bytes | None] = mapped_column(LargeBinary)
    pages_analyzed: Mapped[int] = mapped_column(default=0)
    blocks_total: Mapped[int] = mapped_column(default=0)
    blocks_boilerplate: Mapped[int] = mapped_column(default=0)
    bytes_removed_avg: Mapped[int] = mapped_column(default=0)
    threshold_pct: Mapped[float] = mapped_column(default=0.7)
    min_pages: Mapped[int] = mapped_column(default=5)
    min_block_chars: Mapped[int] = mapped_column(default=50)
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)
