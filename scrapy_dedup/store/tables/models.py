"""The tables.

Every table but `projects` belongs to a project and goes with it (ON DELETE CASCADE). Without a foreign key to
`crawl_runs`, and without relationships: deleting a run must not search through its rows, and rows are read by columns.

Page keys are random, so an index that begins with one costs every batch a write all over the file. Tables have one such
index each (`extractions`, which are found by memo and by page, have two); the others are partial, or grow at their end
or at that of a domain.

A layout is named by the signature of level 1 that leads it, a signed 64-bit
number; REST stands for the pages of a domain that are of no known layout.
"""

import uuid
from copy import copy
from datetime import datetime
from inspect import get_annotations
from typing import Any, ClassVar, get_args

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ColumnClause,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine

from scrapy_dedup.store.tables.columns import Key, Number128, RowNumber, UtcDateTime, now

NO_RUN = uuid.UUID(int=0)  # what was written outside of one
_TYPES: dict[type, TypeEngine[Any]] = {
    uuid.UUID: Number128(),
    datetime: UtcDateTime(),
    str: Text(),
    float: Float(),
    int: Integer(),
    bool: Boolean(),
    bytes: LargeBinary(),
}


class Base:
    """Base of all tables; names of constraints are fixed, so that migrations can name them.

    A class is a table, its annotations are the columns. SQLAlchemy's own declarative classes do the same for objects
    in sessions, which nobody has here, and a crawl would wait for them at its start.
    """

    metadata: ClassVar[MetaData] = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        }
    )
    __tablename__: ClassVar[str]
    __table_args__: ClassVar[Any] = ()
    __table__: ClassVar[Table]

    def __init_subclass__(cls) -> None:
        """Make the table, with the columns that several have in common first; the class has them as attributes."""
        if "__tablename__" not in cls.__dict__:
            return
        bases = [one for one in reversed(cls.__mro__) if issubclass(one, Base) and one is not Base]
        columns = [_made(*one, vars(of).get(one[0])) for of in bases for one in get_annotations(of).items()]
        given = cls.__table_args__
        parts, options = ((), given) if isinstance(given, dict) else (given, {})
        cls.__table__ = Table(cls.__tablename__, cls.metadata, *columns, *parts, **options)
        for one in columns:
            setattr(cls, one.name, one)

    @classmethod
    def __clause_element__(cls) -> Table:
        """Return the table, by which SQLAlchemy takes the class wherever it takes a table."""
        return cls.__table__


def column(*parts: Any, **options: Any) -> Any:
    """Say of a column what its annotation, which has its type in Python, does not: what `Column` is given."""
    return parts, options


def of_project(*, primary_key: bool = False) -> Any:
    """Return the column that lets a row go with its project."""
    return column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=primary_key)


def _made(name: str, hint: Any, said: tuple[tuple[Any, ...], dict[str, Any]] | None) -> Column[Any]:
    """Return a column by its annotation, `ColumnClause[type]` or `ColumnClause[type | None]`, and what is said."""
    parts, options = said or ((), {})
    (kind,) = get_args(hint)
    kinds = get_args(kind)
    is_null = type(None) in kinds
    if is_null:
        kind = next(one for one in kinds if one is not type(None))
    # One that refers to another has that one's type.
    return Column(name, *(map(copy, parts) if parts else (_TYPES[kind],)), nullable=is_null, **options)


class ProjectTable(Base):
    """What is of a project, by its key."""

    project_id: ColumnClause[uuid.UUID] = of_project(primary_key=True)


class OfPage(ProjectTable):
    """What is of one of its pages."""

    page_key: ColumnClause[bytes] = column(Key, primary_key=True)


class OfDomain(ProjectTable):
    """What is of one of its domains."""

    domain: ColumnClause[str] = column(primary_key=True)


class Numbered(Base):
    """What is of a project, by a number of its own."""

    id: ColumnClause[int] = column(RowNumber, primary_key=True)
    project_id: ColumnClause[uuid.UUID] = of_project()


