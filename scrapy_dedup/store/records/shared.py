"""What pages share with others: titles, texts, sketches of pages that are nearly the same, and chunks.

Of chunks: who holds which text, and who comes next when a holder disappears.
"""

import struct
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Executable,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    true,
    union_all,
    update,
)

from scrapy_dedup.core.chunks.chunks import HOLDING, StoredChunk
from scrapy_dedup.core.duplicates import VERSION
from scrapy_dedup.store.engine.codec import column_text, row_of
from scrapy_dedup.store.records.batch import Batch
from scrapy_dedup.store.records.lookups import columns_of
from scrapy_dedup.store.records.records import ChunksRecord, ForgetRecord, SignatureRecord, Twin
from scrapy_dedup.store.tables.models import Document, DocumentChunk, NearDuplicate, PageSignature, SourceRow
from scrapy_dedup.store.tables.statements import (
    Row,
    add_missing,
    change_in,
    rows_by,
    rows_in,
    same_page,
    table_of,
    upsert,
)

# Of a band that more pages share, the oldest: 50,000 pages of one template, like but not alike enough, are otherwise
# counted anew for each page that comes.
PAGES_OF_A_BAND: Final = 48
# Written out in the statement: twenty more values would cost more than the search.
_OLDEST: Final = literal_column(str(PAGES_OF_A_BAND), BigInteger)
_BAND_BYTES: Final = 8

_KEY = ("project_id", "page_key")
_PAGES = table_of(PageSignature)
_BANDS = table_of(NearDuplicate)
_PAGES_OF_PROJECT = _PAGES.c.project_id == bindparam("of_project", type_=_PAGES.c.project_id.type)
_DELETE_BAND = delete(_BANDS).where(_BANDS.c.band == bindparam("of_band"), _BANDS.c.page == bindparam("of_page"))


class BandMatch(Struct, frozen=True):
    """A page that shares bands with another."""

    page_key: bytes
    shingles: int
    signature: bytes
    hits: int
    """How many bands they share."""


class _Stored(Struct, frozen=True):
    id: int
    bands: frozenset[int] = frozenset()


def write_signatures(connection: Connection, project_id: uuid.UUID, records: Iterable[SignatureRecord]) -> None:
    """Write signatures, a page's last one; whoever calls has locked the project."""
    by_key = {record.page_key: record for record in records}
    if not by_key:
        return
    before = dict(_stored_signatures(connection, project_id, by_key))
    stale = [_Stored(stored.id, stored.bands.difference(by_key[key].bands())) for key, stored in before.items()]
    _delete_bands(connection, stale)
    upsert(connection, PageSignature, _KEY, [_signature_row(project_id, record) for record in by_key.values()])
    ids = {key: stored.id for key, stored in before.items()}
    ids |= {key: stored.id for key, stored in _stored_signatures(connection, project_id, by_key.keys() - ids.keys())}
    new = [
        _Stored(ids[key], frozenset(record.bands()).difference(before[key].bands if key in before else ()))
        for key, record in by_key.items()
    ]
    if rows := [{"band": band, "page": page} for band, page in _in_order(new)]:
        add_missing(connection, NearDuplicate, rows)


def forget_signatures(connection: Connection, project_id: uuid.UUID, page_keys: Collection[bytes]) -> int:
    """Delete the signatures of pages; return how many there were. Whoever calls has locked the project."""
    stored = dict(_stored_signatures(connection, project_id, page_keys))
    _delete_bands(connection, stored.values())
    of_project = delete(_PAGES).where(_PAGES.c.project_id == project_id)
    return change_in(connection, of_project, _PAGES.c.page_key, stored)


def candidates(
    connection: Connection, project_id: uuid.UUID, bands: Sequence[int], limit: int = 50, but: bytes | None = None
) -> list[BandMatch]:
    """Return keepers that share a band, those that share most first, and of these the oldest.

    Of one band not more than PAGES_OF_A_BAND pages are looked at, so that the time has a bound whatever is stored.
    Whether a page may be seen (its document is completed, or of this run) is for the caller to say: it reads the texts
    of the few that are left anyway.

    *but* is the key of the page that comes, which has these bands.
    """
    if not bands:
        return []
    values: dict[str, Any] = {f"band_{number}": band for number, band in enumerate(bands)}
    values |= {"of_project": project_id, "but": but or b"", "pages": limit}
    return [BandMatch(*row) for row in connection.execute(_question(len(bands)), values)]


