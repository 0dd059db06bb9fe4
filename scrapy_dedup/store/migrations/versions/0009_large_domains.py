"""Indexes by which large domains are read in parts; ids as 16 bytes in SQLite, where they were 32 digits."""

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

    op.drop_index("ix_sources_project_id_domain", "sources")
    op.create_index("ix_sources_domain_by_key", "sources", ["project_id", "domain", "page_key"])
    op.create_index("ix_sources_domain_oldest", "sources", ["project_id", "domain", "fetched_at", "page_key"])
    _rewrite(packed)


def downgrade() -> None:
    def digits(packed: bytes) -> str:
        return packed.hex()

    _rewrite(digits)
    op.drop_index("ix_sources_domain_oldest", "sources")
    op.drop_index("ix_sources_domain_by_key", "sources")
    op.create_index("ix_sources_project_id_domain", "sources", ["project_id", "domain"])


def _rewrite(changed: Callable[[Any], str | bytes]) -> None:
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return

    def changed_if_any(one: Any) -> str | bytes | None:
        return None if one is None else changed(one)

    raw = connection.connection.driver_connection
    assert raw is not None
    raw.create_function("rewritten", 1, changed_if_any, deterministic=True)
    # Rows that refer to others change in another statement than these.
    connection.execute(sa.text("PRAGMA defer_foreign_keys = ON"))
    found = sa.inspect(connection)
    for name in found.get_table_names():
        ids: list[sa.ColumnClause[Any]] = [
            sa.column(one["name"]) for one in found.get_columns(name) if _is_id(one["type"])
        ]
        if ids:
            new = {column.name: sa.func.rewritten(column) for column in ids}
            connection.execute(sa.update(sa.table(name, *ids)).values(new))


def _is_id(declared: object) -> bool:
    return isinstance(declared, sa.CHAR) and declared.length == _DIGITS
