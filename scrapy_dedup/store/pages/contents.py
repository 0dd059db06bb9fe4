"""What is kept of pages: originals in their versions, answers as they came over the wire, and what visits delivered.

Both count for the size bound, which is held here.
"""

import uuid
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, bindparam, delete, func, insert, select, tuple_, update

from scrapy_dedup.store.engine.codec import unpack_bytes, unpack_json
from scrapy_dedup.store.engine.errors import DamagedError
from scrapy_dedup.store.records.batch import Batch, size_of
from scrapy_dedup.store.records.lookups import columns_of, read
from scrapy_dedup.store.records.records import DeliveryRecord, KeepPolicy, ResponseRecord
from scrapy_dedup.store.tables.models import DeliveryRow, Project, Response, SourceRow, SourceVersion
from scrapy_dedup.store.tables.statements import Row, change_in, chunks, rows_by, rows_in, table_of, upsert

_KEYS = ("project_id", "page_key")
# When the bound is passed, what is kept shrinks to this share of it, so that the next time is some pages away.
_ROOM = 0.9
_DROPPED_AT_ONCE = 500


class HeldContent(Struct, frozen=True):
    """What a page's row holds before a write."""

    fetched_at: datetime
    content_bytes: int
    cleaned_bytes: int


def write(connection: Connection, project_id: uuid.UUID, batch: Batch, stored_bytes: int, keep: KeepPolicy) -> None:
    """Write the originals and cleaned texts of a batch, and hold the size bound."""
    if not keep.versions or not (batch.sources or batch.cleaned or batch.responses):
        return
    total = stored_bytes + keep_pages(connection, project_id, batch.sources, batch.cleaned, keep.versions)
    total += _write_responses(connection, project_id, batch.responses)
    if keep.max_bytes is not None and total > keep.max_bytes:
        total -= drop_oldest(connection, project_id, total - int(keep.max_bytes * _ROOM))
    count_bytes(connection, project_id, total)


def keep_pages(
    connection: Connection,
    project_id: uuid.UUID,
    sources: Mapping[bytes, Row],
    cleaned: Mapping[bytes, tuple[str, bytes | None]],
    versions: int,
) -> int:
    """Write the originals and cleaned texts; return by how many bytes the project grew.

    An original older than the one stored is left out: two crawls may write at once.
    """
    held = _held(connection, project_id, sources.keys() | cleaned.keys())
    rows = [row for key, row in sources.items() if key not in held or row["fetched_at"] >= held[key].fetched_at]
    replaced = {row["page_key"]: row for row in rows if row["page_key"] in held}
    grown: int = sum(row["content_bytes"] + row["cleaned_bytes"] for row in rows)
    grown -= sum(held[key].content_bytes + held[key].cleaned_bytes for key in replaced)
    if replaced:
        grown += _keep_versions(connection, project_id, replaced, held, versions)
    upsert(connection, SourceRow, _KEYS, rows)
    return grown + set_cleaned(connection, project_id, cleaned)


def set_cleaned(
    connection: Connection, project_id: uuid.UUID, cleaned: Mapping[bytes, tuple[str, bytes | None]]
) -> int:
    """Store what is left of pages whose originals are kept, with reports; return by how many bytes the project grew."""
    if not cleaned:
        return 0
    held = _held(connection, project_id, cleaned.keys())
    # A text without its original would escape the size bound, which looks for originals.
    sizes = {key: size_of(text) for key, (text, _) in cleaned.items() if key in held and held[key].content_bytes}
    if not sizes:
        return 0
    rows = [
        {
            "of_project": project_id,
            "of_page": key,
            "cleaned_content": cleaned[key][0],
            "cleaned_bytes": size,
            "new_report": cleaned[key][1],
        }
        for key, size in sizes.items()
    ]
    source = table_of(SourceRow)
    of_page = (source.c.project_id == bindparam("of_project")) & (source.c.page_key == bindparam("of_page"))
    # Without one the report stays: it says what went out last.
    report = func.coalesce(bindparam("new_report", type_=source.c.report.type), source.c.report)
    values: dict[str, Any] = {
        "cleaned_content": bindparam("cleaned_content"),
        "cleaned_bytes": bindparam("cleaned_bytes"),
    }
    connection.execute(update(source).where(of_page).values(values | {"report": report}), rows)
    return sum(size - held[key].cleaned_bytes for key, size in sizes.items())


def _held(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, HeldContent]:
    columns = (SourceRow.page_key, SourceRow.fetched_at, SourceRow.content_bytes, SourceRow.cleaned_bytes)
    of_project = select(*columns).where(SourceRow.project_id == project_id)
    return {key: HeldContent(*held) for key, *held in rows_in(connection, of_project, SourceRow.page_key, keys)}


