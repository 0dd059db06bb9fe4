"""Of what workers of one run claim, titles and texts alone."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

KEY = sa.LargeBinary(16)


def upgrade() -> None:
    # Nothing in it outlives a run.
    op.drop_table("claims")
    op.create_table(
        "claims",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("key", KEY, nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("worker_id", sa.Uuid(), nullable=False),
        sa.Column("owner", KEY, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_claims_project_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "kind", "key", name="pk_claims"),
    )
    op.create_index("ix_claims_project", "claims", ["project_id"])


def downgrade() -> None:
    is_pending = sa.text("state = 0")
    op.add_column("claims", sa.Column("state", sa.SmallInteger(), nullable=False, server_default="0"))
    op.add_column("claims", sa.Column("request", sa.LargeBinary()))
    op.add_column("claims", sa.Column("deaths", sa.SmallInteger(), nullable=False, server_default="0"))
    op.add_column("claims", sa.Column("handed_out", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index(
        "ix_claims_pending", "claims", ["run_id", "worker_id"], sqlite_where=is_pending, postgresql_where=is_pending
    )
