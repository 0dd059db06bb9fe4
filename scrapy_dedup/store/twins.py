"""Which pages have a title or a text that another page has, and what those pages say."""

import uuid
from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, and_, select

from scrapy_dedup.store.codec import column_text
from scrapy_dedup.store.document_chunks import is_visible
from scrapy_dedup.store.models import Document, PageSignature, Source
from scrapy_dedup.store.page_records import Twin
from scrapy_dedup.store.upserts import chunks

# More pages with one title, or one text, tell nothing that these do not.
_MOST_TWINS = 64


def same_title(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, domain: str, title_key: bytes
) -> list[Twin]:
    """Return pages of a domain that have a title, in the order in which they came."""
    asked = (
        select(PageSignature.page_key, PageSignature.text_hash, PageSignature.layer.is_not(None))
        .join(Document, _its_document())
        .where(
            PageSignature.project_id == project_id,
            PageSignature.domain == column_text(domain),
            PageSignature.title_key == title_key,
            is_visible(run_id),
        )
        .order_by(PageSignature.id)
        .limit(_MOST_TWINS)
    )
    return [Twin(*row) for row in connection.execute(asked)]


def same_text(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, text_hash: bytes, domain: str | None
) -> list[bytes]:
    """Return the pages that stand for a text, in the order in which they came; None: of any domain."""
    of_domain = [] if domain is None else [PageSignature.domain == column_text(domain)]
    asked = (
        select(PageSignature.page_key)
        .join(Document, _its_document())
        .where(
            PageSignature.project_id == project_id,
            PageSignature.text_hash == text_hash,
            PageSignature.layer.is_(None),
            *of_domain,
            is_visible(run_id),
        )
        .order_by(PageSignature.id)
        .limit(_MOST_TWINS)
    )
    return list(connection.scalars(asked))


def texts(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, keys: Collection[bytes]
) -> dict[bytes, str]:
    """Return the clean texts of those pages that count for others and whose text is kept."""
    found: dict[bytes, str] = {}
    for some in chunks(keys):
        asked = (
            select(Source.page_key, Source.cleaned_content)
            .join(Document, and_(Document.project_id == Source.project_id, Document.page_key == Source.page_key))
            .where(
                Source.project_id == project_id,
                Source.page_key.in_(some),
                Source.cleaned_content.is_not(None),
                is_visible(run_id),
            )
        )
        found |= {row.page_key: row.cleaned_content for row in connection.execute(asked)}
    return found


def _its_document() -> ColumnElement[bool]:
    return and_(Document.project_id == PageSignature.project_id, Document.page_key == PageSignature.page_key)
