"""What is kept of pages: originals in their versions, answers as they came over the wire, and what callbacks yielded.

Originals and answers count for the size bound, which is held here; and it is noted which items visits delivered.
"""

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import (
    ColumnClause,
    ColumnElement,
    Connection,
    LargeBinary,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
    tuple_,
    update,
)

from scrapy_dedup.store.engine.codec import column_text, unpack_bytes, unpack_json
from scrapy_dedup.store.engine.errors import DamagedError
from scrapy_dedup.store.records.batch import Batch, size_of
from scrapy_dedup.store.records.lookups import columns_of, read, read_extraction, values_of
from scrapy_dedup.store.records.records import DeliveryRecord, ExtractionRecord, KeepPolicy, ResponseRecord
from scrapy_dedup.store.records.stored import ExtractionChoice, ExtractionFigures
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import (
    DeliveryRow,
    Document,
    Extraction,
    Project,
    Response,
    SourceRow,
    SourceVersion,
)
from scrapy_dedup.store.tables.statements import Row, change_in, chunks, rows_by, rows_in, same_page, table_of, upsert

_KEYS = ("project_id", "page_key")
# When the bound is passed, what is kept shrinks to this share of it, so that the next time is some pages away.
_ROOM = 0.9
_DROPPED_AT_ONCE = 500


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
    connection.execute(update(source).where(of_page).values(report=report), rows)
    return sum(size - held[key].cleaned_bytes for key, size in sizes.items())


def _held(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, Any]:
    """Return what the rows of pages hold before a write: fetched_at, content_bytes, cleaned_bytes."""
    columns = (SourceRow.page_key, SourceRow.fetched_at, SourceRow.content_bytes, SourceRow.cleaned_bytes)
    of_project = select(*columns).where(SourceRow.project_id == project_id)
    return {row.page_key: row for row in rows_in(connection, of_project, SourceRow.page_key, keys)}


def _keep_versions(
    connection: Connection,
    project_id: uuid.UUID,
    replaced: Mapping[bytes, Row],
    held: Mapping[bytes, Any],
    versions: int,
) -> int:
    """Keep what is about to be replaced, as far as so many versions allow; return the growth in bytes."""
    grown = 0
    if versions > 1:
        grown = _move_to_versions(connection, project_id, replaced, held)
    return grown - _drop_versions(connection, project_id, replaced.keys(), versions - 1)