def _keep_versions(
    connection: Connection,
    project_id: uuid.UUID,
    replaced: Mapping[bytes, Row],
    held: Mapping[bytes, HeldContent],
    versions: int,
) -> int:
    """Keep what is about to be replaced, as far as so many versions allow; return the growth in bytes."""
    grown = 0
    if versions > 1:
        grown = _move_to_versions(connection, project_id, replaced, held)
    return grown - _drop_versions(connection, project_id, replaced.keys(), versions - 1)


def _move_to_versions(
    connection: Connection, project_id: uuid.UUID, replaced: Mapping[bytes, Row], held: Mapping[bytes, HeldContent]
) -> int:
    """Copy originals that differ from the new ones; a page that came again as it was is no new version."""
    later = [key for key, row in replaced.items() if row["fetched_at"] > held[key].fetched_at]
    columns = (
        SourceRow.project_id,
        SourceRow.page_key,
        SourceRow.fetched_at,
        SourceRow.content,
        SourceRow.content_bytes,
    )
    of_project = select(*columns).where(SourceRow.project_id == project_id, SourceRow.content.is_not(None))
    moved = [
        dict(row._mapping)  # noqa: SLF001 (SQLAlchemy's public name for it)
        for row in rows_in(connection, of_project, SourceRow.page_key, later)
        # The same text packs to the same bytes.
        if row.content != replaced[row.page_key]["content"]
    ]
    if moved:
        connection.execute(insert(SourceVersion), moved)
    return sum(row["content_bytes"] for row in moved)


def _drop_versions(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes], kept: int) -> int:
    """Delete all but so many older versions of each page; return how many bytes that frees."""
    newest_first = func.row_number().over(partition_by=SourceVersion.page_key, order_by=SourceVersion.fetched_at.desc())
    columns = (SourceVersion.page_key, SourceVersion.fetched_at, SourceVersion.content_bytes)
    ranked = select(*columns, newest_first.label("rank")).where(SourceVersion.project_id == project_id)
    freed = 0
    for some in chunks(keys):
        of_pages = ranked.where(SourceVersion.page_key.in_(some)).subquery()
        found = connection.execute(select(of_pages).where(of_pages.c.rank > kept)).all()
        _delete_versions(connection, project_id, [(key, fetched_at) for key, fetched_at, *_ in found])
        freed += sum(content_bytes for *_, content_bytes, _ in found)
    return freed


def _delete_versions(connection: Connection, project_id: uuid.UUID, keys: list[tuple[bytes, datetime]]) -> None:
    if not keys:
        return
    these = tuple_(SourceVersion.page_key, SourceVersion.fetched_at).in_(keys)
    connection.execute(delete(SourceVersion).where(SourceVersion.project_id == project_id, these))


def lock_project(connection: Connection, project_id: uuid.UUID) -> int | None:
    """Return how many bytes the project holds, None when it was deleted.

    On PostgreSQL the project's row is locked until the transaction ends, so
    that two writers neither count wrongly nor wait for each other in a circle;
    on SQLite one transaction writes at a time anyway. Who adds rows that refer
    to the project need not wait: its key stays what it is.
    """
    of_project = select(Project.stored_bytes).where(Project.id == project_id)
    return connection.scalar(of_project.with_for_update(key_share=True))


def count_bytes(connection: Connection, project_id: uuid.UUID, stored_bytes: int) -> None:
    """Note how many bytes the project holds now."""
    connection.execute(update(Project).where(Project.id == project_id).values(stored_bytes=stored_bytes))


def drop_oldest(connection: Connection, project_id: uuid.UUID, excess: int) -> int:
    """Free at least so many bytes, older versions first, then answers, then the pages fetched longest ago.

    Returns how many.
    """
    freed = 0
    for drop in (_drop_oldest_versions, _drop_oldest_responses, _empty_oldest_pages):
        while freed < excess:
            some = drop(connection, project_id, excess - freed)
            if not some:
                break
            freed += some
    return freed


def _drop_oldest_versions(connection: Connection, project_id: uuid.UUID, excess: int) -> int:
    oldest = (
        select(SourceVersion.page_key, SourceVersion.fetched_at, SourceVersion.content_bytes)
        .where(SourceVersion.project_id == project_id)
        .order_by(SourceVersion.fetched_at, SourceVersion.page_key)
        .limit(_DROPPED_AT_ONCE)
    )
    dropped, freed = _first_of(connection, oldest, excess)
    _delete_versions(connection, project_id, [(key, fetched_at) for key, fetched_at, _ in dropped])
    return freed


def _empty_oldest_pages(connection: Connection, project_id: uuid.UUID, excess: int) -> int:
    """Set the contents to NULL; the rows stay, with URL, title and time."""
    oldest = (
        select(SourceRow.page_key, SourceRow.content_bytes + SourceRow.cleaned_bytes)
        .where(SourceRow.project_id == project_id, SourceRow.content.is_not(None))
        .order_by(SourceRow.fetched_at, SourceRow.page_key)
        .limit(_DROPPED_AT_ONCE)
    )
    emptied, freed = _first_of(connection, oldest, excess)
    nothing = {"content": None, "content_bytes": 0, "cleaned_content": None, "cleaned_bytes": 0, "report": None}
    without = update(SourceRow).where(SourceRow.project_id == project_id).values(nothing)
    change_in(connection, without, SourceRow.page_key, [key for key, _ in emptied])
    return freed


