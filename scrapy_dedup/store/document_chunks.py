"""Chunks: who holds which text, and who comes next when a holder disappears."""

import uuid
from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, or_, select, update

from scrapy_dedup.store.codec import column_text, optional_text
from scrapy_dedup.store.models import Document, DocumentChunk
from scrapy_dedup.store.page_records import HOLDING, ChunksRecord, ForgetRecord, StoredChunk
from scrapy_dedup.store.upserts import Row, chunks, table_of

MOVED = "moved here: the page that held it does not any more"
STALE_CHUNK = "chunk"
"""Why a document is made anew that a chunk moved to."""

_CHUNK = table_of(DocumentChunk).c


def is_visible(run_id: uuid.UUID | None) -> ColumnElement[bool]:
    """Say in SQL which documents count for others: completed ones, and those that this run has in work."""
    completed = Document.status == "completed"
    in_work = and_(Document.status == "processing", Document.run_id == run_id)
    return and_(Document.gone_at.is_(None), or_(completed, in_work) if run_id is not None else completed)


def joined_document(project_id: uuid.UUID) -> ColumnElement[bool]:
    """Say in SQL which document a chunk belongs to."""
    return and_(Document.project_id == project_id, Document.page_key == DocumentChunk.page_key)


def holders(
    connection: Connection,
    project_id: uuid.UUID,
    run_id: uuid.UUID | None,
    hashes: Collection[bytes],
    page_key: bytes,
) -> dict[bytes, list[bytes]]:
    """Return which other pages hold each of some texts, in the order of their keys; by one query for 500 texts."""
    found: dict[bytes, list[bytes]] = {}
    for some in chunks(set(hashes)):
        asked = (
            select(DocumentChunk.content_hash, DocumentChunk.page_key)
            .join(Document, joined_document(project_id))
            .where(
                DocumentChunk.project_id == project_id,
                DocumentChunk.content_hash.in_(some),
                DocumentChunk.state.in_(HOLDING),
                DocumentChunk.page_key != page_key,
                is_visible(run_id),
            )
            .order_by(DocumentChunk.content_hash, DocumentChunk.page_key)
            .distinct()
        )
        for row in connection.execute(asked):
            found.setdefault(row.content_hash, []).append(row.page_key)
    return found


def of_page(connection: Connection, project_id: uuid.UUID, page_key: bytes) -> list[StoredChunk]:
    """Return a page's chunks, in their order."""
    columns = [getattr(DocumentChunk, name) for name in StoredChunk.__dataclass_fields__]
    asked = select(*columns).where(DocumentChunk.project_id == project_id, DocumentChunk.page_key == page_key)
    return [StoredChunk(*row) for row in connection.execute(asked.order_by(DocumentChunk.position))]


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
    rows = [_row(project_id, key, one) for key in sorted(records) for one in _chunks(records[key])]
    if rows:
        connection.execute(insert(DocumentChunk), rows)
    for key in sorted(held):
        kept = {one.content_hash for one in _chunks(records[key]) if one.state in HOLDING}
        for content_hash in sorted(held[key] - kept):
            move_on(connection, project_id, run_id, content_hash, records[key].most_holders)


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
    asked = (
        select(DocumentChunk.page_key, DocumentChunk.position, DocumentChunk.state)
        .join(Document, joined_document(project_id))
        .where(
            DocumentChunk.project_id == project_id,
            DocumentChunk.content_hash == content_hash,
            or_(
                DocumentChunk.state.in_(HOLDING),
                and_(DocumentChunk.state == "removed", DocumentChunk.holder.is_not(None)),
            ),
            is_visible(run_id),
        )
        .order_by((DocumentChunk.state == "removed"), DocumentChunk.page_key, DocumentChunk.position)
        .limit(2 * most_holders + 1)
    )
    holding: set[bytes] = set()
    for page_key, position, state in connection.execute(asked).all():
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
        connection.execute(
            update(Document).where(*pages).values(stale=why).execution_options(synchronize_session=False)
        )


def stale_pages(connection: Connection, project_id: uuid.UUID) -> list[bytes]:
    """Return the keys of completed pages that are stale and not gone, in their order."""
    waiting = (Document.project_id == project_id, Document.stale.is_not(None), is_visible(None))
    return list(connection.scalars(select(Document.page_key).where(*waiting).order_by(Document.page_key)))


def _row(project_id: uuid.UUID, page_key: bytes, chunk: StoredChunk) -> Row:
    return {
        "project_id": project_id,
        "page_key": page_key,
        "position": chunk.position,
        "chunk_id": chunk.chunk_id,
        "content_hash": chunk.content_hash,
        "state": chunk.state,
        "holder": chunk.holder,
        "layer": chunk.layer,
        "reason": optional_text(chunk.reason),
        "kind": chunk.kind,
        "language": chunk.language,
        "chars": chunk.chars,
        "size": chunk.size,
        "sample": column_text(chunk.sample),
    }