def _move_to_versions(
    connection: Connection, project_id: uuid.UUID, replaced: Mapping[bytes, Row], held: Mapping[bytes, Any]
) -> int:
    """Copy originals that differ from the new ones; a page that came again as it was is no new version."""
    later = [key for key, row in replaced.items() if row["fetched_at"] > held[key].fetched_at]
    columns = (getattr(SourceRow, column.name) for column in table_of(SourceVersion).c)
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

    On PostgreSQL the project's row is locked until the transaction ends, so that two writers neither count wrongly nor
    wait for each other in a circle; on SQLite one transaction writes at a time anyway. Who adds rows that refer to the
    project need not wait: its key stays what it is.
    """
    of_project = select(Project.stored_bytes).where(Project.id == project_id)
    return connection.scalar(of_project.with_for_update(key_share=True))


def count_bytes(connection: Connection, project_id: uuid.UUID, stored_bytes: int) -> None:
    """Note how many bytes the project holds now."""
    connection.execute(update(Project).where(Project.id == project_id).values(stored_bytes=stored_bytes))


_EMPTIED = update(SourceRow).values(
    {"content": None, "content_bytes": 0, "cleaned_content": None, "cleaned_bytes": 0, "report": None}
)
# What the size bound drops: in which order, what a row counts, how it goes, and which do.
_DROPPED: Final[Sequence[Any]] = (
    ((SourceVersion.fetched_at, SourceVersion.page_key), SourceVersion.content_bytes, delete(SourceVersion)),
    ((Response.received_at, Response.wire_key), Response.body_bytes, delete(Response)),
    (
        (SourceRow.fetched_at, SourceRow.page_key),
        SourceRow.content_bytes + SourceRow.cleaned_bytes,
        *(_EMPTIED, SourceRow.content.is_not(None)),
    ),
)


def drop_oldest(connection: Connection, project_id: uuid.UUID, excess: int) -> int:
    """Free at least so many bytes, older versions first, then answers, then the pages fetched longest ago.

    Returns how many.
    """
    freed = 0
    for order, size, change, *chosen in _DROPPED:
        here = (order[0].table.c.project_id == project_id, *chosen)
        oldest = select(*order, size).where(*here).order_by(*order).limit(_DROPPED_AT_ONCE)
        while freed < excess and (rows := connection.execute(oldest).all()):
            for row in rows:
                freed += row[-1]
                if freed >= excess:
                    break
            connection.execute(change.where(*here, tuple_(*order) <= tuple_(*row[:-1])))
    return freed


def empty_pages(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> None:
    """Set the contents of pages to NULL; the rows stay, with URL, title and time."""
    change_in(connection, _EMPTIED.where(SourceRow.project_id == project_id), SourceRow.page_key, keys)


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


def deliveries(connection: Connection, project_id: uuid.UUID, page_key: bytes) -> dict[bytes, DeliveryRecord]:
    """Return which items the last acknowledged visit of a page gave, by giver."""
    rows = connection.execute(_DELIVERIES, {"of_project": project_id, "of_page": page_key})
    return {row.giver: read(row, DeliveryRecord) for row in rows}


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


def write_extractions(connection: Connection, project_id: uuid.UUID, batch: Batch, kept: int) -> None:
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


def find_extraction(connection: Connection, project_id: uuid.UUID, memo_key: bytes) -> ExtractionRecord | None:
    """Return the extraction with this key, None when it is not held."""
    row = connection.execute(_BY_MEMO, {"of_project": project_id, "of_memo": memo_key}).first()
    return read_extraction(row) if row else None


def release_extractions(connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID) -> None:
    """Let what a run kept be used."""
    of_run = (Extraction.project_id == project_id, Extraction.run_id == run_id, ~Extraction.is_usable)
    released = update(Extraction).where(*of_run).values(is_usable=True)
    connection.execute(released)


def extractions_of(connection: Connection, project_id: uuid.UUID, page_key: bytes) -> list[ExtractionRecord]:
    """Return the extractions of a page, newest first."""
    newest_first = (Extraction.created_at.desc(), Extraction.memo_key)
    found = (
        values_of(Extraction, ExtractionRecord, project_id)
        .where(Extraction.page_key == page_key)
        .order_by(*newest_first)
    )
    return [read_extraction(row) for row in connection.execute(found)]


def extraction_figures(connection: Connection, project_id: uuid.UUID) -> dict[str, ExtractionFigures]:
    """Return how many extractions there are and their bytes, by domain, in the order of domains."""
    sums = (
        select(Extraction.domain, *_FIGURES)
        .where(Extraction.project_id == project_id)
        .group_by(Extraction.domain)
        .order_by(by_code_point(Extraction.domain))
    )
    return {domain: ExtractionFigures(count, int(size)) for domain, count, size in connection.execute(sums)}


def remove_extractions(
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
        common.append(~_current())
    pages = _in_parts(Extraction.page_key, choice.page_keys)
    memos = _in_parts(Extraction.memo_key, choice.memo_keys)
    yield from ([*common, *page, *memo] for page in pages for memo in memos)


def _current() -> ColumnElement[bool]:
    """Say in SQL which extractions are of the content that their page has now."""
    # A page that is known from elsewhere by its URL alone has no content.
    content = func.coalesce(Document.content_hash, literal(b"", LargeBinary()))
    return exists().where(same_page(Document, Extraction), content == Extraction.content_hash)


def _in_parts(column: ColumnClause[bytes], keys: Collection[bytes] | None) -> list[list[ColumnElement[bool]]]:
    return [[]] if keys is None else [[column.in_(some)] for some in chunks(set(keys))]
