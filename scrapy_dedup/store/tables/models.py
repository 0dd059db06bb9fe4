"""The tables.

Every table but `projects` belongs to a project and goes with it (ON DELETE
CASCADE). Without a foreign key to `crawl_runs`, and without relationships:
deleting a run must not search through its rows, and rows are read by columns.

Page keys are random, so an index that begins with one costs every batch a
write all over the file. Tables have one such index each (`extractions`, which
are found by memo and by page, have two); the others are partial, or grow at
their end or at that of a domain.

A layout is named by the signature of level 1 that leads it, a signed 64-bit
number; REST stands for the pages of a domain that are of no known layout.
"""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Float,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from scrapy_dedup.store.tables.columns import Key, Number128, RowNumber, UtcDateTime, now

NO_RUN = uuid.UUID(int=0)  # what was written outside of one


class Base(DeclarativeBase):
    """Base of all tables; names of constraints are fixed, so that migrations can name them."""

    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        },
    )
    type_annotation_map = {uuid.UUID: Number128(), datetime: UtcDateTime(), str: Text(), float: Float()}  # noqa: RUF012 (SQLAlchemy's own form)


def of_project(*, primary_key: bool = False) -> Mapped[uuid.UUID]:
    """Return the column that lets a row go with its project."""
    return mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=primary_key)


class RunWorker(Base):
    """One crawler process of a run that several share."""

    __tablename__ = "run_workers"
    __table_args__ = (Index("ix_run_workers_run", "project_id", "run_id"),)

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    project_id: Mapped[uuid.UUID] = of_project()
    run_id: Mapped[uuid.UUID]
    # Host and process, for people.
    name: Mapped[str]
    status: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str | None]
    started_at: Mapped[datetime]
    # By the database's clock: those of several machines differ.
    lease_until: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    stats: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)


class Claim(Base):
    """A title or a text that a page of one worker of a run has, so that no other worker gives it."""

    __tablename__ = "claims"
    __table_args__ = (Index("ix_claims_project", "project_id"),)

    run_id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    kind: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    project_id: Mapped[uuid.UUID] = of_project()
    worker_id: Mapped[uuid.UUID]
    # The page that holds it.
    owner: Mapped[bytes] = mapped_column(Key)


class SeenScope(Base):
    """A queue whose URLs are remembered."""

    __tablename__ = "seen_scopes"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    project_id: Mapped[uuid.UUID] = of_project()
    # A JOBDIR, or a run.
    name: Mapped[str]
    begun_at: Mapped[datetime]


class SeenUrl(Base):
    """A request that a queue has taken. Ten million of them are normal: nothing but two numbers is in a row."""

    __tablename__ = "seen_urls"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 (SQLAlchemy's own form)

    scope_id: Mapped[int] = mapped_column(ForeignKey("seen_scopes.id", ondelete="CASCADE"), primary_key=True)
    fingerprint: Mapped[bytes] = mapped_column(Key, primary_key=True)


# What stands in modules of its own; whoever imports this one has all tables.
__all__ = [
    "NO_RUN",
    "Base",
    "CandidateRow",
    "Claim",
    "DiscoverySession",
    "DocumentChunk",
    "Domain",
    "LayoutAlarm",
    "LayoutPictureRow",
    "LayoutRun",
    "LayoutSignature",
    "LayoutTemplateRow",
    "NearDuplicate",
    "PageSignature",
    "RunWorker",
    "SeenScope",
    "SeenUrl",
    "SiteConfigRow",
    "UrlParameter",
]


# Of no page is this the signature: one in 2⁶⁴.
REST = 0
# Said in the words of the index below, or SQLite would not use it.
IS_LIVE = text("state = 'live'")
IS_OPEN = text("cleared_at IS NULL")


# Said in the words of the index below, or SQLite would not use it.
HAS_TITLE = text("title_key IS NOT NULL")


# Sorted by code points on PostgreSQL, too, and by an index, which has its column's order.
_NAME = Text().with_variant(Text(collation="C"), "postgresql")
_SORTED = ("status", "best_confidence_score", "pages", "boilerplate_share", "last_crawled_at")


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


class SourceRow(Base):
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
    # Packed JSON of what stands on an item beside the cleaned text.
    report: Mapped[bytes | None] = mapped_column(LargeBinary)


class Response(Base):
    """The newest answer to one URL as it came over the wire, to stand for a 304."""

    __tablename__ = "responses"
    # What the size bound drops next.
    __table_args__ = (Index("ix_responses_oldest", "project_id", "received_at", "wire_key"),)

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    wire_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    url: Mapped[str]
    domain: Mapped[str]
    etag: Mapped[str | None]
    last_modified: Mapped[str | None]
    received_at: Mapped[datetime]
    validated_at: Mapped[datetime]
    sent_hash: Mapped[bytes] = mapped_column(Key)
    cookie_hash: Mapped[bytes] = mapped_column(Key)
    body_hash: Mapped[bytes] = mapped_column(Key)
    body_bytes: Mapped[int]
    # Packed JSON.
    headers: Mapped[bytes] = mapped_column(LargeBinary)
    # Packed where the server did not do so; last: SQLite reads a row from its beginning.
    is_packed: Mapped[bool]
    body: Mapped[bytes] = mapped_column(LargeBinary)


class Delivery(Base):
    """Which items the last acknowledged visit of a page gave, by one spider."""

    __tablename__ = "deliveries"

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    # Of spider and callback.
    giver: Mapped[bytes] = mapped_column(Key, primary_key=True)
    domain: Mapped[str]
    at: Mapped[datetime]
    # See `DeliveryRecord`.
    items: Mapped[bytes] = mapped_column(LargeBinary)
    fields: Mapped[bytes] = mapped_column(LargeBinary)
    left_out: Mapped[bytes] = mapped_column(LargeBinary)


class Forgotten(Base):
    """A page that was delivered before all that is known of it was erased: its key, until a crawl has told that."""

    __tablename__ = "forgotten"

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key, primary_key=True)


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
    error: Mapped[str | None]
    updated_at: Mapped[datetime]
    etag: Mapped[str | None]
    last_modified: Mapped[str | None]
    validated_at: Mapped[datetime | None]
    first_seen_at: Mapped[datetime | None]
    last_seen_at: Mapped[datetime | None]
    last_changed_at: Mapped[datetime | None]
    blocks: Mapped[bytes | None] = mapped_column(LargeBinary)
    # Of the response as the spider saw it.
    body_hash: Mapped[bytes | None] = mapped_column(Key)
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


