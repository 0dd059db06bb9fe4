"""The tables.

Every table but `projects` belongs to a project and goes with it (ON DELETE
CASCADE). There is no foreign key to `crawl_runs`: a run that is deleted must
not cost a search through every row that it wrote. There are no relationships:
rows are read by columns and leave this folder as values.

Page keys are random, so an index that begins with one costs every batch a
write all over the file. Tables have one such index each; the others grow at
their end.
"""

import uuid
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Key = LargeBinary(16)
# SQLite counts rows by itself only in an INTEGER key; an upsert on PostgreSQL uses up a number each time.
RowNumber = BigInteger().with_variant(Integer, "sqlite")


def now() -> datetime:
    """Return the present instant, in UTC."""
    return datetime.now(UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """Aware datetimes in and out, UTC in the table; SQLite itself forgets the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002, D102
        if value is None or value.tzinfo is UTC:
            return value
        if value.tzinfo is None:
            raise ValueError(f"{value!r}: a stored time needs a zone, such as datetime.now(UTC)")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002, D102
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


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
    type_annotation_map = {uuid.UUID: Uuid(), datetime: UtcDateTime(), str: Text()}  # noqa: RUF012 (SQLAlchemy's own form)


def _project(*, primary_key: bool = False) -> Mapped[uuid.UUID]:
    return mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=primary_key)


class Project(Base):
    """A namespace of all knowledge."""

    __tablename__ = "projects"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    name: Mapped[str] = mapped_column(unique=True)
    # Packed originals and their cleaned texts, kept up to date by every write: a sum over all pages is too slow.
    stored_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime] = mapped_column(default=now)


class CrawlRun(Base):
    """One crawl; with JOBDIR a crawl that was stopped and resumed is one run."""

    __tablename__ = "crawl_runs"
    __table_args__ = (Index(None, "project_id", "started_at"),)

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    project_id: Mapped[uuid.UUID] = _project()
    spider: Mapped[str]
    jobdir: Mapped[str | None]
    status: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str | None]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    stats: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)


class Source(Base):
    """The newest original of a page, as it came."""

    __tablename__ = "sources"
    __table_args__ = (
        UniqueConstraint("project_id", "page_key"),
        Index(None, "project_id", "domain"),
        # What the size bound drops next; rows that were emptied are not in it.
        Index(
            "ix_sources_oldest",
            "project_id",
            "fetched_at",
            "page_key",
            sqlite_where=text("content IS NOT NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    project_id: Mapped[uuid.UUID] = _project()
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

    project_id: Mapped[uuid.UUID] = _project(primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    fetched_at: Mapped[datetime] = mapped_column(primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    content_bytes: Mapped[int]


class Document(Base):
    """What became of a page's content."""

    __tablename__ = "documents"
    __table_args__ = (Index(None, "run_id", "updated_at", "page_key"),)

    project_id: Mapped[uuid.UUID] = _project(primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    url: Mapped[str]
    domain: Mapped[str]
    run_id: Mapped[uuid.UUID | None]
    status: Mapped[str] = mapped_column(String(16))
    verdict: Mapped[str | None] = mapped_column(String(16))
    title: Mapped[str | None]
    canonical_url: Mapped[str | None]
    content_hash: Mapped[bytes | None] = mapped_column(Key)
    cleaned_hash: Mapped[bytes | None] = mapped_column(Key)
    chars_in: Mapped[int | None]
    chars_out: Mapped[int | None]
    sketch: Mapped[bytes | None] = mapped_column(LargeBinary)
    error: Mapped[str | None]
    updated_at: Mapped[datetime]


class CrawledUrl(Base):
    """The present state of one URL; an alias has its own row."""

    __tablename__ = "crawled_urls"
    __table_args__ = (
        # Aliases only: the others stand for the document with their own key.
        Index(
            None,
            "project_id",
            "document_key",
            sqlite_where=text("document_key <> page_key"),
        ),
    )

    project_id: Mapped[uuid.UUID] = _project(primary_key=True)
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

    project_id: Mapped[uuid.UUID] = _project(primary_key=True)
    page_key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    layer: Mapped[str] = mapped_column(String(32), primary_key=True)
    run_id: Mapped[uuid.UUID | None]
    action: Mapped[str] = mapped_column(String(32))
    reason: Mapped[str]
    detail: Mapped[bytes | None] = mapped_column(LargeBinary)
    decided_at: Mapped[datetime]


class DomainBoilerplate(Base):
    """What repeats on a domain; a row also means that the domain is known."""

    __tablename__ = "domain_boilerplate"
    __table_args__ = (UniqueConstraint("project_id", "domain", "method"),)

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    project_id: Mapped[uuid.UUID] = _project()
    domain: Mapped[str]
    method: Mapped[str] = mapped_column(String(16))
    boilerplate_hashes: Mapped[list[str]] = mapped_column(JSON, default=list)
    evidence: Mapped[bytes | None] = mapped_column(LargeBinary)
    pages_analyzed: Mapped[int] = mapped_column(default=0)
    blocks_total: Mapped[int] = mapped_column(default=0)
    blocks_boilerplate: Mapped[int] = mapped_column(default=0)
    bytes_removed_avg: Mapped[int] = mapped_column(default=0)
    threshold_pct: Mapped[float] = mapped_column(Float, default=0.7)
    min_pages: Mapped[int] = mapped_column(default=5)
    min_block_chars: Mapped[int] = mapped_column(default=50)
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)


def use_partial_indexes_on_postgresql() -> None:
    """Give PostgreSQL the conditions of SQLite's partial indexes.

    Not said where the indexes are declared: naming a dialect there imports it, which takes long.
    """
    for table in Base.metadata.tables.values():
        for index in table.indexes:
            condition = index.dialect_options["sqlite"]["where"]
            if condition is not None:
                index.dialect_options["postgresql"]["where"] = condition
