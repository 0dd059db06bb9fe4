"""What callbacks yielded for pages, to stand in for them where that is asked for."""

import uuid
from collections.abc import Collection, Iterator

from sqlalchemy import (
    ColumnClause,
    ColumnElement,
    Connection,
    LargeBinary,
    bindparam,
    delete,
    exists,
    func,
    literal,
    select,
    update,
)

from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.records.batch import Batch
from scrapy_dedup.store.records.lookups import columns_of, read_extraction, values_of
from scrapy_dedup.store.records.records import ExtractionRecord
from scrapy_dedup.store.records.stored import ExtractionChoice, ExtractionFigures
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import Document, Extraction
from scrapy_dedup.store.tables.statements import change_in, chunks, rows_in, same_page, upsert

_COLUMNS = columns_of(Extraction, ExtractionRecord)
# The lengths stand at the beginning of a row: nothing is unpacked, or read as a whole.
_PACKED_BYTES = (
    func.length(Extraction.requests)
    + func.coalesce(func.length(Extraction.items), 0)
    + func.coalesce(func.length(Extraction.cb_kwargs), 0)
)
_FIGURES = (func.count(), func.coalesce(func.sum(_PACKED_BYTES), 0))

# Asked for every page where outcomes stand in: built once.
_BY_MEMO = select(*_COLUMNS).where(
    Extraction.project_id == bindparam("of_project"), Extraction.memo_key == bindparam("of_memo"), Extraction.is_usable
)


def write(connection: Connection, project_id: uuid.UUID, batch: Batch, kept: int) -> None:
    """Write the extractions of a batch, and drop all but the newest of their pages."""
    if not batch.extractions or not kept:
        return
    upsert(connection, Extraction, ("project_id", "memo_key"), list(batch.extractions.values()))
    newest_first = func.row_number().over(
        partition_by=Extraction.page_key, order_by=(Extraction.created_at.desc(), Extraction.memo_key)
    )
    ranked = select(Extraction.memo_key, newest_first.label("rank")).where(Extraction.project_id == project_id)
    pages = {row["page_key"] for row in batch.extractions.values()}
    for some in chunks(_crowded(connection, project_id, pages, kept)):
        of_pages = ranked.where(Extraction.page_key.in_(some)).subquery()
        old = connection.scalars(select(of_pages.c.memo_key).where(of_pages.c.rank > kept)).all()
        change_in(connection, delete(Extraction).where(Extraction.project_id == project_id), Extraction.memo_key, old)


def _crowded(connection: Connection, project_id: uuid.UUID, pages: Collection[bytes], kept: int) -> list[bytes]:
    """Return the pages with too many extractions, as the index alone tells."""
    counted = select(Extraction.page_key).where(Extraction.project_id == project_id)
    crowded = counted.group_by(Extraction.page_key).having(func.count() > kept)
    return [key for (key,) in rows_in(connection, crowded, Extraction.page_key, pages)]


def find(connection: Connection, project_id: uuid.UUID, memo_key: bytes) -> ExtractionRecord | None:
    """Return the extraction with this key, None when it is not held."""
    row = connection.execute(_BY_MEMO, {"of_project": project_id, "of_memo": memo_key}).first()
    return read_extraction(row) if row else None


def release(connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID) -> None:
    """Let what a run kept be used."""
    of_run = (Extraction.project_id == project_id, Extraction.run_id == run_id, ~Extraction.is_usable)
    released = update(Extraction).where(*of_run).values(is_usable=True)
    connection.execute(released)


def of_page(connection: Connection, project_id: uuid.UUID, page_key: bytes) -> list[ExtractionRecord]:
    """Return the extractions of a page, newest first."""
    newest_first = (Extraction.created_at.desc(), Extraction.memo_key)
    found = (
        values_of(Extraction, ExtractionRecord, project_id)
        .where(Extraction.page_key == page_key)
        .order_by(*newest_first)
    )
    return [read_extraction(row) for row in connection.execute(found)]


def figures(connection: Connection, project_id: uuid.UUID) -> dict[str, ExtractionFigures]:
    """Return how many extractions there are and their bytes, by domain, in the order of domains."""
    sums = (
        select(Extraction.domain, *_FIGURES)
        .where(Extraction.project_id == project_id)
        .group_by(Extraction.domain)
        .order_by(by_code_point(Extraction.domain))
    )
    return {domain: ExtractionFigures(count, int(size)) for domain, count, size in connection.execute(sums)}


def remove(
    connection: Connection, project_id: uuid.UUID, choice: ExtractionChoice, *, dry_run: bool
) -> ExtractionFigures:
    """Delete the chosen extractions, unless it is a dry run; return how many they are and their bytes."""
    count, size = 0, 0
    for conditions in _conditions(choice):
        chosen = (Extraction.project_id == project_id, *conditions)
        some, some_bytes = connection.execute(select(*_FIGURES).where(*chosen)).one()
        count, size = count + some, size + int(some_bytes)
        if some and not dry_run:
            connection.execute(delete(Extraction).where(*chosen))
    return ExtractionFigures(count, size)


def _conditions(choice: ExtractionChoice) -> Iterator[list[ColumnElement[bool]]]:
    """Yield conditions of which each chooses others: as many as the keys need statements."""
    common: list[ColumnElement[bool]] = []
    if choice.domain is not None:
        common.append(Extraction.domain == column_text(choice.domain))
    if choice.created_before is not None:
        common.append(Extraction.created_at < choice.created_before)
    if choice.outdated:
        common.append(~current())
    pages = _in_parts(Extraction.page_key, choice.page_keys)
    memos = _in_parts(Extraction.memo_key, choice.memo_keys)
    yield from ([*common, *page, *memo] for page in pages for memo in memos)


def current() -> ColumnElement[bool]:
    """Say in SQL which extractions are of the content that their page has now."""
    # A page that is known from elsewhere by its URL alone has no content.
    content = func.coalesce(Document.content_hash, literal(b"", LargeBinary()))
    return exists().where(same_page(Document, Extraction), content == Extraction.content_hash)


def _in_parts(column: ColumnClause[bytes], keys: Collection[bytes] | None) -> list[list[ColumnElement[bool]]]:
    return [[]] if keys is None else [[column.in_(some)] for some in chunks(set(keys))]
