"""Ids of projects, runs and workers as 16 bytes in SQLite, where they were 32 digits in each row and most indexes."""

import uuid
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_DIGITS = 32


def upgrade() -> None:
    def packed(digits: str) -> bytes:
        return uuid.UUID(digits).bytes

    _rewrite(packed)


def downgrade() -> None:
    def digits(packed: bytes) -> str:
        return packed.hex()

    _rewrite(digits)


def _rewrite(changed: Callable[[Any], str | bytes]) -> None:
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return
    raw = connection.connection.driver_connection
    assert raw is not None
    raw.create_function("rewritten", 1, changed, deterministic=True)
    # Rows that refer to others change in another statement than these.
    connection.execute(sa.text("PRAGMA defer_foreign_keys = ON"))
    found = sa.inspect(connection)
    for name in found.get_table_names():
        for one in found.get_columns(name):
            if _is_id(one["type"]):
                column: sa.ColumnClause[Any] = sa.column(one["name"])
                table = sa.table(name, column)
                new = {column.name: sa.func.rewritten(column)}
                connection.execute(sa.update(table).where(column.is_not(None)).values(new))


def _is_id(declared: object) -> bool:
    return isinstance(declared, sa.CHAR) and declared.length == _DIGITS