# Asked for every page: building the statement each time would cost more than the answer.
@lru_cache(maxsize=8)
def _question(number: int) -> Select[Any]:
    pages = [
        select(
            select(_BANDS.c.page)
            .where(_BANDS.c.band == bindparam(f"band_{at}", type_=BigInteger))
            .order_by(_BANDS.c.page)
            .limit(_OLDEST)
            .subquery()
        )
        for at in range(number)
    ]
    found = union_all(*pages).subquery()
    hits = select(found.c.page, func.count().label("hits")).group_by(found.c.page).subquery()
    return (
        select(_PAGES.c.page_key, _PAGES.c.shingles, _PAGES.c.signature, hits.c.hits)
        .select_from(hits)
        .join(_PAGES, _PAGES.c.id == hits.c.page)
        .where(_PAGES_OF_PROJECT, _PAGES.c.page_key != bindparam("but"))
        .order_by(hits.c.hits.desc(), _PAGES.c.id)
        .limit(bindparam("pages"))
    )


def _stored_signatures(
    connection: Connection, project_id: uuid.UUID, page_keys: Collection[bytes]
) -> Iterator[tuple[bytes, _Stored]]:
    """Yield the pages that are stored, by key, with the bands by which they are found."""
    of_project = select(_PAGES.c.page_key, _PAGES.c.id, _PAGES.c.bands).where(_PAGES.c.project_id == project_id)
    for key, number, bands in rows_in(connection, of_project, _PAGES.c.page_key, page_keys):
        yield key, _Stored(number, frozenset(struct.unpack(f">{len(bands) // _BAND_BYTES}q", bands)))


def _delete_bands(connection: Connection, pages: Iterable[_Stored]) -> None:
    if rows := [{"of_band": band, "of_page": page} for band, page in _in_order(pages)]:
        connection.execute(_DELETE_BAND, rows)


def _in_order(pages: Iterable[_Stored]) -> list[tuple[int, int]]:
    """Return (band, page) in the order of their index, which is walked once."""
    return sorted((band, page.id) for page in pages for band in page.bands)


def _signature_row(project_id: uuid.UUID, record: SignatureRecord) -> Row:
    sketch = record.sketch
    row = row_of(
        record,
        project_id=project_id,
        version=VERSION,
        shingles=sketch.shingles if sketch else 0,
        signature=sketch.signature if sketch else b"",
        bands=struct.pack(f">{len(record.bands())}q", *record.bands()),
    )
    del row["sketch"]
    return row


MOVED = "moved here: the page that held it does not any more"
STALE_CHUNK = "chunk"
"""Why a document is made anew that a chunk moved to."""

_CHUNK = table_of(DocumentChunk).c


def visible() -> ColumnElement[bool]:
    """Say in SQL which documents count for others: completed ones, and those that the run `of_run` has in work."""
    in_work = and_(Document.status == "processing", Document.run_id == bindparam("of_run", type_=Document.run_id.type))
    return and_(Document.gone_at.is_(None), or_(Document.status == "completed", in_work))


