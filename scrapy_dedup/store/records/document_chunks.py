"""Chunks: who holds which text, and who comes next when a holder disappears."""

import uuid
from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, insert, or_, select, update

from scrapy_dedup.store.engine.codec import row_of
from scrapy_dedup.store.records.lookups import columns_of
from scrapy_dedup.store.records.page_records import HOLDING, ChunksRecord, ForgetRecord, StoredChunk
from scrapy_dedup.store.tables.models import Document, DocumentChunk
from scrapy_dedup.store.tables.upserts import chunks, table_of

MOVED = "moved here: the page that held it does not any more"
STALE_CHUNK = "chunk"
"""Why a document is made anew that a chunk moved to."""

_CHUNK = table_of(DocumentChunk).c


def visible() -> ColumnElement[bool]:
    """Say in SQL which documents count for others: completed ones, and those that the run `of_run` has in work."""
    in_work = and_(Document.status == "processing", Document.run_id == bindparam("of_run", type_=Document.run_id.type))
    return and_(Document.gone_at.is_(None), or_(Document.status == "completed", in_work))


def _its_document() -> ColumnElement[bool]:
    return and_(Document.project_id == DocumentChunk.project_id, Document.page_key == DocumentChunk.page_key)


_OF_PROJECT = DocumentChunk.project_id == bindparam("of_project", type_=DocumentChunk.project_id.type)
# Asked for every page: building these each time would cost more than the answers.
_HOLDERS = (
    select(DocumentChunk.content_hash, DocumentChunk.page_key)
    .join(Document, _its_document())
    .where(
        _OF_PROJECT,
        DocumentChunk.content_hash.in_(bindparam("hashes", expanding=True)),
        DocumentChunk.state.in_(HOLDING),
        DocumentChunk.page_key != bindparam("but"),
        visible(),
    )
    # Not ordered, and not distinct, here: for one text SQLite would walk through all documents in that order.
)
_OF_PAGE = (
    select(*columns_of(DocumentChunk, StoredChunk))
    .where(_OF_PROJECT, DocumentChunk.page_key == bindparam("of_page"))
    .order_by(DocumentChunk.position)
)
_OF_PAGES = (
    select(DocumentChunk.page_key, *columns_of(DocumentChunk, StoredChunk))
    .where(_OF_PROJECT, DocumentChunk.page_key.in_(bindparam("of_pages", expanding=True)))
    .order_by(DocumentChunk.page_key, DocumentChunk.position)
)
_NEXT = (
    select(DocumentChunk.page_key, DocumentChunk.position, DocumentChunk.state)
    .join(Document, _its_document())
    .where(
        _OF_PROJECT,
        DocumentChunk.content_hash == bindparam("hash"),
        or_(
            DocumentChunk.state.in_(HOLDING), and_(DocumentChunk.state == "removed", DocumentChunk.holder.is_not(None))
        ),
        visible(),
    )
    .order_by((DocumentChunk.state == "removed"), DocumentChunk.page_key, DocumentChunk.position)
    .limit(bindparam("most"))
)


def holders(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, hashes: Collection[bytes], page_key: bytes
) -> dict[bytes, list[bytes]]:
    """Return which other pages hold each of some texts, in the order of their keys; by one query for 500 texts."""
    found: dict[bytes, set[bytes]] = {}
    values = {"of_project": project_id, "of_run": run_id, "but": page_key}
    for some in chunks(set(hashes)):
        for content_hash, key in connection.execute(_HOLDERS, values | {"hashes": some}):
            found.setdefault(content_hash, set()).add(key)
    return {content_hash: sorted(keys) for content_hash, keys in found.items()}


def of_page(connection: Connection, project_id: uuid.UUID, page_key: bytes) -> list[StoredChunk]:
    """Return a page's chunks, in their order."""
    return [StoredChunk(*row) for row in connection.execute(_OF_PAGE, {"of_project": project_id, "of_page": page_key})]


def of_pages(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, list[StoredChunk]]:
    """Return the chunks of some pages, in their order."""
    found: dict[bytes, list[StoredChunk]] = {}
    for some in chunks(keys):
        for key, *values in connection.execute(_OF_PAGES, {"of_project": project_id, "of_pages": some}):
            found.setdefault(key, []).append(StoredChunk(*values))
    return found


