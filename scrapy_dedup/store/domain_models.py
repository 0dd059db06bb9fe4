"""The tables of the registry: domains, the sessions that discovered them, and what search engines proposed."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from scrapy_dedup.store.base import Base, of_project
from scrapy_dedup.store.columns import RowNumber, now

# Sorted by code points on PostgreSQL, too, and by an index, which has its column's order.
_NAME = Text().with_variant(Text(collation="C"), "postgresql")
_SORTED = ("status", "best_confidence_score", "pages", "boilerplate_share", "last_crawled_at")


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


class Candidate(Base):
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
