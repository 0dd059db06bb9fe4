"""The tables of crawls that share their work: workers, their claims, and URLs that a queue has seen."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ColumnClause, ForeignKey, Index, SmallInteger, String, UniqueConstraint

from scrapy_dedup.store.tables.base import Base, column, of_project
from scrapy_dedup.store.tables.columns import Key, RowNumber


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
    """A title or a text that a page of one worker of a run has, so that no other worker gives it."""

    __tablename__ = "claims"
    __table_args__ = (Index("ix_claims_project", "project_id"),)

    run_id: ColumnClause[uuid.UUID] = column(primary_key=True)
    kind: ColumnClause[int] = column(SmallInteger, primary_key=True, autoincrement=False)
    key: ColumnClause[bytes] = column(Key, primary_key=True)
    project_id: ColumnClause[uuid.UUID] = of_project()
    worker_id: ColumnClause[uuid.UUID]
    # The page that holds it.
    owner: ColumnClause[bytes] = column(Key)


class SeenScope(Base):
    """A queue whose URLs are remembered."""

    __tablename__ = "seen_scopes"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    id: ColumnClause[int] = column(RowNumber, primary_key=True)
    project_id: ColumnClause[uuid.UUID] = of_project()
    # A JOBDIR, or a run.
    name: ColumnClause[str]
    begun_at: ColumnClause[datetime]


class SeenUrl(Base):
    """A request that a queue has taken. Ten million of them are normal: nothing but two numbers is in a row."""

    __tablename__ = "seen_urls"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 (SQLAlchemy's own form)

    scope_id: ColumnClause[int] = column(ForeignKey("seen_scopes.id", ondelete="CASCADE"), primary_key=True)
    fingerprint: ColumnClause[bytes] = column(Key, primary_key=True)
