"""What a browser saw of layouts, and which parameters of URLs change nothing."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
TABLES = ("layout_pictures", "url_parameters")


def upgrade() -> None:
    op.create_table(
        "layout_pictures",
        *_project("layout_pictures"),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("layout", sa.BigInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("made_at", TIME, nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("boxes", sa.JSON(), nullable=False),
        sa.Column("picture", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "domain", "layout", name="pk_layout_pictures"),
    )
    op.create_table(
        "url_parameters",
        *_project("url_parameters"),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("same", sa.Integer(), nullable=False),
        sa.Column("different", sa.Integer(), nullable=False),
        sa.Column("ignored", sa.Boolean(), nullable=False),
        sa.Column("seen_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "domain", "name", name="pk_url_parameters"),
    )


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)


def _project(table: str) -> tuple[sa.Column[object], sa.ForeignKeyConstraint]:
    """Return the column and the key that let a row go with its project."""
    return (
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=f"fk_{table}_project_id", ondelete="CASCADE"),
    )
