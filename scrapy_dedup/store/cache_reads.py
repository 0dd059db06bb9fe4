"""What an export and a check of the cache read: whole pages, in parts that fit into memory, damaged ones included."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, delete, exists, func, select, tuple_, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from scrapy_dedup.store import contents
from scrapy_dedup.store.codec import unpack_fingerprints
from scrapy_dedup.store.columns import by_code_point
from scrapy_dedup.store.lookups import boilerplate, columns_of, sources
from scrapy_dedup.store.models import CrawledUrl, Decision, Document, DomainBoilerplate, DomainValidators, Source, Visit
from scrapy_dedup.store.models import Extraction as ExtractionRow
from scrapy_dedup.store.records import CrawledUrlRecord, DocumentRecord, ExtractionRecord, ValidatorRecord
from scrapy_dedup.store.rows import read_boilerplate, read_decision, read_extraction, read_source
from scrapy_dedup.store.stored import StoredBoilerplate, StoredDecision, StoredSource
from scrapy_dedup.store.upserts import chunks

_DOCUMENT = columns_of(Document, DocumentRecord)
_URL = columns_of(CrawledUrl, CrawledUrlRecord)
_VALIDATORS = columns_of(DomainValidators, ValidatorRecord)
_EXTRACTION = columns_of(ExtractionRow, ExtractionRecord)
_DECISION = columns_of(Decision, StoredDecision)
_OF_PAGE = (Document.project_id == CrawledUrl.project_id) & (Document.page_key == CrawledUrl.page_key)


@dataclass(frozen=True, slots=True)
class PackedPage:
    """A page as it was last acknowledged, with all that is held for it; parts are unpacked one by one.

    A part that is damaged raises DamagedError when it is read.

    Attributes:
        document: the state, as it can be written again.
        http_status: of the URL's last visit.
        memo_keys: of its extractions, newest first.
    """

    document: DocumentRecord
    http_status: int | None
    memo_keys: tuple[bytes, ...]
    _source: Row[Any] | None
    _extractions: tuple[Row[Any], ...]
    _decisions: tuple[Row[Any], ...]

    def blocks(self) -> list[int]:
        """Return the fingerprints of its blocks."""
        return unpack_fingerprints(self.document.blocks or b"")

    def source(self) -> StoredSource | None:
        """Return its newest original."""
        return read_source(self._source) if self._source is not None else None

    def extraction(self, place: int) -> ExtractionRecord:
        """Return one of its extractions, by its place among the memo keys."""
        return read_extraction(self._extractions[place])

    def extractions(self) -> list[ExtractionRecord]:
        """Return all of them, newest first."""
        return [self.extraction(place) for place in range(len(self.memo_keys))]

    def decisions(self) -> list[StoredDecision]:
        """Return what the layers decided about it, in the order in which they did."""
        return [read_decision(row) for row in self._decisions]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a document stands in the store; last_seen_at is None where no visit of it was acknowledged."""

    status: str
    last_seen_at: datetime | None