class VisitRow(Base):
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
    """What a callback yielded for one content of a page: enough to do without the callback next time."""

    __tablename__ = "extractions"
    # Covers the question which memos a page has.
    __table_args__ = (
        Index(None, "project_id", "page_key", "memo_key"),
        Index("ix_extractions_waiting", "run_id", sqlite_where=text("NOT is_usable")),
    )

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    memo_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key)
    url: Mapped[str]
    domain: Mapped[str]
    content_hash: Mapped[bytes] = mapped_column(LargeBinary)
    body_hash: Mapped[bytes | None] = mapped_column(Key)
    # Which run kept it, and whether that found at its end that its spider has no state.
    run_id: Mapped[uuid.UUID | None]
    is_usable: Mapped[bool] = mapped_column(default=False)
    callback: Mapped[str]
    dedup_version: Mapped[str | None]
    created_at: Mapped[datetime]
    # Packed JSON, last: SQLite reads a row from its beginning.
    cb_kwargs: Mapped[bytes | None] = mapped_column(LargeBinary)
    requests: Mapped[bytes] = mapped_column(LargeBinary)
    items: Mapped[bytes | None] = mapped_column(LargeBinary)


class Memo(Base):
    """What a costly function made of one text."""

    __tablename__ = "memos"
    # Covers what the bound of their bytes asks: how many there are, and which go first.
    __table_args__ = (Index("ix_memos_oldest", "project_id", "created_at", "key", "size_bytes"),)

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    key: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    # For people; it is part of the key.
    function: Mapped[str]
    created_at: Mapped[datetime]
    size_bytes: Mapped[int]
    result: Mapped[bytes] = mapped_column(LargeBinary)


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


class LayoutSignature(Base):
    """A signature that pages of a domain have, and the layout that it belongs to."""

    __tablename__ = "layout_signatures"

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    level: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    signature_hash: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    # The layout, whose template it maps to; NULL where no layout is near.
    template_id: Mapped[int | None] = mapped_column(BigInteger)
    seen_count: Mapped[int] = mapped_column(BigInteger)
    first_seen_at: Mapped[datetime]
    last_seen_at: Mapped[datetime]
    algorithm_version: Mapped[int]


class LayoutRun(Base):
    """How many pages of a layout a run met."""

    __tablename__ = "layout_runs"

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    layout: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    # NO_RUN outside of one.
    run_id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    pages: Mapped[int] = mapped_column(BigInteger)
    first_url: Mapped[str]
    counted_at: Mapped[datetime]


