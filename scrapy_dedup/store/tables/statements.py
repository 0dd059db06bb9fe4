"""Parts of statements that many modules need, in the words of the database at hand."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from sqlalchemy import (
    ColumnClause,
    ColumnElement,
    Connection,
    Executable,
    String,
    Table,
    Text,
    and_,
    bindparam,
    case,
    delete,
    func,
    select,
    tuple_,
)
from sqlalchemy.dialects import sqlite

from scrapy_dedup.store.tables.models import Base

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql
    from sqlalchemy.orm import Session

Row = dict[str, Any]
Key = TypeVar("Key", bytes, str)

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


How = Literal["once", "if_known", "smallest", "largest", "added"]
# Of what a column has and is given, what it has then.
_HOW: Final[Mapping[How, Callable[[Any, Any], Any]]] = {
    "once": func.coalesce,
    "if_known": lambda stored, new: func.coalesce(new, stored),
    "smallest": lambda stored, new: case((new < stored, new), else_=stored),
    "largest": lambda stored, new: case((stored > new, stored), else_=new),
    # The database adds, so that two crawls at once lose none.
    "added": lambda stored, new: stored + new,
}


def upsert(
    connection: Connection,
    model: type[Base],
    keys: Collection[str],
    rows: Sequence[Row],
    *,
    only: Collection[str] | None = None,
    **how: How,
) -> None:
    """Add the rows; a row whose keys are there takes the new values of its other columns.

    All rows have the same columns; no two have the same keys. They are written in the order of their keys: two
    processes that write the same ones do not wait for each other in a circle, and an index is walked once.

    *keys* are columns with a unique index; *only* these columns take new values, None: all. *how* is said of columns
    that do not simply take them: one is written `once`, unless it is NULL; takes a value `if_known`, which NULL is not;
    keeps the smaller or larger one; or adds up.
    """
    if not rows:
        return
    changes = tuple(name for name in rows[0] if name not in keys and (only is None or name in only))
    columns = tuple(rows[0])
    given = (connection.dialect.name, table_of(model), columns)
    statement = _replacing(*given, tuple(keys), changes, frozenset(how.items()))
    add(connection, statement, columns, sorted(rows, key=itemgetter(*keys)))


def add(connection: Connection, statement: Executable, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Write rows by a statement of `insert_rows`, in their order."""
    if connection.dialect.name == "postgresql":
        connection.execute(statement, {name: [row[name] for row in rows] for name in columns})
    else:
        connection.execute(statement, rows)


def add_missing(connection: Connection, model: type[Base], rows: Sequence[Row]) -> None:
    """Add the rows of which none is there yet; all have the same columns, and are in the order of their keys."""
    columns = tuple(rows[0])
    statement = insert_rows(connection.dialect.name, table_of(model), columns)
    add(connection, statement.on_conflict_do_nothing(), columns, rows)


@lru_cache(maxsize=128)
def insert_rows(dialect: str, table: Table, columns: tuple[str, ...]) -> "sqlite.Insert | postgresql.Insert":
    """Return an insert of rows with some columns that knows ON CONFLICT, for `add`.

    For PostgreSQL it takes a list for each column: rows of their own would be a statement each, to the server, too.
    """
    statement = _insert_into(dialect, table)
    if dialect != "postgresql":
        return statement
    from sqlalchemy.dialects.postgresql import ARRAY  # noqa: PLC0415

    # Cast to a list of texts of some length, one that is too long would be cut without a word.
    types = (Text() if isinstance(table.c[name].type, String) else table.c[name].type for name in columns)
    lists = (bindparam(name, type_=ARRAY(one, dimensions=1)) for name, one in zip(columns, types, strict=True))
    return statement.from_select(columns, select(*map(func.unnest, lists)))


# To build one takes longer than to write ten rows by it.
@lru_cache(maxsize=128)
def _replacing(
    dialect: str,
    table: Table,
    columns: tuple[str, ...],
    keys: tuple[str, ...],
    changes: tuple[str, ...],
    how: frozenset[tuple[str, How]],
) -> Executable:
    statement = insert_rows(dialect, table, columns)
    new = statement.excluded
    changed: dict[str, Any] = {name: new[name] for name in changes}
    changed |= {name: _HOW[one](table.c[name], new[name]) for name, one in how if name in changes}
    return statement.on_conflict_do_update(index_elements=list(keys), set_=changed)


def chunks(keys: Collection[Key], at_once: int = _IN_CHUNK) -> Iterator[list[Key]]:
    """Split keys, in their order, into lists that fit into one statement's IN."""
    ordered = sorted(keys)
    for start in range(0, len(ordered), at_once):
        yield ordered[start : start + at_once]


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


def cut(connection: Connection, order: Sequence[ColumnClause[Any]], room: int, *same: ColumnElement[bool]) -> None:
    """Delete all but so many of the rows that are chosen, the first ones in an order in which no two are equal."""
    newest_first = (column.desc() for column in order)
    newest_to_go = select(*order).where(*same).order_by(*newest_first).offset(room).limit(1)
    last = connection.execute(newest_to_go).one()
    model = order[0].table
    assert isinstance(model, Table)
    connection.execute(delete(model).where(*same, tuple_(*order) <= tuple_(*last)))


def same_page(one: Any, other: Any) -> ColumnElement[bool]:
    """Say in SQL that rows of two tables are of one page."""
    return and_(one.project_id == other.project_id, one.page_key == other.page_key)
