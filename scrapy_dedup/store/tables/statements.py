"""Parts of statements that many modules need, in the words of the database at hand."""

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Executable, Table, and_, case, func
from sqlalchemy.dialects import sqlite

from scrapy_dedup.store.tables.models import Base

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql
    from sqlalchemy.orm import Session

Row = dict[str, Any]

# SQLite takes 32,766 values in one statement, PostgreSQL twice as many; smaller ones are planned faster.
_IN_CHUNK = 500


def table_of(model: type[Base]) -> Table:
    """Return the table of a model."""
    return model.__table__


def insert_into(connection: Connection, model: type[Base]) -> "sqlite.Insert | postgresql.Insert":
    """Return an insert that knows ON CONFLICT."""
    return _insert_into(connection.dialect.name, table_of(model))


def _insert_into(dialect: str, table: Table) -> "sqlite.Insert | postgresql.Insert":
    if dialect == "postgresql":
        # Its dialect takes a while to import, for those who do not need it.
        from sqlalchemy.dialects.postgresql import insert  # noqa: PLC0415

        return insert(table)
    return sqlite.insert(table)


def upsert(  # noqa: PLR0913 (columns change in four ways)
    connection: Connection,
    model: type[Base],
    keys: Collection[str],
    rows: Sequence[Row],
    *,
    once: Collection[str] = (),
    only: Collection[str] | None = None,
    largest: Collection[str] = (),
) -> None:
    """Add the rows; a row whose keys are there takes the new values of its other columns.

    All rows have the same columns; no two have the same keys. They are written
    in the order of their keys: two processes that write the same ones do not
    wait for each other in a circle, and an index is walked once.

    Args:
        connection: to write on.
        model: of the table.
        keys: columns with a unique index.
        rows: to write.
        once: columns that keep what they have, unless that is NULL.
        only: the columns that take new values; None: all.
        largest: columns that keep what they have if that is more.
    """
    if not rows:
        return
    changes = tuple(name for name in rows[0] if name not in keys and (only is None or name in only))
    dialect, table = connection.dialect.name, table_of(model)
    statement = _replacing(dialect, table, tuple(keys), changes, frozenset(once), frozenset(largest))
    connection.execute(statement, sorted(rows, key=itemgetter(*keys)))


# To build one takes longer than to write ten rows by it.
@lru_cache(maxsize=128)
def _replacing(
    dialect: str,
    table: Table,
    keys: tuple[str, ...],
    changes: tuple[str, ...],
    once: frozenset[str],
    largest: frozenset[str],
) -> Executable:
    statement = _insert_into(dialect, table)
    new = statement.excluded
    changed: dict[str, Any] = {name: new[name] for name in changes}
    changed |= {name: func.coalesce(table.c[name], new[name]) for name in changes if name in once}
    changed |= {
        name: case((table.c[name] > new[name], table.c[name]), else_=new[name]) for name in changes if name in largest
    }
    return statement.on_conflict_do_update(index_elements=list(keys), set_=changed)


def chunks(keys: Collection[bytes]) -> Iterator[list[bytes]]:
    """Split keys, in their order, into lists that fit into one statement's IN."""
    ordered = sorted(keys)
    for start in range(0, len(ordered), _IN_CHUNK):
        yield ordered[start : start + _IN_CHUNK]


def rows_in(
    connection: "Connection | Session", statement: Any, column: ColumnElement[bytes], keys: Collection[bytes]
) -> Iterator[Any]:
    """Yield the rows of a statement whose column holds one of some keys."""
    for some in chunks(keys):
        yield from connection.execute(statement.where(column.in_(some)))


def rows_by(connection: Connection, question: Executable, keys: Collection[bytes], **values: Any) -> Iterator[Any]:
    """Yield the rows of a question that was built once, whose parameter `keys` takes some of the keys."""
    for some in chunks(keys):
        yield from connection.execute(question, values | {"keys": some})


def change_in(
    connection: "Connection | Session", change: Any, column: ColumnElement[bytes], keys: Collection[bytes]
) -> int:
    """Update or delete the rows whose column holds one of some keys; return how many they were."""
    changed = 0
    for some in chunks(keys):
        done: Any = connection.execute(change.where(column.in_(some)))
        changed += done.rowcount
    return changed


def same_page(one: Any, other: Any) -> ColumnElement[bool]:
    """Say in SQL that rows of two tables are of one page."""
    return and_(one.project_id == other.project_id, one.page_key == other.page_key)
