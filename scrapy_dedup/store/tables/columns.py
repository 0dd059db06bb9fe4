"""Types of columns, and an order of texts, that mean the same on every database."""

import uuid
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BLOB, BigInteger, Boolean, DateTime, Dialect, Integer, LargeBinary, Text, TypeDecorator, Uuid
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

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


class Number128(TypeDecorator[uuid.UUID]):
    """A UUID as 16 bytes, also in SQLite, where SQLAlchemy writes 32 digits: it is in each row and most indexes.

    A UUID that is compared with anything but a column (in a tuple, in `coalesce`) has to be given this type, or is
    written as 32 digits there.
    """

    impl = Uuid
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:  # noqa: D102
        return dialect.type_descriptor(BLOB() if dialect.name == "sqlite" else Uuid())

    def process_bind_param(self, value: uuid.UUID | None, dialect: Dialect) -> Any:  # noqa: D102
        return value.bytes if value is not None and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> uuid.UUID | None:  # noqa: D102
        return uuid.UUID(bytes=value) if value is not None and dialect.name == "sqlite" else value


class by_code_point(FunctionElement[str]):  # noqa: N801 (a function of SQL, as those of `func` are)
    """A text to order by, by its code points; PostgreSQL else takes the order of some human language."""

    inherit_cache = True
    type = Text()


class clock(FunctionElement[datetime]):  # noqa: N801 (a function of SQL)
    """The present instant by the database's clock, also within a transaction: clocks of machines differ."""

    inherit_cache = True
    type = UtcDateTime()


@compiles(clock)
def _of_this_machine(element: clock, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ARG001 (SQLAlchemy's signature)
    # As SQLAlchemy writes instants into SQLite, which compares them as texts.
    return "strftime('%Y-%m-%d %H:%M:%f', 'now') || '000'"


@compiles(clock, "postgresql")
def _of_the_server(element: clock, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ARG001 (SQLAlchemy's signature)
    return "clock_timestamp()"


class restarted(FunctionElement[bool]):  # noqa: N801 (a function of SQL)
    """Whether the server started a moment ago, and after the instant that is given: nobody could be heard before."""

    inherit_cache = True
    type = Boolean()


@compiles(restarted)
def _never(element: restarted, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ARG001 (SQLAlchemy's signature)
    return "(1 = 0)"


@compiles(restarted, "postgresql")
def _just_now(element: restarted, compiler: SQLCompiler, **options: Any) -> str:
    # Crawls try once a second, and look for a connection for some seconds more.
    start = "pg_postmaster_start_time()"
    before = compiler.process(element.clauses, **options)
    return f"({before} < {start} AND clock_timestamp() < {start} + interval '15 seconds')"


@compiles(by_code_point)
def _plain(element: by_code_point, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(by_code_point, "postgresql")
def _collated(element: by_code_point, compiler: SQLCompiler, **options: Any) -> str:
    return f'{compiler.process(element.clauses, **options)} COLLATE "C"'