_CHUNKS_OF_PROJECT = DocumentChunk.project_id == bindparam("of_project", type_=DocumentChunk.project_id.type)
# Asked for every page: building these each time would cost more than the answers.
_HOLDERS = (
    select(DocumentChunk.content_hash, DocumentChunk.page_key)
    .join(Document, same_page(Document, DocumentChunk))
    .where(
        _CHUNKS_OF_PROJECT,
        DocumentChunk.content_hash.in_(bindparam("keys", expanding=True)),
        DocumentChunk.state.in_(HOLDING),
        DocumentChunk.page_key != bindparam("but"),
        visible(),
    )
    # Not ordered, and not distinct, here: for one text SQLite would walk through all documents in that order.
)
_OF_PAGES = (
    select(DocumentChunk.page_key, *columns_of(DocumentChunk, StoredChunk))
    .where(_CHUNKS_OF_PROJECT, DocumentChunk.page_key.in_(bindparam("keys", expanding=True)))
    .order_by(DocumentChunk.page_key, DocumentChunk.position)
)
_NEXT = (
    select(DocumentChunk.page_key, DocumentChunk.position, DocumentChunk.state)
    .join(Document, same_page(Document, DocumentChunk))
    .where(
        _CHUNKS_OF_PROJECT,
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
    for content_hash, key in rows_by(connection, _HOLDERS, set(hashes), **values):
        found.setdefault(content_hash, set()).add(key)
    return {content_hash: sorted(keys) for content_hash, keys in found.items()}


def chunks_of_page(connection: Connection, project_id: uuid.UUID, page_key: bytes) -> list[StoredChunk]:
    """Return a page's chunks, in their order."""
    return chunks_of_pages(connection, project_id, [page_key]).get(page_key, [])


def chunks_of_pages(
    connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]
) -> dict[bytes, list[StoredChunk]]:
    """Return the chunks of some pages, in their order."""
    found: dict[bytes, list[StoredChunk]] = {}
    for key, *values in rows_by(connection, _OF_PAGES, keys, of_project=project_id):
        found.setdefault(key, []).append(StoredChunk(*values))
    return found


def write_chunks(
    connection: Connection,
    project_id: uuid.UUID,
    run_id: uuid.UUID | None,
    records: Mapping[bytes, ChunksRecord | ForgetRecord],
) -> None:
    """Replace the chunks of some pages, and give what they held to others that have it; all in one transaction."""
    if not records:
        return
    held = _held_texts(connection, project_id, records)
    of_project = DocumentChunk.project_id == project_id
    change_in(connection, delete(DocumentChunk).where(of_project), DocumentChunk.page_key, records)
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


def _held_texts(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, set[bytes]]:
    """Return which texts some pages hold."""
    found: dict[bytes, set[bytes]] = {}
    holding = select(DocumentChunk.page_key, DocumentChunk.content_hash).where(
        DocumentChunk.project_id == project_id, DocumentChunk.state.in_(HOLDING)
    )
    for key, content_hash in rows_in(connection, holding, DocumentChunk.page_key, keys):
        found.setdefault(key, set()).add(content_hash)
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
    of_page = (Document.project_id == project_id, Document.page_key == page_key)
    connection.execute(update(Document).where(*of_page).values(stale=STALE_CHUNK))


# More pages with one title, or one text, tell nothing that these do not.
_MOST_TWINS = 64


_SIGNATURES = (
    select().join_from(PageSignature, Document, same_page(Document, PageSignature)).where(_PAGES_OF_PROJECT, visible())
)
# Asked for every page: building these each time would cost more than the answers.
_SAME_TITLE = (
    _SIGNATURES.add_columns(PageSignature.page_key, PageSignature.text_hash, PageSignature.layer.is_not(None))
    .where(PageSignature.domain == bindparam("of_domain"), PageSignature.title_key == bindparam("title"))
    .order_by(PageSignature.id)
    .limit(_MOST_TWINS)
)
_SAME_TEXT = (
    _SIGNATURES.add_columns(PageSignature.page_key)
    .where(PageSignature.text_hash == bindparam("text"), PageSignature.layer.is_(None))
    .order_by(PageSignature.id)
    .limit(_MOST_TWINS)
)
_SAME_TEXT_OF_DOMAIN = _SAME_TEXT.where(PageSignature.domain == bindparam("of_domain"))
_TEXTS = (
    select(SourceRow.page_key, SourceRow.cleaned_content)
    .join(Document, same_page(Document, SourceRow))
    .where(
        SourceRow.project_id == bindparam("of_project", type_=SourceRow.project_id.type),
        SourceRow.page_key.in_(bindparam("keys", expanding=True)),
        SourceRow.cleaned_content.is_not(None),
        visible(),
    )
)


def same_title(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, domain: str, title_key: bytes
) -> list[Twin]:
    """Return pages of a domain that have a title, in the order in which they came."""
    values = {"of_project": project_id, "of_run": run_id, "of_domain": column_text(domain), "title": title_key}
    return [Twin(*row) for row in connection.execute(_SAME_TITLE, values)]


def same_text(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, text_hash: bytes, domain: str | None
) -> list[bytes]:
    """Return the pages that stand for a text, in the order in which they came; None: of any domain."""
    values = {"of_project": project_id, "of_run": run_id, "text": text_hash}
    if domain is None:
        return list(connection.scalars(_SAME_TEXT, values))
    return list(connection.scalars(_SAME_TEXT_OF_DOMAIN, values | {"of_domain": column_text(domain)}))


def texts(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, keys: Collection[bytes]
) -> dict[bytes, str]:
    """Return the clean texts of those pages that count for others and whose text is kept."""
    return {key: text or "" for key, text in rows_by(connection, _TEXTS, keys, of_project=project_id, of_run=run_id)}


# A statement for each number of texts would be too many to keep, and to build one costs more than the answer.
_TEXTS_STEP = 16
_MOST_TEXTS = 256


@lru_cache(maxsize=32)
def _any_other(dialect: str, bands: int, texts: int) -> Executable:
    """Ask by one statement whether any page may have the title, the text, a band or the text of a chunk of a page."""
    own = select(PageSignature.id).where(_PAGES_OF_PROJECT)
    title = own.where(PageSignature.domain == bindparam("of_domain"), PageSignature.title_key == bindparam("title"))
    found: list[ColumnElement[bool]] = [exists(title), exists(own.where(PageSignature.text_hash == bindparam("text")))]
    if bands:
        found.append(_any_with(dialect, NearDuplicate.band, "band", bands))
    if texts:
        of_project = DocumentChunk.project_id == bindparam("of_project")
        found.append(_any_with(dialect, DocumentChunk.content_hash, "chunk", texts, of_project))
    return select(*found)


def _any_with(dialect: str, column: Any, name: str, number: int, *where: ColumnElement[bool]) -> ColumnElement[bool]:
    """Say in SQL whether any row has one of so many values."""
    values = [bindparam(f"{name}_{at}", type_=column.type) for at in range(number)]
    if dialect != "postgresql":
        return exists(select(column).where(*where, column.in_(values)))
    from sqlalchemy.dialects.postgresql import array  # noqa: PLC0415

    # In search of any of many it reads a table that grew since it last counted it from the start, all of it: 15 ms a
    # page with 2,000 pages. Each value for itself it finds by the index.
    one = func.unnest(array(values)).column_valued(f"one_{name}")
    found = select(column).where(*where, column == one).limit(1).lateral()
    return exists(select(one).join(found, true()))


def without_what_none_has(connection: Connection, project_id: uuid.UUID, question: "Question") -> "Question":
    """Return a question about a new page without what no other page can have: of most pages that is all."""
    bands, texts = question.bands, sorted(question.hashes)
    if len(texts) > _MOST_TEXTS:
        return question
    # The last one again, up to a number for which there is a statement.
    texts += texts[-1:] * (-len(texts) % _TEXTS_STEP)
    values: dict[str, Any] = {f"band_{number}": band for number, band in enumerate(bands)}
    values |= {f"chunk_{number}": text for number, text in enumerate(texts)}
    values |= {"of_project": project_id, "of_domain": column_text(question.domain)}
    values |= {"title": question.title_key, "text": question.text_hash}
    title, text, *others = connection.execute(_any_other(connection.dialect.name, len(bands), len(texts)), values).one()
    return replace(
        question,
        title_key=question.title_key if title else None,
        text_hash=question.text_hash if text else None,
        bands=bands if bands and others[0] else (),
        hashes=question.hashes if texts and others[-1] else frozenset(),
    )


class Question(Struct, frozen=True):
    """What of a page others may have, too."""

    page_key: bytes
    domain: str
    title_key: bytes | None = None
    text_hash: bytes | None = None
    bands: tuple[int, ...] = ()
    hashes: frozenset[bytes] = frozenset()
    """Of its chunks."""
    is_new: bool = False
    """The page has no earlier version."""
    of_project: bool = False
    """Pages with the same text count on any domain."""


class Holders(Struct, frozen=True):
    """Who has it."""

    titles: Sequence[Twin] = ()
    texts: Sequence[bytes] = ()
    near: Sequence[BandMatch] = ()
    holders: dict[bytes, list[bytes]] = field(default_factory=dict)
    before: Sequence[StoredChunk] = ()
    """The page's own chunks, of its last version."""
    contents: Mapping[bytes, str] = field(default_factory=dict)
    """Clean texts of pages that are compared by them, by key, where somebody asked for these."""


def write(connection: Connection, batch: Batch) -> None:
    """Write what pages share, after the documents: who counts depends on them. Pages that are gone hold nothing."""
    project_id = batch.project_id
    forget_signatures(connection, project_id, batch.forgotten.union(batch.gone))
    write_signatures(connection, project_id, batch.signatures.values())
    chunks_now = batch.chunks | {key: ForgetRecord(key) for key in batch.gone}
    write_chunks(connection, project_id, batch.run_id, chunks_now)


def others(connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, question: Question) -> Holders:
    """Return who has what a page has; pages that are not completed count only if this run has them in work."""
    if question.is_new:
        question = without_what_none_has(connection, project_id, question)
    title_key, text_hash = question.title_key, question.text_hash
    about = (connection, project_id, run_id)
    own = question.page_key
    titles = same_title(*about, question.domain, title_key) if title_key else []
    domain = None if question.of_project else question.domain
    texts = same_text(*about, text_hash, domain) if text_hash else []
    near = candidates(connection, project_id, question.bands, but=own) if question.bands else []
    held = holders(*about, question.hashes, own) if question.hashes else {}
    has_before = bool(question.hashes) and not question.is_new
    return Holders(
        [twin for twin in titles if twin.page_key != own],
        [key for key in texts if key != own],
        near,
        held,
        chunks_of_page(connection, project_id, own) if has_before else [],
    )