class CacheReads:
    """Rows of a project in the order of their keys, so many after the last: whoever reads them keeps no cursor."""

    def __init__(self, session: Session, project_id: uuid.UUID) -> None:
        self._session = session
        self._project_id = project_id

    def count_pages(self) -> int:
        """Return how many pages have an acknowledged visit."""
        return self._session.scalar(select(func.count()).select_from(Document).where(*self._acknowledged())) or 0

    def indexed_urls(self, after: bytes | None, limit: int) -> list[tuple[bytes, str]]:
        """Return (page_key, url) of pages that have an extraction of their present content."""
        of_content = exists().where(
            ExtractionRow.project_id == Document.project_id,
            ExtractionRow.page_key == Document.page_key,
            ExtractionRow.content_hash == Document.content_hash,
        )
        some = select(Document.page_key, Document.url).where(*self._acknowledged(), of_content)
        return [(row.page_key, row.url) for row in self._some(some, Document.page_key, after, limit)]

    def pages(self, after: bytes | None, limit: int) -> list[PackedPage]:
        """Return pages with an acknowledged visit."""
        return self._packed(self._some(self._documents(), Document.page_key, after, limit))

    def page(self, page_key: bytes) -> PackedPage | None:
        """Return one of them, None where there is none."""
        found = self._session.execute(self._documents().where(Document.page_key == page_key)).all()
        return next(iter(self._packed(found)), None)

    def standings(self, keys: Collection[bytes]) -> dict[bytes, Standing]:
        """Return how those documents stand that there are, acknowledged or not."""
        columns = (Document.page_key, Document.status, Document.last_seen_at)
        of_project = select(*columns).where(Document.project_id == self._project_id)
        found = [row for some in chunks(keys) for row in self._session.execute(of_project.where(_in(some)))]
        return {key: Standing(status, last_seen_at) for key, status, last_seen_at in found}

    def urls(self, after: bytes | None, limit: int) -> list[CrawledUrlRecord]:
        """Return URLs that were met, aliases and failures among them."""
        some = select(*_URL).where(CrawledUrl.project_id == self._project_id)
        return [CrawledUrlRecord(**row._mapping) for row in self._some(some, CrawledUrl.page_key, after, limit)]  # noqa: SLF001 (SQLAlchemy's public name)

    def urls_by_key(self, keys: Collection[bytes]) -> dict[bytes, datetime]:
        """Return when those of the URLs were visited last that are stored."""
        of_project = select(CrawledUrl.page_key, CrawledUrl.last_crawled_at).where(
            CrawledUrl.project_id == self._project_id
        )
        parts = (of_project.where(CrawledUrl.page_key.in_(some)) for some in chunks(keys))
        return {key: at for part in parts for key, at in self._session.execute(part)}

    def knowledge(self, after: tuple[str, str] | None, limit: int) -> list[StoredBoilerplate]:
        """Return what repeats on domains, in the order of domain and method."""
        order = (by_code_point(DomainBoilerplate.domain), DomainBoilerplate.method)
        some = boilerplate(self._project_id)
        if after:
            some = some.where(tuple_(*order) > tuple_(*after))
        return [read_boilerplate(row) for row in self._session.execute(some.order_by(*order).limit(limit))]

    def validators(self) -> list[ValidatorRecord]:
        """Return the counts of trust of all domains, in the order of domains."""
        some = select(*_VALIDATORS).where(DomainValidators.project_id == self._project_id)
        ordered = some.order_by(by_code_point(DomainValidators.domain))
        return [ValidatorRecord(*row) for row in self._session.execute(ordered)]

    def reasons(self, after: tuple[datetime, int] | None, limit: int) -> list[tuple[datetime, int, bytes, str]]:
        """Return (time, number, page_key, reason) of visits that gave a verdict, in the order of time."""
        order = (Visit.at, Visit.id)
        some = select(*order, Visit.page_key, Visit.reason).where(*self._verdicts())
        if after:
            some = some.where(tuple_(*order) > tuple_(*after))
        return [
            (at, number, key, reason)
            for at, number, key, reason in self._session.execute(some.order_by(*order).limit(limit))
        ]

    def last_reason(self, page_key: bytes) -> str | None:
        """Return the reason of a page's last verdict, as far as visits are kept."""
        of_page = select(Visit.reason).where(*self._verdicts(), Visit.page_key == page_key)
        return self._session.scalar(of_page.order_by(Visit.at.desc(), Visit.id.desc()).limit(1))

    def _some(self, rows: Any, key: InstrumentedAttribute[bytes], after: bytes | None, limit: int) -> Sequence[Any]:
        if after is not None:
            rows = rows.where(key > after)
        return self._session.execute(rows.order_by(key).limit(limit)).all()

    def _documents(self) -> Select[Any]:
        return select(*_DOCUMENT, CrawledUrl.http_status).outerjoin(CrawledUrl, _OF_PAGE).where(*self._acknowledged())

    def _acknowledged(self) -> tuple[ColumnElement[bool], ...]:
        return Document.project_id == self._project_id, Document.last_seen_at.is_not(None)

    def _verdicts(self) -> tuple[ColumnElement[bool], ...]:
        return Visit.project_id == self._project_id, Visit.verdict.is_not(None)

    def _packed(self, rows: Sequence[Row[Any]]) -> list[PackedPage]:
        keys = [row.page_key for row in rows]
        of_pages = sources(self._project_id).where(Source.page_key.in_(keys))
        originals = {row.page_key: row for row in self._session.execute(of_pages)}
        newest_first = (ExtractionRow.created_at.desc(), ExtractionRow.memo_key)
        extractions = self._rows_of(_EXTRACTION, ExtractionRow, keys, newest_first)
        decisions = self._rows_of(_DECISION, Decision, keys, (Decision.decided_at, by_code_point(Decision.layer)))
        return [
            PackedPage(
                document=_as_acknowledged(row),
                http_status=row.http_status,
                memo_keys=tuple(held.memo_key for held in extractions[row.page_key]),
                _source=originals.get(row.page_key),
                _extractions=tuple(extractions[row.page_key]),
                _decisions=tuple(decisions[row.page_key]),
            )
            for row in rows
        ]

    def _rows_of(
        self, columns: Sequence[Any], model: type[Any], keys: list[bytes], order: Sequence[Any]
    ) -> dict[bytes, list[Row[Any]]]:
        """Return the rows of some pages, in an order, by key."""
        of_pages = (model.project_id == self._project_id, model.page_key.in_(keys))
        found: dict[bytes, list[Row[Any]]] = {key: [] for key in keys}
        for row in self._session.execute(select(*columns).where(*of_pages).order_by(*order)):
            found[row.page_key].append(row)
        return found


