"""The tables of layouts: which there are, how often they are met, how their pages are cut, and where that fails.

A layout is named by the signature of level 1 that leads it, a signed 64-bit
number; REST stands for the pages of a domain that are of no known layout.
"""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index, LargeBinary, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from scrapy_dedup.store.base import Base, of_project
from scrapy_dedup.store.columns import RowNumber

# Of no page is this the signature: one in 2⁶⁴.
REST = 0
# Said in the words of the index below, or SQLite would not use it.
IS_LIVE = text("state = 'live'")
IS_OPEN = text("cleared_at IS NULL")


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


class LayoutTemplate(Base):
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