class LayoutTemplateRow(Base):
    """A version of how the pages of a layout are cut."""

    __tablename__ = "layout_templates"
    __table_args__ = (
        UniqueConstraint("project_id", "domain", "layout", "version"),
        # A layout has one live version, and a crawl asks for no other.
        Index("ix_layout_templates_live", "project_id", "domain", "layout", unique=True, sqlite_where=IS_LIVE),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    project_id: Mapped[uuid.UUID] = of_project()
    domain: Mapped[str]
    layout: Mapped[int] = mapped_column(BigInteger)
    structure: Mapped[int] = mapped_column(BigInteger)
    version: Mapped[int]
    state: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str]
    kind: Mapped[str]
    url_pattern: Mapped[str | None]
    fingerprint: Mapped[str]
    confidence: Mapped[float]
    pages: Mapped[int]
    source: Mapped[str] = mapped_column(String(16))
    model: Mapped[str] = mapped_column(String(16))
    algorithm_version: Mapped[int]
    created_at: Mapped[datetime]
    state_at: Mapped[datetime]
    selectors: Mapped[dict[str, Any]] = mapped_column(JSON)
    overrides: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    # Packed JSON, last: SQLite reads a row from its beginning.
    paths: Mapped[bytes] = mapped_column(LargeBinary)
    body: Mapped[bytes] = mapped_column(LargeBinary)


class LayoutAlarm(Base):
    """That a layout's template ceased to fit its pages, and until when."""

    __tablename__ = "layout_alarms"
    __table_args__ = (
        # A layout has one alarm at a time.
        Index("ix_layout_alarms_open", "project_id", "domain", "layout", unique=True, sqlite_where=IS_OPEN),
    )

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    layout: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    raised_at: Mapped[datetime] = mapped_column(primary_key=True)
    cause: Mapped[str]
    pages_failed: Mapped[int]
    pages_looked: Mapped[int]
    first_failed_at: Mapped[datetime]
    cleared_at: Mapped[datetime | None]


class LayoutPictureRow(Base):
    """How a page of a layout looks, and what stands where on it; the newest one alone."""

    __tablename__ = "layout_pictures"

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    layout: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    url: Mapped[str]
    made_at: Mapped[datetime]
    # Of the picture, in pixels of the page.
    width: Mapped[int]
    height: Mapped[int]
    boxes: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    # PNG; last: SQLite reads a row from its beginning.
    picture: Mapped[bytes] = mapped_column(LargeBinary)


class UrlParameter(Base):
    """How often pages of a domain were the same, and were not, with and without a parameter, or with other values."""

    __tablename__ = "url_parameters"

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    same: Mapped[int]
    different: Mapped[int]
    # It is left out of page keys.
    ignored: Mapped[bool]
    seen_at: Mapped[datetime]


class PageSignature(Base):
    """By what a page that went out, or was dropped for another, is found again by others.

    It belongs to the page's version that its document is in work with, or completed.
    """

    __tablename__ = "page_signatures"
    __table_args__ = (
        UniqueConstraint("project_id", "page_key"),
        Index("ix_page_signatures_title", "project_id", "domain", "title_key", sqlite_where=HAS_TITLE),
        Index("ix_page_signatures_text", "project_id", "text_hash"),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    project_id: Mapped[uuid.UUID] = of_project()
    page_key: Mapped[bytes] = mapped_column(Key)
    domain: Mapped[str]
    title_key: Mapped[bytes | None] = mapped_column(Key)
    text_hash: Mapped[bytes] = mapped_column(Key)
    language: Mapped[str] = mapped_column(String(16), default="")
    version: Mapped[str] = mapped_column(String(32))
    shingles: Mapped[int]
    # The layer that dropped it, the page that stands for it, and how alike they are; it may have one and go out.
    layer: Mapped[str | None] = mapped_column(String(16))
    keeper: Mapped[bytes | None] = mapped_column(Key)
    jaccard: Mapped[float | None]
    signature: Mapped[bytes] = mapped_column(LargeBinary)
    # Its keys in `near_duplicates`, so that they can be deleted; empty for a page that has a keeper.
    bands: Mapped[bytes] = mapped_column(LargeBinary)


class NearDuplicate(Base):
    """A part of a signature, and a page that has it: pages that share one may be nearly the same.

    Project, scope and language are part of the key. Twenty rows a page: nothing but numbers is in them, and whoever
    deletes a page's signature deletes them.
    """

    __tablename__ = "near_duplicates"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 (SQLAlchemy's own form)

    band: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    page: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)


class DocumentChunk(Base):
    """A chunk of a page's text, given or left out."""

    __tablename__ = "document_chunks"
    # Who holds a text, and who waits for it: the first of thousands is found at once. The text comes first: SQLite
    # takes a project for few rows, and looked for the chunks of some pages in all that an index had of it.
    __table_args__ = (Index("ix_document_chunks_content", "content_hash", "project_id", "state", "page_key"),)

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    chunk_id: Mapped[str] = mapped_column(String(16))
    # The first 16 bytes of its SHA-256.
    content_hash: Mapped[bytes] = mapped_column(Key)
    # added, kept, due or removed
    state: Mapped[str] = mapped_column(String(8))
    # The page that gives it in place of this one; NULL where it was left out for another reason.
    holder: Mapped[bytes | None] = mapped_column(Key)
    layer: Mapped[str | None] = mapped_column(String(16))
    reason: Mapped[str | None]
    kind: Mapped[str] = mapped_column(String(8))
    language: Mapped[str | None] = mapped_column(String(16))
    chars: Mapped[int]
    size: Mapped[int]
    sample: Mapped[str]


class SiteConfigRow(Base):
    """What a person decided about a domain's pages: selectors, expressions, and what is to stay."""

    __tablename__ = "site_config"

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int]
    config: Mapped[dict[str, Any]] = mapped_column(JSON)
    updated_at: Mapped[datetime] = mapped_column(default=now)