class RunWorker(Base):
    """One crawler process of a run that several share."""

    __tablename__ = "run_workers"
    __table_args__ = (Index("ix_run_workers_run", "project_id", "run_id"),)

    id: ColumnClause[uuid.UUID] = column(primary_key=True)
    project_id: ColumnClause[uuid.UUID] = of_project()
    run_id: ColumnClause[uuid.UUID]
    # Host and process, for people.
    name: ColumnClause[str]
    status: ColumnClause[str] = column(String(16))
    reason: ColumnClause[str | None]
    started_at: ColumnClause[datetime]
    # By the database's clock: those of several machines differ.
    lease_until: ColumnClause[datetime]
    finished_at: ColumnClause[datetime | None]
    stats: ColumnClause[dict[str, Any]] = column(JSON, default=dict)


class Claim(Base):
    """A title or a text that a page of one worker of a run has, so that no other gives it; and that page."""

    __tablename__ = "claims"
    __table_args__ = (Index("ix_claims_project", "project_id"),)

    run_id: ColumnClause[uuid.UUID] = column(primary_key=True)
    kind: ColumnClause[int] = column(SmallInteger, primary_key=True, autoincrement=False)
    key: ColumnClause[bytes] = column(Key, primary_key=True)
    project_id: ColumnClause[uuid.UUID] = of_project()
    worker_id: ColumnClause[uuid.UUID]
    # The page that holds it.
    owner: ColumnClause[bytes] = column(Key)
    # Of a page: what it shows, with the fields of its items, and whether it goes out whatever others do.
    shown: ColumnClause[bytes | None] = column(LargeBinary)
    is_out: ColumnClause[bool]


class SeenScope(Numbered):
    """A queue whose URLs are remembered."""

    __tablename__ = "seen_scopes"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    # A JOBDIR, or a run.
    name: ColumnClause[str]
    begun_at: ColumnClause[datetime]


