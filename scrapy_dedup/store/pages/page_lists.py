"""Pages of a project or of one of its domains, newest first, a bounded number at a time."""

import uuid
from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct
from sqlalchemy import ColumnElement, Select, func, select, tuple_
from sqlalchemy.orm import Session

from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.tables.models import Document, SourceRow
from scrapy_dedup.store.tables.upserts import chunks

# Nobody reads more of one in a list, and a page may claim one of ten megabytes.
TITLE_CHARS = 1_000


class ListedPage(Struct, frozen=True):
    """A page's document, as lists show it.

    Attributes:
        title: its first thousand characters.
        chars_in, chars_out: of its text as it came and as it went out; None where it has no item.
        updated_at: when anything about it was last written, by which lists are ordered.
        last_seen_at: of its last acknowledged visit; None for a page that never had one.
    """

    page_key: bytes
    url: str
    domain: str
    title: str | None
    status: str
    verdict: str | None
    chars_in: int | None
    chars_out: int | None
    updated_at: datetime
    last_seen_at: datetime | None
    last_changed_at: datetime | None
    gone_at: datetime | None


class ListPlace(Struct, frozen=True):
    """Where a list was left: after this page."""

    updated_at: Annotated[datetime, Meta(tz=True)]
    page_key: Annotated[bytes, Meta(min_length=16, max_length=16)]


class PageMark(Struct, frozen=True):
    """A page in a list, as little of it as is needed to choose it."""

    place: ListPlace
    status: str
    verdict: str | None


_COLUMNS: list[Any] = [
    *(Document.page_key, Document.url, Document.domain, func.substr(Document.title, 1, TITLE_CHARS)),
    *(Document.status, Document.verdict, Document.chars_in, Document.chars_out, Document.updated_at),
    *(Document.last_seen_at, Document.last_changed_at, Document.gone_at),
]
_ORDER = (Document.updated_at, Document.page_key)


class PageLists:
    """Reads lists of pages; every question is answered from an index, in its order."""

    def __init__(self, session: Session, project_id: uuid.UUID, domain: str | None = None) -> None:
        self._session = session
        self._of = [Document.project_id == project_id]
        self._project_id = project_id
        if domain is not None:
            self._of.append(Document.domain == column_text(domain))

    def some(self, after: ListPlace | None, limit: int) -> list[ListedPage]:
        """Return so many pages that come after a place, newest first, ties by key."""
        return [ListedPage(*row) for row in self._session.execute(self._behind(_COLUMNS, after, limit))]

    def marks(self, after: ListPlace | None, limit: int) -> list[PageMark]:
        """Return so many pages as `some` does, in little: a tenth of the work."""
        rows = self._session.execute(self._behind([*_ORDER, Document.status, Document.verdict], after, limit))
        return [PageMark(ListPlace(updated_at, key), status, verdict) for updated_at, key, status, verdict in rows]

    def pages(self, keys: Collection[bytes]) -> list[ListedPage]:
        """Return the pages with these keys, of those that there are, newest first."""
        found = [
            ListedPage(*row)
            for some in chunks(keys)
            for row in self._session.execute(select(*_COLUMNS).where(*self._of, Document.page_key.in_(some)))
        ]
        return sorted(found, key=lambda page: (page.updated_at, page.page_key), reverse=True)

    def _behind(self, columns: list[Any], after: ListPlace | None, limit: int) -> Select[Any]:
        chosen: list[ColumnElement[bool]] = list(self._of)
        if after is not None:
            chosen.append(tuple_(*_ORDER) < tuple_(after.updated_at, after.page_key))
        newest_first = [column.desc() for column in _ORDER]
        return select(*columns).where(*chosen).order_by(*newest_first).limit(limit)

    def count(self, most: int) -> int | None:
        """Return how many pages there are, None if they are more than so many: counting a million takes a while."""
        some = select(Document.page_key).where(*self._of).limit(most + 1).subquery()
        found = self._session.scalar(select(func.count()).select_from(some)) or 0
        return found if found <= most else None

    def texts(self, keys: Collection[bytes], most_chars: int) -> dict[bytes, str]:
        """Return the beginnings of the clean texts of some pages, by key; pages without one are left out."""
        text = func.substr(SourceRow.cleaned_content, 1, most_chars)
        found: dict[bytes, str] = {}
        for some in chunks(keys):
            asked = select(SourceRow.page_key, text).where(
                SourceRow.project_id == self._project_id,
                SourceRow.page_key.in_(some),
                SourceRow.cleaned_content.is_not(None),
            )
            found |= {key: cleaned for key, cleaned in self._session.execute(asked)}  # noqa: C416 (rows are typed, pairs are not)
        return found
