"""What nobody needs any more, and its removal: some thousand rows a transaction, so that a crawl may go on beside.

A sweep says which rows of one table go. Rows are looked at in the order of a key, each once, however many parts the
removal takes. What depends on a page goes by the same condition as the page itself, before it, so that a dry run counts
what a removal removes, and one that was interrupted leaves nothing that a later one does not find.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    cast,
    delete,
    func,
    literal,
    select,
    tuple_,
    update,
)

from scrapy_dedup.store import contents
from scrapy_dedup.store.base import Base
from scrapy_dedup.store.models import PageSignature
from scrapy_dedup.store.signatures import forget
from scrapy_dedup.store.upserts import table_of

ROWS_AT_ONCE: Final = 1_000
_KEYS_AT_ONCE: Final = 250
# What a number, a time or a key takes up, and what a row does beside its columns.
_COLUMN_BYTES: Final = 8
_ROW_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Sweep:
    """Rows of a project that nobody needs.

    Attributes:
        what: in words, as users read it.
        model: the table.
        keys: columns of a unique key that the table is walked by, in the order of an index.
        go: says in SQL which rows go.
        empties: these columns are emptied, and the row stays; None: the row goes.
        counted: columns whose sum the project's `stored_bytes` holds.
    """

    what: str
    model: type[Base]
    keys: tuple[str, ...]
    go: ColumnElement[bool]
    empties: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Swept:
    """So many rows, and about how many bytes they take up, indexes left out."""

    rows: int
    size_bytes: int


def measure(connection: Connection, sweep: Sweep, project_id: uuid.UUID) -> Swept:
    """Return what a sweep would remove."""
    table = table_of(sweep.model)
    found = select(func.count(), func.coalesce(func.sum(_size(sweep, table)), 0)).where(*_chosen(sweep, project_id))
    rows, size_bytes = connection.execute(found).one()
    return Swept(rows, int(size_bytes))


def parts(sweep: Sweep, project_id: uuid.UUID) -> "Iterator[Part]":
    """Yield the parts of a removal, each for a transaction of its own; the next one begins where the last one ended."""
    part = Part(sweep, project_id)
    while not part.is_last:
        yield part


class Part:
    """The next rows of a sweep."""

    def __init__(self, sweep: Sweep, project_id: uuid.UUID) -> None:
        """Begin with the first ones."""
        self._sweep = sweep
        self._project_id = project_id
        self._after: tuple[Any, ...] | None = None
        self.is_last = False

    def remove(self, connection: Connection, limit: int = ROWS_AT_ONCE) -> Swept:
        """Remove so many rows; on a connection that writes, and holds no lock yet."""
        # Taken first by all who write: what a crawl has under way is there, or comes after this.
        stored_bytes = contents.lock_project(connection, self._project_id)
        found = self._next(connection, limit) if stored_bytes is not None else []
        if len(found) < limit:
            self.is_last = True
        if not found or stored_bytes is None:
            return Swept(0, 0)
        keys = [tuple(row[:-2]) for row in found]
        self._after = keys[-1]
        self._remove(connection, keys)
        if freed := sum(row[-1] for row in found):
            contents.count_bytes(connection, self._project_id, max(0, stored_bytes - freed))
        return Swept(len(found), sum(row[-2] for row in found))

    def _next(self, connection: Connection, limit: int) -> Sequence[Any]:
        sweep, table = self._sweep, table_of(self._sweep.model)
        keys = [table.c[name] for name in sweep.keys]
        counted: ColumnElement[int] = literal(0, Integer())
        for name in sweep.counted:
            counted = counted + func.coalesce(table.c[name], 0)
        some = (
            select(*keys, _size(sweep, table).label("size"), counted.label("counted"))
            .where(*_chosen(sweep, self._project_id))
            .order_by(*keys)
            .limit(limit)
        )
        if self._after is not None:
            after = [literal(value, key.type) for value, key in zip(self._after, keys, strict=True)]
            some = some.where(tuple_(*keys) > tuple_(*after))
        return connection.execute(some).all()

    def _remove(self, connection: Connection, keys: list[tuple[Any, ...]]) -> None:
        sweep, table = self._sweep, table_of(self._sweep.model)
        if sweep.model is PageSignature:
            # With their bands, which no foreign key takes along.
            forget(connection, self._project_id, [key for (key,) in keys])
            return
        columns = [table.c[name] for name in sweep.keys]
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            these = columns[0].in_([key for (key,) in some]) if len(columns) == 1 else tuple_(*columns).in_(some)
            of_project = (_of_project(table, self._project_id), these)
            if sweep.empties:
                connection.execute(update(table).where(*of_project).values(_nothing(table, sweep.empties)))
            else:
                connection.execute(delete(table).where(*of_project))


def _chosen(sweep: Sweep, project_id: uuid.UUID) -> tuple[ColumnElement[bool], ...]:
    return _of_project(table_of(sweep.model), project_id), sweep.go


def _of_project(table: Table, project_id: uuid.UUID) -> ColumnElement[bool]:
    return table.c.project_id == project_id


def _size(sweep: Sweep, table: Table) -> ColumnElement[int]:
    """Return in SQL about how many bytes of a row go."""
    columns = [table.c[name] for name in sweep.empties] or list(table.c)
    plain = [column for column in columns if not _is_long(column)]
    size: ColumnElement[int] = literal(0 if sweep.empties else _ROW_BYTES + _COLUMN_BYTES * len(plain), Integer())
    for column in columns:
        if isinstance(column.type, LargeBinary):
            size = size + func.coalesce(func.length(column), 0)
        elif _is_long(column):
            size = size + func.coalesce(func.length(cast(column, Text)), 0)
    return size


def _is_long(column: ColumnElement[Any]) -> bool:
    return isinstance(column.type, LargeBinary | String | JSON)


def _nothing(table: Table, columns: Sequence[str]) -> dict[str, Any]:
    return {name: None if table.c[name].nullable else 0 for name in columns}
