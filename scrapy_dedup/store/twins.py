"""Which pages have a title or a text that another page has, and what those pages say."""

import uuid
from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, and_, bindparam, select

from scrapy_dedup.store.codec import column_text
from scrapy_dedup.store.document_chunks import visible
from scrapy_dedup.store.models import Document, PageSignature, Source
from scrapy_dedup.store.page_records import Twin
from scrapy_dedup.store.upserts import chunks

# More pages with one title, or one text, tell nothing that these do not.
_MOST_TWINS = 64


def _its_document() -> ColumnElement[bool]:
    return and_(Document.project_id == PageSignature.project_id, Document.page_key == PageSignature.page_key)


_OF_PROJECT = PageSignature.project_id == bindparam("of_project", type_=PageSignature.project_id.type)
_SIGNATURES = select().join_from(PageSignature, Document, _its_document()).where(_OF_PROJECT, visible())
# Asked for every page: building these each time would cost more than the answers.
_SAME_TITLE = (
    _SIGNATURES.add_columns(PageSignature.page_key, PageSignature.text_hash, PageSignature.layer.is_not(None))
    .where(PageSignature.domain == bindparam("of_domain"), PageSignature.title_key == bindparam("title"))
    .order_by(PageSignature.id)
    .limit(_MOST_TWINS)
)
_SAME_TEXT = (
    _SIGNATURES.add_columns(PageSignature.page_key)
    .where(PageSignature.text_hash == bindparam("text"), PageSignature.layer.is_(None))
    .order_by(PageSignature.id)
    .limit(_MOST_TWINS)
)
_SAME_TEXT_OF_DOMAIN = _SAME_TEXT.where(PageSignature.domain == bindparam("of_domain"))
_TEXTS = (
    select(Source.page_key, Source.cleaned_content)
    .join(Document, and_(Document.project_id == Source.project_id, Document.page_key == Source.page_key))
    .where(
        Source.project_id == bindparam("of_project", type_=Source.project_id.type),
        Source.page_key.in_(bindparam("pages", expanding=True)),
        Source.cleaned_content.is_not(None),
        visible(),
    )
)


def same_title(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, domain: str, title_key: bytes
) -> list[Twin]:
    """Return pages of a domain that have a title, in the order in which they came."""
    values = {"of_project": project_id, "of_run": run_id, "of_domain": column_text(domain), "title": title_key}
    return [Twin(*row) for row in connection.execute(_SAME_TITLE, values)]


def same_text(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, text_hash: bytes, domain: str | None
) -> list[bytes]:
    """Return the pages that stand for a text, in the order in which they came; None: of any domain."""
    values = {"of_project": project_id, "of_run": run_id, "text": text_hash}
    if domain is None:
        return list(connection.scalars(_SAME_TEXT, values))
    return list(connection.scalars(_SAME_TEXT_OF_DOMAIN, values | {"of_domain": column_text(domain)}))


def texts(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, keys: Collection[bytes]
) -> dict[bytes, str]:
    """Return the clean texts of those pages that count for others and whose text is kept."""
    found: dict[bytes, str] = {}
    values = {"of_project": project_id, "of_run": run_id}
    for some in chunks(keys):
        for key, text in connection.execute(_TEXTS, values | {"pages": some}):
            found[key] = text or ""
    return found
