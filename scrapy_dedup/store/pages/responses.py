"""Answers as they came over the wire, and what the last visit of a page delivered."""

import uuid
from collections.abc import Collection, Mapping
from datetime import datetime

from msgspec import Struct
from sqlalchemy import Connection, bindparam, delete, func, select, update

from scrapy_dedup.store.engine.codec import unpack_bytes, unpack_json
from scrapy_dedup.store.engine.errors import DamagedError
from scrapy_dedup.store.records.batch import Batch
from scrapy_dedup.store.records.lookups import columns_of
from scrapy_dedup.store.records.records import DeliveryRecord, ResponseRecord
from scrapy_dedup.store.tables.models import DeliveryRow, Response, SourceRow
from scrapy_dedup.store.tables.upserts import Row, chunks, table_of, upsert

_KEYS = ("project_id", "wire_key")
_DROPPED_AT_ONCE = 500


class HeldText(Struct, frozen=True):
    """What was cut from a page: its text, and a plain report of what else stands on its items."""

    page_key: bytes
    field: str
    cleaned_content: str
    report: Mapping[str, object]
    fetched_at: datetime
    """Of the version that it was cut from: that of another visit may have been written since."""


_RESPONSES = select(*columns_of(Response, ResponseRecord), Response.is_packed).where(
    Response.project_id == bindparam("of_project"), Response.wire_key.in_(bindparam("of_keys", expanding=True))
)
_TEXTS = select(*columns_of(SourceRow, HeldText)).where(
    SourceRow.project_id == bindparam("of_project"),
    SourceRow.page_key.in_(bindparam("of_pages", expanding=True)),
    SourceRow.report.is_not(None),
    SourceRow.cleaned_content.is_not(None),
)
_DELIVERIES = select(*columns_of(DeliveryRow, DeliveryRecord)).where(
    DeliveryRow.project_id == bindparam("of_project"), DeliveryRow.page_key == bindparam("of_page")
)


def find(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, ResponseRecord | None]:
    """Return the answers that are held, by key; None for one that is damaged."""
    found: dict[bytes, ResponseRecord | None] = {}
    for some in chunks(keys):
        for row in connection.execute(_RESPONSES, {"of_project": project_id, "of_keys": some}):
            values = dict(row._mapping)  # noqa: SLF001 (SQLAlchemy's public name for it)
            is_packed = values.pop("is_packed")
            try:
                if is_packed:
                    values["body"] = unpack_bytes(values["body"])
                values["headers"] = [(str(name), str(value)) for name, value in unpack_json(values["headers"])]
            except (DamagedError, ValueError, TypeError):
                found[row.wire_key] = None
            else:
                found[row.wire_key] = ResponseRecord(**values)
    return found


def find_texts(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, HeldText]:
    """Return what was cut from pages, by key, as far as it can be read."""
    found: dict[bytes, HeldText] = {}
    for some in chunks(keys):
        for row in connection.execute(_TEXTS, {"of_project": project_id, "of_pages": some}):
            values = dict(row._mapping)  # noqa: SLF001
            try:
                values["report"] = unpack_json(values["report"])
            except DamagedError:
                continue
            if isinstance(values["report"], dict):
                found[row.page_key] = HeldText(**values)
    return found


def write(connection: Connection, project_id: uuid.UUID, rows: Mapping[bytes, Row]) -> int:
    """Write answers; return by how many bytes the project grew."""
    if not rows:
        return 0
    held = 0
    for some in chunks(rows.keys()):
        of_keys = (Response.project_id == project_id, Response.wire_key.in_(some))
        held += connection.scalar(select(func.coalesce(func.sum(Response.body_bytes), 0)).where(*of_keys)) or 0
    upsert(connection, Response, _KEYS, list(rows.values()))
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


def drop_oldest(connection: Connection, project_id: uuid.UUID, excess: int) -> int:
    """Drop the answers that came longest ago, so many bytes of them; return how many bytes went."""
    oldest = (
        select(Response.wire_key, Response.body_bytes)
        .where(Response.project_id == project_id)
        .order_by(Response.received_at, Response.wire_key)
        .limit(_DROPPED_AT_ONCE)
    )
    dropped: list[bytes] = []
    freed = 0
    for key, size in connection.execute(oldest).all():
        if freed >= excess:
            break
        dropped.append(key)
        freed += size
    if dropped:
        connection.execute(delete(Response).where(Response.project_id == project_id, Response.wire_key.in_(dropped)))
    return freed


def deliveries(connection: Connection, project_id: uuid.UUID, page_key: bytes) -> dict[bytes, DeliveryRecord]:
    """Return which items the last acknowledged visit of a page gave, by giver."""
    rows = connection.execute(_DELIVERIES, {"of_project": project_id, "of_page": page_key})
    return {row.giver: DeliveryRecord(**row._mapping) for row in rows}  # noqa: SLF001
