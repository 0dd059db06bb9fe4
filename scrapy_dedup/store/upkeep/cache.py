"""What the cache holds of a project's pages, in parts that fit into memory, damaged ones included; and memos."""

import json
import threading
import uuid
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, select, tuple_, update
from sqlalchemy.orm import Session

from scrapy_dedup.store.engine.codec import column_text, pack_checked, unpack_fingerprints, unpack_text
from scrapy_dedup.store.engine.errors import DamagedError
from scrapy_dedup.store.pages import contents
from scrapy_dedup.store.records.lookups import columns_of, read, read_extraction, read_source, values_of
from scrapy_dedup.store.records.records import DecisionRecord, DocumentRecord, ExtractionRecord
from scrapy_dedup.store.records.stored import StoredDecision, StoredSource
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import CrawledUrl, Decision, Document, Extraction, Memo, SourceRow, VisitRow
from scrapy_dedup.store.tables.statements import change_in, rows_in, same_page, upsert
from scrapy_dedup.store.writer import ProjectStore

_DOCUMENT = columns_of(Document, DocumentRecord)
_EXTRACTION = columns_of(Extraction, ExtractionRecord)
_DECISION = columns_of(Decision, StoredDecision)
_PAGES_AT_ONCE = 10


class CachedPage(Struct, frozen=True):
    """A page as it was last acknowledged; a part that is damaged raises DamagedError when it is read.

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
        """Return all of them, those of the present content first, then newest first."""
        found = [self.extraction(place) for place in range(len(self.memo_keys))]
        return sorted(found, key=lambda one: one.content_hash != self.document.content_hash)

    def notes(self) -> list[DecisionRecord]:
        """Return what the layers decided about it, without details, oldest first."""
        key = self.document.page_key
        return [DecisionRecord(key, one.layer, one.action, one.reason, one.decided_at) for one in self._decisions]


class Traffic(Struct, frozen=True):
    """Visits of one kind on a domain; verdict is None where none could be given."""

    domain: str
    fetched: str
    verdict: str | None
    callback_run: bool
    visits: int
    bytes_received: int


class StoredCache:
    """A project's pages, extractions and visits; every method raises StoreError when the store fails."""

    def __init__(self, project: ProjectStore) -> None:
        self._project = project
        self._project_id = project.id
        self._acknowledged = (Document.project_id == project.id, Document.last_seen_at.is_not(None))

    def count_pages(self) -> int:
        """Return how many pages have an acknowledged visit."""
        with self._project.session(read_only=True) as session:
            return session.scalar(select(func.count()).select_from(Document).where(*self._acknowledged)) or 0

    def iterate_pages(self) -> Iterator[CachedPage]:
        """Iterate over them in the order of their keys."""
        after = b""
        while True:
            with self._project.session(read_only=True) as session:
                some = self._documents().where(Document.page_key > after).order_by(Document.page_key)
                pages = self._packed(session, session.execute(some.limit(_PAGES_AT_ONCE)).all())
            if not pages:
                return
            yield from pages
            after = pages[-1].document.page_key

    def page(self, page_key: bytes) -> CachedPage | None:
        """Return one of them, None where there is none."""
        with self._project.session(read_only=True) as session:
            found = session.execute(self._documents().where(Document.page_key == page_key)).all()
            return next(iter(self._packed(session, found)), None)

    def standing(self, page_key: bytes) -> tuple[str, datetime | None]:
        """Return the status of a document, "" where there is none, and when its last acknowledged visit was."""
        found = select(Document.status, Document.last_seen_at)
        found = found.where(Document.project_id == self._project_id, Document.page_key == page_key)
        with self._project.session(read_only=True) as session:
            row = session.execute(found).first()
        return (row.status, row.last_seen_at) if row else ("", None)

    def traffic(self, run_id: uuid.UUID | None = None) -> list[Traffic]:
        """Return the visits of a run, or all that are kept, by domain and kind."""
        domain = func.coalesce(Document.domain, CrawledUrl.domain, "")
        kinds = (VisitRow.fetched, VisitRow.verdict, VisitRow.callback_run)
        sums = (
            select(domain, *kinds, func.count(), func.sum(VisitRow.bytes_received))
            .outerjoin(Document, same_page(Document, VisitRow))
            .outerjoin(CrawledUrl, same_page(CrawledUrl, VisitRow))
            .where(VisitRow.project_id == self._project_id, *(() if run_id is None else (VisitRow.run_id == run_id,)))
            .group_by(domain, *kinds)
        )
        with self._project.session(read_only=True) as session:
            # PostgreSQL's sums of integers are decimals.
            return [Traffic(*row[:-1], int(row[-1])) for row in session.execute(sums)]

    def drop(self, originals: Collection[bytes], blocks: Collection[bytes]) -> None:
        """Empty the originals and cleaned texts of pages, and the blocks of pages; URL, title and time stay."""
        with self._project.session() as session:
            connection = session.connection()
            stored_bytes = contents.lock_project(connection, self._project_id) or 0
            of_project = SourceRow.project_id == self._project_id
            sizes = select(func.coalesce(func.sum(SourceRow.content_bytes + SourceRow.cleaned_bytes), 0))
            for (freed,) in rows_in(connection, sizes.where(of_project), SourceRow.page_key, originals):
                stored_bytes -= int(freed)
            contents.empty_pages(connection, self._project_id, originals)
            contents.count_bytes(connection, self._project_id, max(0, stored_bytes))
            without = update(Document).where(Document.project_id == self._project_id).values(blocks=None)
            change_in(connection, without, Document.page_key, blocks)
            session.commit()

    def _documents(self) -> Select[Any]:
        return (
            select(*_DOCUMENT, CrawledUrl.http_status)
            .outerjoin(CrawledUrl, same_page(Document, CrawledUrl))
            .where(*self._acknowledged)
        )

    def _packed(self, session: Session, rows: Sequence[Row[Any]]) -> list[CachedPage]:
        keys = [row.page_key for row in rows]
        of_pages = values_of(SourceRow, StoredSource, self._project_id).where(SourceRow.page_key.in_(keys))
        originals = {row.page_key: row for row in session.execute(of_pages)}
        newest_first = (Extraction.created_at.desc(), Extraction.memo_key)
        extractions = self._by_key(session, select(*_EXTRACTION).order_by(*newest_first), Extraction, keys)
        oldest_first = (Decision.decided_at, by_code_point(Decision.layer))
        decisions = self._by_key(session, select(*_DECISION).order_by(*oldest_first), Decision, keys)
        return [
            CachedPage(
                document=_as_acknowledged(row),
                http_status=row.http_status,
                memo_keys=tuple(held.memo_key for held in extractions[row.page_key]),
                _source=originals.get(row.page_key),
                _extractions=tuple(extractions[row.page_key]),
                _decisions=tuple(decisions[row.page_key]),
            )
            for row in rows
        ]

    def _by_key(
        self, session: Session, rows: Select[Any], model: type[Any], keys: list[bytes]
    ) -> dict[bytes, list[Row[Any]]]:
        found: dict[bytes, list[Row[Any]]] = {key: [] for key in keys}
        for row in session.execute(rows.where(model.project_id == self._project_id, model.page_key.in_(keys))):
            found[row.page_key].append(row)
        return found


