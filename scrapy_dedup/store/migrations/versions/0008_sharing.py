"""Workers of one run, what they claim, and URLs that a queue has seen."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
KEY = sa.LargeBinary(16)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TABLES = ("run_workers", "claims", "seen_scopes", "seen_urls")


def upgrade() -> None:
    _create_workers()
    _create_claims()
    _create_seen()


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)


def _project(table: str) -> tuple[sa.Column[object], sa.ForeignKeyConstraint]:
    """Return the column and the key that let a row go with its project."""
    return (
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=f"fk_{table}_project_id", ondelete="CASCADE"),
    )


def _create_workers() -> None:
    op.create_table(
        "run_workers",
        sa.Column("id", sa.Uuid(), nullable=False),
        *_project("run_workers"),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("lease_until", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.Column("stats", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_run_workers"),
    )
    op.create_index("ix_run_workers_run", "run_workers", ["project_id", "run_id"])


def _create_claims() -> None:
    op.create_table(
        "claims",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("key", KEY, nullable=False),
        *_project("claims"),
        sa.Column("worker_id", sa.Uuid(), nullable=False),
        sa.Column("owner", KEY, nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        sa.Column("request", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("run_id", "kind", "key", name="pk_claims"),
    )
    is_pending = sa.text("state = 0")
    op.create_index(
        "ix_claims_pending", "claims", ["run_id", "worker_id"], sqlite_where=is_pending, postgresql_where=is_pending
    )
    op.create_index("ix_claims_project", "claims", ["project_id"])


def _create_seen() -> None:
    op.create_table(
        "seen_scopes",
        sa.Column("id", NUMBER, nullable=False),
        *_project("seen_scopes"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("begun_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_seen_scopes"),
        sa.UniqueConstraint("project_id", "name", name="uq_seen_scopes_project_id_name"),
    )
    op.create_table(
        "seen_urls",
        sa.Column("scope_id", NUMBER, nullable=False),
        sa.Column("fingerprint", KEY, nullable=False),
        sa.ForeignKeyConstraint(["scope_id"], ["seen_scopes.id"], name="fk_seen_urls_scope_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("scope_id", "fingerprint", name="pk_seen_urls"),
        sqlite_with_rowid=False,
    )