class CacheRepairs:
    """Drops what is damaged; whoever opened the session commits."""

    def __init__(self, session: Session, project_id: uuid.UUID) -> None:
        self._session = session
        self._project_id = project_id

    def drop_originals(self, keys: Collection[bytes]) -> None:
        """Empty the originals and cleaned texts of pages; URL, title and time stay."""
        connection = self._session.connection()
        stored_bytes = contents.lock_project(connection, self._project_id) or 0
        emptied = {"content": None, "content_bytes": 0, "cleaned_content": None, "cleaned_bytes": 0}
        for some in chunks(keys):
            these = (Source.project_id == self._project_id, Source.page_key.in_(some))
            freed = select(func.coalesce(func.sum(Source.content_bytes + Source.cleaned_bytes), 0)).where(*these)
            stored_bytes -= int(self._session.scalar(freed) or 0)
            self._session.execute(update(Source).where(*these).values(emptied))
        contents.count_bytes(connection, self._project_id, max(0, stored_bytes))

    def drop_blocks(self, keys: Collection[bytes]) -> None:
        """Forget the blocks of pages' last versions."""
        for some in chunks(keys):
            these = update(Document).where(Document.project_id == self._project_id, _in(some))
            self._session.execute(these.values(blocks=None).execution_options(synchronize_session=False))

    def drop_decisions(self, keys: Collection[bytes]) -> None:
        """Forget what the layers decided about pages."""
        for some in chunks(keys):
            these = (Decision.project_id == self._project_id, Decision.page_key.in_(some))
            self._session.execute(delete(Decision).where(*these).execution_options(synchronize_session=False))


def _in(keys: list[bytes]) -> ColumnElement[bool]:
    return Document.page_key.in_(keys)


def _as_acknowledged(row: Row[Any]) -> DocumentRecord:
    """Return a document as its last acknowledged visit left it, whatever a later one began."""
    values = {column.key: row._mapping[column.key] for column in _DOCUMENT}  # noqa: SLF001
    document = DocumentRecord(**values)
    if document.status == "completed":
        return document
    return replace(document, status="completed", error=None, updated_at=document.last_seen_at or document.updated_at)