def _as_acknowledged(row: Row[Any]) -> DocumentRecord:
    """Return a document as its last acknowledged visit left it, whatever a later one began."""
    document = read(row, DocumentRecord)
    if document.status == "completed":
        return document
    return replace(document, status="completed", error=None, updated_at=document.last_seen_at or document.updated_at)


# Of a row beside its result: key and instant, in the table and in its index, and the project.
_ROW_BYTES: Final = 200
# What is beyond the bound shrinks to this share of it, so that counting and cutting are rare.
_ROOM: Final = 0.9
_COUNTED_EVERY: Final = 0.05


class MemoFigures(Struct, frozen=True):
    """How many memos there are, and their bytes."""

    memos: int
    size_bytes: int


class StoredMemos:
    """The memos of a project. Any thread may use it; every method raises StoreError when the store fails."""

    def __init__(self, project: ProjectStore, max_bytes: int = 0) -> None:
        """Hold a project's memos to so many bytes; 0: none is kept."""
        self._project = project
        self._of_project = Memo.project_id == project.id
        self._max_bytes = max_bytes
        # Since they were counted last; other processes write, too, so they are counted again and again.
        self._written = max_bytes
        self._lock = threading.Lock()

    def find(self, key: bytes, since: datetime | None) -> str | None:
        """Return the JSON under a key, None where there is none that was made since an instant.

        Raises:
            DamagedStoreError: it is not what was kept.
        """
        found = select(Memo.result, Memo.created_at).where(self._of_project, Memo.key == key)
        with self._project.transaction() as connection:
            row = connection.execute(found).first()
            if row is None or (since is not None and row.created_at < since):
                return None
            text = unpack_text(row.result)
            try:
                json.loads(text)
            except ValueError as error:
                raise DamagedError(f"a memo is no JSON ({error})") from error
            return text

    def keep(self, key: bytes, function: str, text: str, at: datetime) -> None:
        """Keep what a function made, in JSON, unless it alone is beyond the bound."""
        packed = pack_checked(text)
        size_bytes = len(packed) + _ROW_BYTES
        if size_bytes > self._max_bytes:
            return
        row = {
            "project_id": self._project.id,
            "key": key,
            "function": column_text(function),
            "created_at": at,
            "size_bytes": size_bytes,
            "result": packed,
        }
        with self._lock:
            self._written += size_bytes
            is_due = self._written > _COUNTED_EVERY * self._max_bytes
            if is_due:
                self._written = 0
        with self._project.transaction(write=True) as connection:
            if is_due:
                contents.lock_project(connection, self._project.id)
            upsert(connection, Memo, ("project_id", "key"), [row])
            if is_due and self._figures(connection).size_bytes > self._max_bytes:
                self._cut(connection)

    def _cut(self, connection: Connection) -> None:
        newest_first = (Memo.created_at.desc(), Memo.key.desc())
        sums = select(Memo.created_at, Memo.key, func.sum(Memo.size_bytes).over(order_by=newest_first).label("so_far"))
        summed = sums.where(self._of_project).subquery()
        beyond = select(summed.c.created_at, summed.c.key).where(summed.c.so_far > _ROOM * self._max_bytes)
        newest_to_go = beyond.order_by(summed.c.so_far).limit(1)
        last = connection.execute(newest_to_go).one()
        connection.execute(delete(Memo).where(self._of_project, tuple_(Memo.created_at, Memo.key) <= tuple_(*last)))

    def figures(self) -> MemoFigures:
        """Return how many there are, and their bytes."""
        with self._project.transaction() as connection:
            return self._figures(connection)

    def remove(self, before: datetime | None, *, dry_run: bool) -> MemoFigures:
        """Delete those that were made before an instant, None: all of them; or only count them."""
        made_before = () if before is None else (Memo.created_at < before,)
        with self._project.transaction(write=not dry_run) as connection:
            found = self._figures(connection, *made_before)
            if not dry_run:
                connection.execute(delete(Memo).where(self._of_project, *made_before))
        return found

    def _figures(self, connection: Connection, *conditions: ColumnElement[bool]) -> MemoFigures:
        sums = select(func.count(), func.coalesce(func.sum(Memo.size_bytes), 0)).where(self._of_project, *conditions)
        count, size_bytes = connection.execute(sums).one()
        return MemoFigures(count, int(size_bytes))