class DiscoverySession(Base):
    """One reading of search results."""

    __tablename__ = "discovery_session"
    __table_args__ = (Index(None, "project_id", "started_at"),)

    session_id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    project_id: Mapped[uuid.UUID] = of_project()
    name: Mapped[str]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    # Outcome to number of URLs.
    counts: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)


class Domain(Base):
    """A domain, what is decided about it, and how good it was; the names of columns are the seed's where it has one."""

    __tablename__ = "domain"
    __table_args__ = (
        UniqueConstraint("project_id", "domain_name"),
        # What a table of a hundred thousand domains is sorted by.
        *(Index(f"ix_domain_{column}", "project_id", column, "domain_name") for column in _SORTED),
        # How many twins there are: few domains have one.
        Index("ix_domain_twins", "project_id", "joined_to", sqlite_where=text("twin IS NOT NULL")),
    )

    domain_id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    project_id: Mapped[uuid.UUID] = of_project()
    domain_name: Mapped[str] = mapped_column(_NAME)
    status: Mapped[str] = mapped_column(String(32))
    # What it was before it was blacklisted.
    status_before: Mapped[str | None] = mapped_column(String(32))
    discovery_session_id: Mapped[uuid.UUID | None]
    high_quality_candidate_count: Mapped[int] = mapped_column(default=0)
    low_quality_candidate_count: Mapped[int] = mapped_column(default=0)
    best_confidence_score: Mapped[float | None]
    mean_confidence_score: Mapped[float | None]
    pages: Mapped[int] = mapped_column(default=0)
    chars_in: Mapped[int] = mapped_column(BigInteger, default=0)
    chars_out: Mapped[int] = mapped_column(BigInteger, default=0)
    # 1 - chars_out / chars_in, stored to be sorted by.
    boilerplate_share: Mapped[float] = mapped_column(default=0.0)
    errors: Mapped[int] = mapped_column(default=0)
    last_crawled_at: Mapped[datetime | None]
    blacklisted_at: Mapped[datetime | None]
    blacklisted_by: Mapped[str | None]
    blacklist_reason: Mapped[str | None]
    blacklist_expires_at: Mapped[datetime | None]
    # The same name with, or without, `www.`, where that is registered, too; and the name that stands for both, once
    # so many pages of both were alike.
    twin: Mapped[str | None]
    joined_to: Mapped[str | None]
    pages_alike: Mapped[int] = mapped_column(default=0)
    pages_unlike: Mapped[int] = mapped_column(default=0)
    discovered_at: Mapped[datetime]
    last_processed_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)


class CandidateRow(Base):
    """A URL that a search engine proposed, and that was worth a look when it was."""

    __tablename__ = "candidates"
    __table_args__ = (
        Index("ix_candidates_domain_name", "project_id", "domain_name", "id"),
        Index("ix_candidates_session_id", "project_id", "session_id", "id"),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    project_id: Mapped[uuid.UUID] = of_project()
    url: Mapped[str]
    engine: Mapped[str]
    session_id: Mapped[uuid.UUID]
    domain_name: Mapped[str] = mapped_column(_NAME)
    outcome: Mapped[str] = mapped_column(String(16))
    title: Mapped[str | None]
    # What the engine said of it, 0.0 to 1.0, and at which place it stood.
    confidence: Mapped[float | None]
    rank: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
