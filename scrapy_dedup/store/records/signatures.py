"""By what pages are found again by others: titles, texts, and the sketches of pages that are nearly the same."""

import struct
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import BigInteger, Connection, Select, bindparam, delete, func, literal_column, select, union_all

from scrapy_dedup.core.duplicates import VERSION, Sketch
from scrapy_dedup.store.engine.codec import row_of
from scrapy_dedup.store.tables.models import NearDuplicate, PageSignature
from scrapy_dedup.store.tables.upserts import Row, chunks, insert_into, table_of, upsert

# Of a band that more pages share, the oldest: 50,000 pages of one template, like but not alike enough, are otherwise
# counted anew for each page that comes.
PAGES_OF_A_BAND: Final = 48
# Written out in the statement: twenty more values would cost more than the search.
_OLDEST: Final = literal_column(str(PAGES_OF_A_BAND), BigInteger)
_BAND_BYTES: Final = 8

_KEY = ("project_id", "page_key")
_PAGES = table_of(PageSignature)
_BANDS = table_of(NearDuplicate)
_OF_PROJECT = _PAGES.c.project_id == bindparam("of_project", type_=_PAGES.c.project_id.type)
_DELETE_BAND = delete(_BANDS).where(_BANDS.c.band == bindparam("of_band"), _BANDS.c.page == bindparam("of_page"))


class SignatureRecord(Struct, frozen=True):
    """A page as others may find it; it replaces what is stored of the page.

    Pages with a keeper are not found by their sketch, only keepers are: so the
    pages of a cluster share one row a band, and no page leads to another that
    is not a keeper.
    """

    page_key: bytes
    domain: str
    text_hash: bytes
    title_key: bytes | None = None
    language: str = ""
    sketch: Sketch | None = None
    """None for a page without text."""
    layer: str | None = None
    keeper: bytes | None = None
    jaccard: float | None = None

    def bands(self) -> tuple[int, ...]:
        """Return the bands by which it is found."""
        return self.sketch.bands if self.sketch is not None and self.keeper is None else ()


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


def write(connection: Connection, project_id: uuid.UUID, records: Iterable[SignatureRecord]) -> None:
    """Write signatures, a page's last one; whoever calls has locked the project."""
    by_key = {record.page_key: record for record in records}
    if not by_key:
        return
    before = dict(_stored(connection, project_id, by_key))
    stale = [_Stored(stored.id, stored.bands.difference(by_key[key].bands())) for key, stored in before.items()]
    _delete_bands(connection, stale)
    upsert(connection, PageSignature, _KEY, [_row(project_id, record) for record in by_key.values()])
    ids = {key: stored.id for key, stored in before.items()}
    ids |= {key: stored.id for key, stored in _stored(connection, project_id, by_key.keys() - ids.keys())}
    new = [
        _Stored(ids[key], frozenset(record.bands()).difference(before[key].bands if key in before else ()))
        for key, record in by_key.items()
    ]
    if rows := [{"band": band, "page": page} for band, page in _in_order(new)]:
        connection.execute(insert_into(connection, NearDuplicate).on_conflict_do_nothing(), rows)


def forget(connection: Connection, project_id: uuid.UUID, page_keys: Collection[bytes]) -> int:
    """Delete the signatures of pages; return how many there were. Whoever calls has locked the project."""
    stored = dict(_stored(connection, project_id, page_keys))
    _delete_bands(connection, stored.values())
    for some in chunks(stored):
        connection.execute(delete(_PAGES).where(_PAGES.c.project_id == project_id, _PAGES.c.page_key.in_(some)))
    return len(stored)


def candidates(
    connection: Connection, project_id: uuid.UUID, bands: Sequence[int], limit: int = 50, but: bytes | None = None
) -> list[BandMatch]:
    """Return keepers that share a band, those that share most first, and of these the oldest.

    Of one band not more than PAGES_OF_A_BAND pages are looked at, so that the
    time has a bound whatever is stored. Whether a page may be seen (its
    document is completed, or of this run) is for the caller to say: it reads
    the texts of the few that are left anyway.

    Args:
        connection: to read on.
        project_id: of the pages.
        bands: of the page that comes.
        limit: how many come back at most.
        but: the key of the page that comes; it is not its own candidate.
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
        .where(_OF_PROJECT, _PAGES.c.page_key != bindparam("but"))
        .order_by(hits.c.hits.desc(), _PAGES.c.id)
        .limit(bindparam("pages"))
    )


def _stored(
    connection: Connection, project_id: uuid.UUID, page_keys: Collection[bytes]
) -> Iterator[tuple[bytes, _Stored]]:
    """Yield the pages that are stored, by key, with the bands by which they are found."""
    for some in chunks(page_keys):
        of_pages = select(_PAGES.c.page_key, _PAGES.c.id, _PAGES.c.bands).where(
            _PAGES.c.project_id == project_id, _PAGES.c.page_key.in_(some)
        )
        for key, number, bands in connection.execute(of_pages):
            yield key, _Stored(number, frozenset(struct.unpack(f">{len(bands) // _BAND_BYTES}q", bands)))


def _delete_bands(connection: Connection, pages: Iterable[_Stored]) -> None:
    if rows := [{"of_band": band, "of_page": page} for band, page in _in_order(pages)]:
        connection.execute(_DELETE_BAND, rows)


def _in_order(pages: Iterable[_Stored]) -> list[tuple[int, int]]:
    """Return (band, page) in the order of their index, which is walked once."""
    return sorted((band, page.id) for page in pages for band in page.bands)


def _row(project_id: uuid.UUID, record: SignatureRecord) -> Row:
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
