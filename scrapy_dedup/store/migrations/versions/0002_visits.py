"""Visits, extractions, validators, and the state of a document's last visit."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KEY = sa.LargeBinary(16)
TIME = sa.DateTime(timezone=True)
STATE: dict[str, sa.types.TypeEngine[Any]] = {
    "etag": sa.Text(),
    "last_modified": sa.Text(),
    "validated_at": TIME,
    "first_seen_at": TIME,
    "last_seen_at": TIME,
    "last_changed_at": TIME,
    "blocks": sa.LargeBinary(),
    "links_hash": KEY,
    "interval_seconds": sa.Float(),
    "visits_count": sa.Integer(),
    "changes_count": sa.Integer(),
    "missed_runs": sa.Integer(),
    "gone_at": TIME,
    "lastmod": TIME,
    "moved": sa.LargeBinary(),
    "depth": sa.Integer(),
}
COUNTERS = ("visits_count", "changes_count", "missed_runs")
VALIDATOR_COUNTS = ("sent", "not_modified", "useless", "changed_304", "lastmod_right", "lastmod_wrong")


def upgrade() -> None:
    for name, kind in STATE.items():
        op.add_column("documents", _counter(name) if name in COUNTERS else sa.Column(name, kind))
    op.add_column("crawl_runs", sa.Column("missed_counted_at", TIME))
    # Until now every visit received the whole page.
    op.execute(
        "UPDATE documents SET validated_at = updated_at, first_seen_at = updated_at, last_seen_at = updated_at,"
        " last_changed_at = updated_at, visits_count = 1 WHERE status = 'completed'"
    )
    op.create_index("ix_documents_project_id_domain", "documents", ["project_id", "domain"])
    _create_visits()
    _create_extractions()
    op.create_table(
        "domain_validators",
        *_project("domain_validators"),
        sa.Column("domain", sa.Text(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in VALIDATOR_COUNTS),
        sa.PrimaryKeyConstraint("project_id", "domain", name="pk_domain_validators"),
    )


def downgrade() -> None:
    for table in ("domain_validators", "extractions", "visits"):
        op.drop_table(table)
    op.drop_index("ix_documents_project_id_domain", "documents")
    op.drop_column("crawl_runs", "missed_counted_at")
    for name in reversed(STATE):
        op.drop_column("documents", name)


def _counter(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text("0"))


def _project(table: str) -> tuple[sa.Column[object], sa.ForeignKeyConstraint]:
    """Return the column and the key that let a row go with its project."""
    return (
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=f"fk_{table}_project_id", ondelete="CASCADE"),
    )


def _create_visits() -> None:
    op.create_table(
        "visits",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        *_project("visits"),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("http_status", sa.Integer()),
        sa.Column("verdict", sa.String(16)),
        sa.Column("change_class", sa.String(32)),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("bytes_received", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("callback_run", sa.Boolean(), nullable=False),
        sa.Column("fetched", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_visits"),
        sa.UniqueConstraint("project_id", "run_id", "at", "page_key", name="uq_visits_project_id_run_id_at_page_key"),
    )
    op.create_index("ix_visits_oldest", "visits", ["project_id", "at", "id"])


def _create_extractions() -> None:
    op.create_table(
        "extractions",
        *_project("extractions"),
        sa.Column("memo_key", KEY, nullable=False),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False),
        sa.Column("callback", sa.Text(), nullable=False),
        sa.Column("dedup_version", sa.Text()),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("cb_kwargs", sa.LargeBinary()),
        sa.Column("requests", sa.LargeBinary(), nullable=False),
        sa.Column("items", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("project_id", "memo_key", name="pk_extractions"),
    )
    op.create_index(
        "ix_extractions_project_id_page_key_memo_key", "extractions", ["project_id", "page_key", "memo_key"]
    )