class SeenUrl(Base):
    """A request that a queue has taken. Ten million of them are normal: nothing but two numbers is in a row."""

    __tablename__ = "seen_urls"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 (SQLAlchemy's own form)

    scope_id: ColumnClause[int] = column(ForeignKey("seen_scopes.id", ondelete="CASCADE"), primary_key=True)
    fingerprint: ColumnClause[bytes] = column(Key, primary_key=True)


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

    id: ColumnClause[uuid.UUID] = column(primary_key=True, default=uuid.uuid4)
    name: ColumnClause[str] = column(unique=True)
    # Packed originals and cleaned texts, kept up to date by every write: a sum over all pages is too slow.
    stored_bytes: ColumnClause[int] = column(BigInteger, default=0)
    created_at: ColumnClause[datetime] = column(default=now)


class CrawlRun(Base):
    """One crawl; with JOBDIR a crawl that was stopped and resumed is one run."""

    __tablename__ = "crawl_runs"
    __table_args__ = (Index(None, "project_id", "started_at"),)

    id: ColumnClause[uuid.UUID] = column(primary_key=True, default=uuid.uuid4)
    project_id: ColumnClause[uuid.UUID] = of_project()
    spider: ColumnClause[str]
    jobdir: ColumnClause[str | None]
    status: ColumnClause[str] = column(String(16))
    reason: ColumnClause[str | None]
    started_at: ColumnClause[datetime]
    finished_at: ColumnClause[datetime | None]
    stats: ColumnClause[dict[str, Any]] = column(JSON, default=dict)
    # When the pages that it did not find were counted, which happens once: NULL until then.
    missed_counted_at: ColumnClause[datetime | None]
    # When it last said how it stands, in `stats`; NULL for one that never did.
    seen_at: ColumnClause[datetime | None]


class SourceRow(Numbered):
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

    page_key: ColumnClause[bytes] = column(Key)
    url: ColumnClause[str]
    domain: ColumnClause[str]
    source_group: ColumnClause[str | None]
    field: ColumnClause[str] = column(String(16))
    content: ColumnClause[bytes | None] = column(LargeBinary)
    content_bytes: ColumnClause[int] = column(default=0)
    cleaned_content: ColumnClause[str | None]
    cleaned_bytes: ColumnClause[int] = column(default=0)
    title: ColumnClause[str | None]
    content_type: ColumnClause[str | None]
    fetched_at: ColumnClause[datetime]
    # Packed JSON of what stands on an item beside the cleaned text.
    report: ColumnClause[bytes | None] = column(LargeBinary)


class Response(ProjectTable):
    """The newest answer to one URL as it came over the wire, to stand for a 304."""

    __tablename__ = "responses"
    # What the size bound drops next.
    __table_args__ = (Index("ix_responses_oldest", "project_id", "received_at", "wire_key"),)

    wire_key: ColumnClause[bytes] = column(Key, primary_key=True)
    url: ColumnClause[str]
    domain: ColumnClause[str]
    etag: ColumnClause[str | None]
    last_modified: ColumnClause[str | None]
    received_at: ColumnClause[datetime]
    validated_at: ColumnClause[datetime]
    sent_hash: ColumnClause[bytes] = column(Key)
    cookie_hash: ColumnClause[bytes] = column(Key)
    body_hash: ColumnClause[bytes] = column(Key)
    body_bytes: ColumnClause[int]
    # Packed JSON.
    headers: ColumnClause[bytes] = column(LargeBinary)
    # Packed where the server did not do so; last: SQLite reads a row from its beginning.
    is_packed: ColumnClause[bool]
    body: ColumnClause[bytes] = column(LargeBinary)


class DeliveryRow(OfPage):
    """Which items the visits of a page in the last run gave, by one spider."""

    __tablename__ = "deliveries"

    # Of spider and callback.
    giver: ColumnClause[bytes] = column(Key, primary_key=True)
    domain: ColumnClause[str]
    at: ColumnClause[datetime]
    # See `DeliveryRecord`.
    items: ColumnClause[bytes] = column(LargeBinary)
    fields: ColumnClause[bytes] = column(LargeBinary)
    left_out: ColumnClause[bytes] = column(LargeBinary)


class Forgotten(OfPage):
    """A page that was delivered before all that is known of it was erased: its key, until a crawl has told that."""

    __tablename__ = "forgotten"


class SourceVersion(OfPage):
    """An older original of a page, kept when DEDUP_KEEP_PAGES is a number above 1."""

    __tablename__ = "source_versions"
    __table_args__ = (Index("ix_source_versions_oldest", "project_id", "fetched_at", "page_key"),)

    fetched_at: ColumnClause[datetime] = column(primary_key=True)
    content: ColumnClause[bytes] = column(LargeBinary)
    content_bytes: ColumnClause[int]


class Document(OfPage):
    """What became of a page's content, and the state of its last acknowledged visit."""

    __tablename__ = "documents"
    __table_args__ = (
        Index(None, "run_id", "updated_at", "page_key"),
        # The pages of a domain that a complete run did not find; without it every run would read all documents.
        # In the order in which they are listed: an entry that moves does so from and to the end of its domain.
        Index("ix_documents_domain_newest", "project_id", "domain", "updated_at", "page_key"),
        Index("ix_documents_newest", "project_id", "updated_at", "page_key"),
    )

    url: ColumnClause[str]
    domain: ColumnClause[str]
    run_id: ColumnClause[uuid.UUID | None]
    status: ColumnClause[str] = column(String(16))
    verdict: ColumnClause[str | None] = column(String(16))
    title: ColumnClause[str | None]
    canonical_url: ColumnClause[str | None]
    content_hash: ColumnClause[bytes | None] = column(LargeBinary)
    cleaned_hash: ColumnClause[bytes | None] = column(Key)
    chars_in: ColumnClause[int | None]
    chars_out: ColumnClause[int | None]
    error: ColumnClause[str | None]
    updated_at: ColumnClause[datetime]
    etag: ColumnClause[str | None]
    last_modified: ColumnClause[str | None]
    validated_at: ColumnClause[datetime | None]
    first_seen_at: ColumnClause[datetime | None]
    last_seen_at: ColumnClause[datetime | None]
    last_changed_at: ColumnClause[datetime | None]
    blocks: ColumnClause[bytes | None] = column(LargeBinary)
    # Of the response as the spider saw it.
    body_hash: ColumnClause[bytes | None] = column(Key)
    interval_seconds: ColumnClause[float | None]
    visits_count: ColumnClause[int] = column(default=0)
    changes_count: ColumnClause[int] = column(default=0)
    missed_runs: ColumnClause[int] = column(default=0)
    gone_at: ColumnClause[datetime | None]
    lastmod: ColumnClause[datetime | None]
    depth: ColumnClause[int | None]
    # Of the page that led to it when it was last seen; NULL where none did, or where it is not known.
    parent_key: ColumnClause[bytes | None] = column(Key)
    # Why its text is to be made anew, though the page did not change; NULL for most.
    stale: ColumnClause[str | None]


class CrawledUrl(OfPage):
    """The present state of one URL; an alias has its own row."""

    __tablename__ = "crawled_urls"
    __table_args__ = (
        # Aliases only: the others stand for the document with their own key.
        Index(None, "project_id", "document_key", sqlite_where=text("document_key <> page_key")),
    )

    url: ColumnClause[str]
    domain: ColumnClause[str]
    status: ColumnClause[str] = column(String(16))
    http_status: ColumnClause[int | None]
    last_crawled_at: ColumnClause[datetime]
    run_id: ColumnClause[uuid.UUID | None]
    document_key: ColumnClause[bytes | None] = column(Key)
    alias_kind: ColumnClause[str | None] = column(String(16))


class Decision(OfPage):
    """What a layer decided about a page, and why."""

    __tablename__ = "decisions"
    __table_args__ = (Index("ix_decisions_oldest", "project_id", "decided_at", "page_key", "layer"),)

    layer: ColumnClause[str] = column(String(32), primary_key=True)
    run_id: ColumnClause[uuid.UUID | None]
    action: ColumnClause[str] = column(String(32))
    reason: ColumnClause[str]
    detail: ColumnClause[bytes | None] = column(LargeBinary)
    decided_at: ColumnClause[datetime]


class VisitRow(Numbered):
    """One visit of a page, which may have been a 304 or none at all."""

    __tablename__ = "visits"
    __table_args__ = (
        # A visit written again is the same visit; a run's visits are read in this order, and grow at their end.
        UniqueConstraint("project_id", "run_id", "at", "page_key"),
        # What the bound drops next, and what happened since an instant: that is counted from here alone.
        Index("ix_visits_oldest", "project_id", "at", "id", "verdict"),
    )

    # NO_RUN outside of one: two NULLs would not be equal.
    run_id: ColumnClause[uuid.UUID]
    page_key: ColumnClause[bytes] = column(Key)
    at: ColumnClause[datetime]
    http_status: ColumnClause[int | None]
    verdict: ColumnClause[str | None] = column(String(16))
    change_class: ColumnClause[str | None] = column(String(32))
    reason: ColumnClause[str]
    bytes_received: ColumnClause[int] = column(BigInteger)
    seconds: ColumnClause[float]
    callback_run: ColumnClause[bool]
    fetched: ColumnClause[str] = column(String(16))


class Extraction(ProjectTable):
    """What a callback yielded for one content of a page: enough to do without the callback next time."""

    __tablename__ = "extractions"
    # Covers the question which memos a page has.
    __table_args__ = (
        Index(None, "project_id", "page_key", "memo_key"),
        Index("ix_extractions_waiting", "run_id", sqlite_where=text("NOT is_usable")),
    )

    memo_key: ColumnClause[bytes] = column(Key, primary_key=True)
    page_key: ColumnClause[bytes] = column(Key)
    url: ColumnClause[str]
    domain: ColumnClause[str]
    content_hash: ColumnClause[bytes] = column(LargeBinary)
    body_hash: ColumnClause[bytes | None] = column(Key)
    # Which run kept it, and whether that found at its end that its spider has no state.
    run_id: ColumnClause[uuid.UUID | None]
    is_usable: ColumnClause[bool] = column(default=False)
    callback: ColumnClause[str]
    dedup_version: ColumnClause[str | None]
    created_at: ColumnClause[datetime]
    # Packed JSON, last: SQLite reads a row from its beginning.
    cb_kwargs: ColumnClause[bytes | None] = column(LargeBinary)
    requests: ColumnClause[bytes] = column(LargeBinary)
    items: ColumnClause[bytes | None] = column(LargeBinary)


class Memo(ProjectTable):
    """What a costly function made of one text."""

    __tablename__ = "memos"
    # Covers what the bound of their bytes asks: how many there are, and which go first.
    __table_args__ = (Index("ix_memos_oldest", "project_id", "created_at", "key", "size_bytes"),)

    key: ColumnClause[bytes] = column(LargeBinary(32), primary_key=True)
    # For people; it is part of the key.
    function: ColumnClause[str]
    created_at: ColumnClause[datetime]
    size_bytes: ColumnClause[int]
    result: ColumnClause[bytes] = column(LargeBinary)


class DomainValidators(OfDomain):
    """How far a domain's ETag and Last-Modified, and the dates in its sitemaps, can be trusted."""

    __tablename__ = "domain_validators"

    sent: ColumnClause[int] = column(BigInteger)
    not_modified: ColumnClause[int] = column(BigInteger)
    useless: ColumnClause[int] = column(BigInteger)
    changed_304: ColumnClause[int] = column(BigInteger)
    lastmod_right: ColumnClause[int] = column(BigInteger)
    lastmod_wrong: ColumnClause[int] = column(BigInteger)


class DomainBoilerplate(Base):
    """What repeats on a domain; a row also means that the domain is known."""

    __tablename__ = "domain_boilerplate"
    __table_args__ = (UniqueConstraint("project_id", "domain", "method"),)

    id: ColumnClause[uuid.UUID] = column(primary_key=True, default=uuid.uuid4)
    project_id: ColumnClause[uuid.UUID] = of_project()
    domain: ColumnClause[str]
    method: ColumnClause[str] = column(String(16))
    boilerplate_hashes: ColumnClause[list[str]] = column(JSON, default=list)
    evidence: ColumnClause[bytes | None] = column(LargeBinary)
    pages_analyzed: ColumnClause[int] = column(default=0)
    blocks_total: ColumnClause[int] = column(default=0)
    blocks_boilerplate: ColumnClause[int] = column(default=0)
    bytes_removed_avg: ColumnClause[int] = column(default=0)
    threshold_pct: ColumnClause[float] = column(default=0.7)
    min_pages: ColumnClause[int] = column(default=5)
    min_block_chars: ColumnClause[int] = column(default=50)
    created_at: ColumnClause[datetime] = column(default=now)
    updated_at: ColumnClause[datetime] = column(default=now)


class LayoutSignature(OfDomain):
    """A signature that pages of a domain have, and the layout that it belongs to."""

    __tablename__ = "layout_signatures"

    level: ColumnClause[int] = column(primary_key=True, autoincrement=False)
    signature_hash: ColumnClause[int] = column(BigInteger, primary_key=True, autoincrement=False)
    # The layout, whose template it maps to; NULL where no layout is near.
    template_id: ColumnClause[int | None] = column(BigInteger)
    seen_count: ColumnClause[int] = column(BigInteger)
    first_seen_at: ColumnClause[datetime]
    last_seen_at: ColumnClause[datetime]
    algorithm_version: ColumnClause[int]


class LayoutRun(OfDomain):
    """How many pages of a layout a run met."""

    __tablename__ = "layout_runs"

    layout: ColumnClause[int] = column(BigInteger, primary_key=True, autoincrement=False)
    # NO_RUN outside of one.
    run_id: ColumnClause[uuid.UUID] = column(primary_key=True)
    pages: ColumnClause[int] = column(BigInteger)
    first_url: ColumnClause[str]
    counted_at: ColumnClause[datetime]


class LayoutTemplateRow(Numbered):
    """A version of how the pages of a layout are cut."""

    __tablename__ = "layout_templates"
    __table_args__ = (
        UniqueConstraint("project_id", "domain", "layout", "version"),
        # A layout has one live version, and a crawl asks for no other.
        Index("ix_layout_templates_live", "project_id", "domain", "layout", unique=True, sqlite_where=IS_LIVE),
    )

    domain: ColumnClause[str]
    layout: ColumnClause[int] = column(BigInteger)
    structure: ColumnClause[int] = column(BigInteger)
    version: ColumnClause[int]
    state: ColumnClause[str] = column(String(16))
    reason: ColumnClause[str]
    kind: ColumnClause[str]
    url_pattern: ColumnClause[str | None]
    fingerprint: ColumnClause[str]
    confidence: ColumnClause[float]
    pages: ColumnClause[int]
    source: ColumnClause[str] = column(String(16))
    model: ColumnClause[str] = column(String(16))
    algorithm_version: ColumnClause[int]
    created_at: ColumnClause[datetime]
    state_at: ColumnClause[datetime]
    selectors: ColumnClause[dict[str, Any]] = column(JSON)
    overrides: ColumnClause[list[dict[str, Any]]] = column(JSON)
    # Packed JSON, last: SQLite reads a row from its beginning.
    paths: ColumnClause[bytes] = column(LargeBinary)
    body: ColumnClause[bytes] = column(LargeBinary)


class LayoutAlarm(OfDomain):
    """That a layout's template ceased to fit its pages, and until when."""

    __tablename__ = "layout_alarms"
    __table_args__ = (
        # A layout has one alarm at a time.
        Index("ix_layout_alarms_open", "project_id", "domain", "layout", unique=True, sqlite_where=IS_OPEN),
    )

    layout: ColumnClause[int] = column(BigInteger, primary_key=True, autoincrement=False)
    raised_at: ColumnClause[datetime] = column(primary_key=True)
    cause: ColumnClause[str]
    pages_failed: ColumnClause[int]
    pages_looked: ColumnClause[int]
    first_failed_at: ColumnClause[datetime]
    cleared_at: ColumnClause[datetime | None]


class LayoutPictureRow(OfDomain):
    """How a page of a layout looks, and what stands where on it; the newest one alone."""

    __tablename__ = "layout_pictures"

    layout: ColumnClause[int] = column(BigInteger, primary_key=True, autoincrement=False)
    url: ColumnClause[str]
    made_at: ColumnClause[datetime]
    # Of the picture, in pixels of the page.
    width: ColumnClause[int]
    height: ColumnClause[int]
    boxes: ColumnClause[list[dict[str, Any]]] = column(JSON)
    # PNG; last: SQLite reads a row from its beginning.
    picture: ColumnClause[bytes] = column(LargeBinary)


class UrlParameter(OfDomain):
    """How often pages of a domain were the same, and were not, with and without a parameter, or with other values."""

    __tablename__ = "url_parameters"

    name: ColumnClause[str] = column(primary_key=True)
    same: ColumnClause[int]
    different: ColumnClause[int]
    # It is left out of page keys.
    ignored: ColumnClause[bool]
    seen_at: ColumnClause[datetime]


class PageSignature(Numbered):
    """By what a page that went out, or was dropped for another, is found again by others.

    It belongs to the page's version that its document is in work with, or completed.
    """

    __tablename__ = "page_signatures"
    __table_args__ = (
        UniqueConstraint("project_id", "page_key"),
        Index("ix_page_signatures_title", "project_id", "domain", "title_key", sqlite_where=HAS_TITLE),
        Index("ix_page_signatures_text", "project_id", "text_hash"),
    )

    page_key: ColumnClause[bytes] = column(Key)
    domain: ColumnClause[str]
    title_key: ColumnClause[bytes | None] = column(Key)
    text_hash: ColumnClause[bytes] = column(Key)
    language: ColumnClause[str] = column(String(16), default="")
    version: ColumnClause[str] = column(String(32))
    shingles: ColumnClause[int]
    # The layer that dropped it, the page that stands for it, and how alike they are; it may have one and go out.
    layer: ColumnClause[str | None] = column(String(16))
    keeper: ColumnClause[bytes | None] = column(Key)
    jaccard: ColumnClause[float | None]
    signature: ColumnClause[bytes] = column(LargeBinary)
    # Its keys in `near_duplicates`, so that they can be deleted; empty for a page that has a keeper.
    bands: ColumnClause[bytes] = column(LargeBinary)


class NearDuplicate(Base):
    """A part of a signature, and a page that has it: pages that share one may be nearly the same.

    Project, scope and language are part of the key. Twenty rows a page: nothing but numbers is in them, and whoever
    deletes a page's signature deletes them.
    """

    __tablename__ = "near_duplicates"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 (SQLAlchemy's own form)

    band: ColumnClause[int] = column(BigInteger, primary_key=True, autoincrement=False)
    page: ColumnClause[int] = column(BigInteger, primary_key=True, autoincrement=False)


class DocumentChunk(OfPage):
    """A chunk of a page's text, given or left out."""

    __tablename__ = "document_chunks"
    # Who holds a text, and who waits for it: the first of thousands is found at once. The text comes first: SQLite
    # takes a project for few rows, and looked for the chunks of some pages in all that an index had of it.
    __table_args__ = (Index("ix_document_chunks_content", "content_hash", "project_id", "state", "page_key"),)

    position: ColumnClause[int] = column(primary_key=True, autoincrement=False)
    chunk_id: ColumnClause[str] = column(String(16))
    # The first 16 bytes of its SHA-256.
    content_hash: ColumnClause[bytes] = column(Key)
    # added, kept, due or removed
    state: ColumnClause[str] = column(String(8))
    # The page that gives it in place of this one; NULL where it was left out for another reason.
    holder: ColumnClause[bytes | None] = column(Key)
    layer: ColumnClause[str | None] = column(String(16))
    reason: ColumnClause[str | None]
    kind: ColumnClause[str] = column(String(8))
    language: ColumnClause[str | None] = column(String(16))
    chars: ColumnClause[int]
    size: ColumnClause[int]
    sample: ColumnClause[str]


class SiteConfigRow(OfDomain):
    """What a person decided about a domain's pages: selectors, expressions, and what is to stay."""

    __tablename__ = "site_config"

    version: ColumnClause[int]
    config: ColumnClause[dict[str, Any]] = column(JSON)
    updated_at: ColumnClause[datetime] = column(default=now)


class DiscoverySession(Base):
    """One reading of search results."""

    __tablename__ = "discovery_session"
    __table_args__ = (Index(None, "project_id", "started_at"),)

    session_id: ColumnClause[uuid.UUID] = column(primary_key=True, default=uuid.uuid4)
    project_id: ColumnClause[uuid.UUID] = of_project()
    name: ColumnClause[str]
    started_at: ColumnClause[datetime]
    finished_at: ColumnClause[datetime | None]
    # Outcome to number of URLs.
    counts: ColumnClause[dict[str, Any]] = column(JSON, default=dict)


class Domain(Base):
    """A domain, what is decided about it, and how good it was; the names of columns are the seed's where it has one."""

    __tablename__ = "domain"
    __table_args__ = (
        UniqueConstraint("project_id", "domain_name"),
        # What a table of a hundred thousand domains is sorted by.
        *(Index(f"ix_domain_{name}", "project_id", name, "domain_name") for name in _SORTED),
        # How many twins there are: few domains have one.
        Index("ix_domain_twins", "project_id", "joined_to", sqlite_where=text("twin IS NOT NULL")),
    )

    domain_id: ColumnClause[uuid.UUID] = column(primary_key=True, default=uuid.uuid4)
    project_id: ColumnClause[uuid.UUID] = of_project()
    domain_name: ColumnClause[str] = column(_NAME)
    status: ColumnClause[str] = column(String(32))
    # What it was before it was blacklisted.
    status_before: ColumnClause[str | None] = column(String(32))
    discovery_session_id: ColumnClause[uuid.UUID | None]
    high_quality_candidate_count: ColumnClause[int] = column(default=0)
    low_quality_candidate_count: ColumnClause[int] = column(default=0)
    best_confidence_score: ColumnClause[float | None]
    mean_confidence_score: ColumnClause[float | None]
    pages: ColumnClause[int] = column(default=0)
    chars_in: ColumnClause[int] = column(BigInteger, default=0)
    chars_out: ColumnClause[int] = column(BigInteger, default=0)
    # 1 - chars_out / chars_in, stored to be sorted by.
    boilerplate_share: ColumnClause[float] = column(default=0.0)
    errors: ColumnClause[int] = column(default=0)
    last_crawled_at: ColumnClause[datetime | None]
    blacklisted_at: ColumnClause[datetime | None]
    blacklisted_by: ColumnClause[str | None]
    blacklist_reason: ColumnClause[str | None]
    blacklist_expires_at: ColumnClause[datetime | None]
    # The same name with, or without, `www.`, where that is registered, too; and the name that stands for both, once
    # so many pages of both were alike.
    twin: ColumnClause[str | None]
    joined_to: ColumnClause[str | None]
    pages_alike: ColumnClause[int] = column(default=0)
    pages_unlike: ColumnClause[int] = column(default=0)
    discovered_at: ColumnClause[datetime]
    last_processed_at: ColumnClause[datetime | None]
    created_at: ColumnClause[datetime] = column(default=now)
    updated_at: ColumnClause[datetime] = column(default=now)


class CandidateRow(Numbered):
    """A URL that a search engine proposed, and that was worth a look when it was."""

    __tablename__ = "candidates"
    __table_args__ = (
        Index("ix_candidates_domain_name", "project_id", "domain_name", "id"),
        Index("ix_candidates_session_id", "project_id", "session_id", "id"),
    )

    url: ColumnClause[str]
    engine: ColumnClause[str]
    session_id: ColumnClause[uuid.UUID]
    domain_name: ColumnClause[str] = column(_NAME)
    outcome: ColumnClause[str] = column(String(16))
    title: ColumnClause[str | None]
    # What the engine said of it, 0.0 to 1.0, and at which place it stood.
    confidence: ColumnClause[float | None]
    rank: ColumnClause[int | None]
    created_at: ColumnClause[datetime] = column(default=now)
