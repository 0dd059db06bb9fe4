"""What all tables have in common."""

import uuid
from datetime import datetime
from typing import Any, ClassVar, get_args

from sqlalchemy import Boolean, Column, Float, ForeignKey, Integer, LargeBinary, MetaData, Table, Text
from sqlalchemy.types import TypeEngine

from scrapy_dedup.store.tables.columns import Number128, UtcDateTime

NO_RUN = uuid.UUID(int=0)  # what was written outside of one
_TYPES: dict[type, TypeEngine[Any]] = {
    uuid.UUID: Number128(),
    datetime: UtcDateTime(),
    str: Text(),
    float: Float(),
    int: Integer(),
    bool: Boolean(),
    bytes: LargeBinary(),
}


class Base:
    """Base of all tables; names of constraints are fixed, so that migrations can name them.

    A class is a table, its annotations are the columns. SQLAlchemy's own declarative classes do the same for objects
    in sessions, which nobody has here, and a crawl would wait for them at its start.
    """

    metadata: ClassVar[MetaData] = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        },
    )
    __tablename__: ClassVar[str]
    __table_args__: ClassVar[Any] = ()
    __table__: ClassVar[Table]

    def __init_subclass__(cls) -> None:
        """Make the table; the class then has its columns as attributes."""
        columns = [_made(name, hint, cls.__dict__.get(name)) for name, hint in cls.__annotations__.items()]
        given = cls.__table_args__
        parts, options = ((), given) if isinstance(given, dict) else (given, {})
        cls.__table__ = Table(cls.__tablename__, cls.metadata, *columns, *parts, **options)
        for one in columns:
            setattr(cls, one.name, one)

    @classmethod
    def __clause_element__(cls) -> Table:
        """Return the table, by which SQLAlchemy takes the class wherever it takes a table."""
        return cls.__table__


def column(*parts: Any, **options: Any) -> Any:
    """Say of a column what its annotation, which has its type in Python, does not: what `Column` is given."""
    return parts, options


def of_project(*, primary_key: bool = False) -> Any:
    """Return the column that lets a row go with its project."""
    return column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=primary_key)


def _made(name: str, hint: Any, said: tuple[tuple[Any, ...], dict[str, Any]] | None) -> Column[Any]:
    """Return a column by its annotation, `ColumnClause[type]` or `ColumnClause[type | None]`, and what is said."""
    parts, options = said or ((), {})
    (kind,) = get_args(hint)
    kinds = get_args(kind)
    is_null = type(None) in kinds
    if is_null:
        kind = next(one for one in kinds if one is not type(None))
    # One that refers to another has that one's type.
    return Column(name, *(parts or (_TYPES[kind],)), nullable=is_null, **options)