def _first_of(connection: Connection, oldest: Any, excess: int) -> tuple[list[Any], int]:
    """Return the first rows of a statement whose last column, a size, comes to so many bytes, and to how many."""
    found: list[Any] = []
    freed = 0
    for row in connection.execute(oldest).all():
        if freed >= excess:
            break
        found.append(row)
        freed += row[-1]
    return found, freed


_RESPONSE_KEYS = ("project_id", "wire_key")


class HeldText(Struct, frozen=True):
    """What was cut from a page: its text, and a plain report of what else stands on its items."""

    page_key: bytes
    field: str
    cleaned_content: str
    report: Mapping[str, object]
    fetched_at: datetime
    """Of the version that it was cut from: that of another visit may have been written since."""


_RESPONSES = select(*columns_of(Response, ResponseRecord), Response.is_packed).where(
    Response.project_id == bindparam("of_project"), Response.wire_key.in_(bindparam("keys", expanding=True))
)
_TEXTS = select(*columns_of(SourceRow, HeldText)).where(
    SourceRow.project_id == bindparam("of_project"),
    SourceRow.page_key.in_(bindparam("keys", expanding=True)),
    SourceRow.report.is_not(None),
    SourceRow.cleaned_content.is_not(None),
)
_DELIVERIES = select(*columns_of(DeliveryRow, DeliveryRecord)).where(
    DeliveryRow.project_id == bindparam("of_project"), DeliveryRow.page_key == bindparam("of_page")
)


def find_responses(
    connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]
) -> dict[bytes, ResponseRecord | None]:
    """Return the answers that are held, by key; None for one that is damaged."""
    found: dict[bytes, ResponseRecord | None] = {}
    for row in rows_by(connection, _RESPONSES, keys, of_project=project_id):
        body = unpack_bytes if row.is_packed else bytes
        try:
            found[row.wire_key] = read(row, ResponseRecord, headers=_unpack_headers, body=body)
        except (DamagedError, ValueError, TypeError):
            found[row.wire_key] = None
    return found


def _unpack_headers(packed: bytes) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in unpack_json(packed)]


def find_texts(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, HeldText]:
    """Return what was cut from pages, by key, as far as it can be read."""
    found: dict[bytes, HeldText] = {}
    for row in rows_by(connection, _TEXTS, keys, of_project=project_id):
        try:
            held = read(row, HeldText, report=unpack_json)
        except DamagedError:
            continue
        if isinstance(held.report, dict):
            found[row.page_key] = held
    return found


def _write_responses(connection: Connection, project_id: uuid.UUID, rows: Mapping[bytes, Row]) -> int:
    """Write answers; return by how many bytes the project grew."""
    if not rows:
        return 0
    sizes = select(func.coalesce(func.sum(Response.body_bytes), 0)).where(Response.project_id == project_id)
    held = sum(size for (size,) in rows_in(connection, sizes, Response.wire_key, rows))
    upsert(connection, Response, _RESPONSE_KEYS, list(rows.values()))
    return int(sum(row["body_bytes"] for row in rows.values())) - int(held)


def write_others(connection: Connection, project_id: uuid.UUID, batch: Batch) -> None:
    """Write which answers still hold, and what visits delivered."""
    if batch.validated:
        table = table_of(Response)
        of_key = (table.c.project_id == bindparam("of_project")) & (table.c.wire_key == bindparam("of_key"))
        rows = [
            {"of_project": project_id, "of_key": key, "validated_at": at} for key, at in sorted(batch.validated.items())
        ]
        connection.execute(update(table).where(of_key), rows)
    upsert(connection, DeliveryRow, ("project_id", "page_key", "giver"), list(batch.deliveries.values()))


def _drop_oldest_responses(connection: Connection, project_id: uuid.UUID, excess: int) -> int:
    """Drop the answers that came longest ago, so many bytes of them; return how many bytes went."""
    oldest = (
        select(Response.wire_key, Response.body_bytes)
        .where(Response.project_id == project_id)
        .order_by(Response.received_at, Response.wire_key)
        .limit(_DROPPED_AT_ONCE)
    )
    dropped, freed = _first_of(connection, oldest, excess)
    of_project = delete(Response).where(Response.project_id == project_id)
    change_in(connection, of_project, Response.wire_key, [key for key, _ in dropped])
    return freed


def deliveries(connection: Connection, project_id: uuid.UUID, page_key: bytes) -> dict[bytes, DeliveryRecord]:
    """Return which items the last acknowledged visit of a page gave, by giver."""
    rows = connection.execute(_DELIVERIES, {"of_project": project_id, "of_page": page_key})
    return {row.giver: read(row, DeliveryRecord) for row in rows}
