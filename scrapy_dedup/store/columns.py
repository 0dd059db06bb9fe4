"""Types of columns, and an order of texts, that mean the same on every database."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, LargeBinary, Text, TypeDecorator
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

Key = LargeBinary(16)
# SQLite counts rows by itself only in an INTEGER key; an upsert on PostgreSQL uses up a number each time.
RowNumber = BigInteger().with_variant(Integer, "sqlite")


def now() -> datetime:
    """Return the present instant, in UTC."""
    return datetime.now(UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """Aware datetimes in and out, UTC in the table; SQLite itself forgets the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002, D102
        if value is None or value.tzinfo is UTC:
            return value
        if value.tzinfo is None:
            raise ValueError(f"{value!r}: a stored time needs a zone, such as datetime.now(UTC)")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002, D102
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class by_code_point(FunctionElement[str]):  # noqa: N801 (a function of SQL, as those of `func` are)
    """A text to order by, by its code points; PostgreSQL else takes the order of some human language."""

    inherit_cache = True
    type = Text()


@compiles(by_code_point)
def _plain(element: by_code_point, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(by_code_point, "postgresql")
def _collated(element: by_code_point, compiler: SQLCompiler, **options: Any) -> str:
    return f'{compiler.process(element.clauses, **options)} COLLATE "C"'
