"""The texts that stand for pages now, for an index that is filled without a crawl."""

import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from scrapy_dedup.store.tables.models import CrawledUrl, Document, SourceRow

_PAGES_AT_ONCE = 100


class StoredText(Struct, frozen=True):
    """What is left of a page that was acknowledged at least once.

    Attributes:
        document_key: of the document that the page's URL stands for; None where the URL itself is not stored.
        fetched_at, cleaned_content: None where no original is kept.
        gone_at: when it was declared removed.
    """

    page_key: bytes
    url: str
    domain: str
    title: str | None
    verdict: str | None
    run_id: uuid.UUID | None
    last_seen_at: datetime
    gone_at: datetime | None
    document_key: bytes | None
    fetched_at: datetime | None
    cleaned_content: str | None


_COLUMNS: list[Any] = [
    *(Document.page_key, Document.url, Document.domain, Document.title, Document.verdict),
    *(Document.run_id, Document.last_seen_at, Document.gone_at, CrawledUrl.document_key),
    *(SourceRow.fetched_at, SourceRow.cleaned_content),
]
_OF_PAGE = (
    select(*_COLUMNS)
    .outerjoin(SourceRow, and_(SourceRow.project_id == Document.project_id, SourceRow.page_key == Document.page_key))
    .outerjoin(CrawledUrl, and_(CrawledUrl.project_id == Document.project_id, CrawledUrl.page_key == Document.page_key))
    .where(Document.last_seen_at.is_not(None))
    .order_by(Document.page_key)
    .limit(_PAGES_AT_ONCE)
)


class Texts:
    """Reads the texts of a project."""

    def __init__(self, session: Session, project_id: uuid.UUID) -> None:
        self._session = session
        self._project_id = project_id

    def iterate(self) -> Iterator[StoredText]:
        """Iterate over the pages in the order of their keys, gone ones included; a hundred are in memory at a time."""
        some = _OF_PAGE.where(Document.project_id == self._project_id)
        last: bytes | None = None
        while True:
            rows = self._session.execute(some if last is None else some.where(Document.page_key > last)).all()
            yield from (StoredText(*row) for row in rows)
            if len(rows) < _PAGES_AT_ONCE:
                return
            last = rows[-1][0]
