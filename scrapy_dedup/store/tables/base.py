"""What all tables have in common."""

import uuid
from datetime import datetime

from sqlalchemy import Float, ForeignKey, MetaData, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from scrapy_dedup.store.tables.columns import Number128, UtcDateTime

NO_RUN = uuid.UUID(int=0)  # what was written outside of one


class Base(DeclarativeBase):
    """Base of all tables; names of constraints are fixed, so that migrations can name them."""

    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        },
    )
    type_annotation_map = {uuid.UUID: Number128(), datetime: UtcDateTime(), str: Text(), float: Float()}  # noqa: RUF012 (SQLAlchemy's own form)


def of_project(*, primary_key: bool = False) -> Mapped[uuid.UUID]:
    """Return the column that lets a row go with its project."""
    return mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=primary_key)
