"""The tables of crawls that share their work: workers, their claims, and URLs that a queue has seen."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, SmallInteger, String, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column

from scrapy_dedup.store.base import Base, of_project
from scrapy_dedup.store.columns import Key, RowNumber

# Said in the words of the index below, or SQLite would not use it.
IS_PENDING = text("state = 0")


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
    """What one worker of a run has taken on, so that no other does: a page, a text, a title, a chunk."""

    __tablename__ = "claims"
    __table_args__ = (
        # What a dead worker left.
        Index("ix_claims_pending", "run_id", "worker_id", sqlite_where=IS_PENDING),
        Index("ix_claims_project", "project_id"),
    )

    run_id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    kind: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    key: Mapped[bytes] = mapped_column(Key, primary_key=True)
    project_id: Mapped[uuid.UUID] = of_project()
    worker_id: Mapped[uuid.UUID]
    # The page that holds it.
    owner: Mapped[bytes] = mapped_column(Key)
    # 0 pending, 1 done.
    state: Mapped[int] = mapped_column(SmallInteger, default=0)
    # Packed JSON: what another worker has to ask for, should this one die.
    request: Mapped[bytes | None] = mapped_column(LargeBinary)
    # How many workers died with it in their hands.
    deaths: Mapped[int] = mapped_column(SmallInteger, default=0, server_default="0")
    # It was given to a worker because another had died of it.
    handed_out: Mapped[bool] = mapped_column(default=False, server_default=false())


class SeenScope(Base):
    """A queue whose URLs are remembered."""

    __tablename__ = "seen_scopes"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    project_id: Mapped[uuid.UUID] = of_project()
    # A JOBDIR, a shared job, or a run.
    name: Mapped[str]
    begun_at: Mapped[datetime]


class SeenUrl(Base):
    """A request that a queue has taken. Ten million of them are normal: nothing but two numbers is in a row."""

    __tablename__ = "seen_urls"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 (SQLAlchemy's own form)

    scope_id: Mapped[int] = mapped_column(ForeignKey("seen_scopes.id", ondelete="CASCADE"), primary_key=True)
    fingerprint: Mapped[bytes] = mapped_column(Key, primary_key=True)
