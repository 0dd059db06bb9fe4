"""The tables of what pages have in common with others: titles and texts, signatures, chunks; and a site's own rules."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index, LargeBinary, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from scrapy_dedup.store.base import Base, of_project
from scrapy_dedup.store.columns import Key, RowNumber, now

# Said in the words of the index below, or SQLite would not use it.
HAS_TITLE = text("title_key IS NOT NULL")


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


class SiteConfig(Base):
    """What a person decided about a domain's pages: selectors, expressions, and what is to stay."""

    __tablename__ = "site_config"

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int]
    config: Mapped[dict[str, Any]] = mapped_column(JSON)
    updated_at: Mapped[datetime] = mapped_column(default=now)