def write(
    connection: Connection,
    project_id: uuid.UUID,
    run_id: uuid.UUID | None,
    records: Mapping[bytes, ChunksRecord | ForgetRecord],
) -> None:
    """Replace the chunks of some pages, and give what they held to others that have it; all in one transaction."""
    if not records:
        return
    held = _held(connection, project_id, records)
    for some in chunks(records):
        connection.execute(delete(DocumentChunk).where(_of_pages(project_id, some)))
    rows = [
        row_of(one, project_id=project_id, page_key=key) for key in sorted(records) for one in _chunks(records[key])
    ]
    if rows:
        connection.execute(insert(DocumentChunk), rows)
    for key in sorted(held):
        kept = {one.content_hash for one in _chunks(records[key]) if one.state in HOLDING}
        for content_hash in sorted(held[key] - kept):
            move_on(connection, project_id, run_id, content_hash, records[key].most_holders)
    _move_orphans(connection, project_id, run_id, records)


def _move_orphans(
    connection: Connection,
    project_id: uuid.UUID,
    run_id: uuid.UUID | None,
    records: Mapping[bytes, ChunksRecord | ForgetRecord],
) -> None:
    """Give texts that some pages left out for others that hold them no more, or never came to, back to these pages.

    A page may fail in the same write in which others leave their texts to it.
    """
    left_out = {
        one.content_hash: record.most_holders
        for record in records.values()
        for one in _chunks(record)
        if one.state == "removed" and one.holder is not None
    }
    held = holders(connection, project_id, run_id, left_out, b"") if left_out else {}
    for content_hash in sorted(left_out.keys() - held.keys()):
        move_on(connection, project_id, run_id, content_hash, left_out[content_hash])


def _chunks(record: ChunksRecord | ForgetRecord) -> tuple[StoredChunk, ...]:
    return record.chunks if isinstance(record, ChunksRecord) else ()


def _of_pages(project_id: uuid.UUID, keys: Collection[bytes]) -> ColumnElement[bool]:
    return and_(DocumentChunk.project_id == project_id, DocumentChunk.page_key.in_(keys))


def _held(connection: Connection, project_id: uuid.UUID, keys: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    """Return which texts some pages hold."""
    found: dict[bytes, set[bytes]] = {}
    for some in chunks(list(keys)):
        asked = select(DocumentChunk.page_key, DocumentChunk.content_hash).where(
            _of_pages(project_id, some), DocumentChunk.state.in_(HOLDING)
        )
        for row in connection.execute(asked):
            found.setdefault(row.page_key, set()).add(row.content_hash)
    return found


def move_on(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, content_hash: bytes, most_holders: int
) -> None:
    """Give a text that a page held to the next page that has it, unless enough others hold it.

    What it moves to goes out with that page's next item: its document is stale from now on.
    """
    values = {"of_project": project_id, "of_run": run_id, "hash": content_hash, "most": 2 * most_holders + 1}
    holding: set[bytes] = set()
    for page_key, position, state in connection.execute(_NEXT, values).all():
        if len(holding) >= most_holders:
            return
        if state == "removed" and page_key not in holding:
            _promote(connection, project_id, page_key, position)
        holding.add(page_key)


def _promote(connection: Connection, project_id: uuid.UUID, page_key: bytes, position: int) -> None:
    moved = {"state": "due", "layer": None, "holder": None, "reason": MOVED}
    place = (_CHUNK.project_id == project_id, _CHUNK.page_key == page_key, _CHUNK.position == position)
    connection.execute(update(table_of(DocumentChunk)).where(*place).values(**moved))
    mark_stale(connection, project_id, [page_key], STALE_CHUNK)


def mark_stale(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes], why: str) -> None:
    """Note that the text of some pages is to be made anew, though they did not change."""
    for some in chunks(keys):
        pages = (Document.project_id == project_id, Document.page_key.in_(some))
        connection.execute(update(Document).where(*pages).values(stale=why))
