"""Layouts: their signatures, how often runs met them, their templates, and alarms."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
TABLES = ("layout_signatures", "layout_runs", "layout_templates", "layout_alarms")


def upgrade() -> None:
    _create_signatures()
    _create_runs()
    _create_templates()
    _create_alarms()


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)


def _project(table: str) -> tuple[sa.Column[object], sa.ForeignKeyConstraint]:
    """Return the column and the key that let a row go with its project."""
    return (
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=f"fk_{table}_project_id", ondelete="CASCADE"),
    )


def _create_signatures() -> None:
    op.create_table(
        "layout_signatures",
        *_project("layout_signatures"),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("signature_hash", sa.BigInteger(), nullable=False),
        sa.Column("template_id", sa.BigInteger()),
        sa.Column("seen_count", sa.BigInteger(), nullable=False),
        sa.Column("first_seen_at", TIME, nullable=False),
        sa.Column("last_seen_at", TIME, nullable=False),
        sa.Column("algorithm_version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "domain", "level", "signature_hash", name="pk_layout_signatures"),
    )


def _create_runs() -> None:
    op.create_table(
        "layout_runs",
        *_project("layout_runs"),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("layout", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("pages", sa.BigInteger(), nullable=False),
        sa.Column("first_url", sa.Text(), nullable=False),
        sa.Column("counted_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "domain", "layout", "run_id", name="pk_layout_runs"),
    )


def _create_templates() -> None:
    op.create_table(
        "layout_templates",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        *_project("layout_templates"),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("layout", sa.BigInteger(), nullable=False),
        sa.Column("structure", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("url_pattern", sa.Text()),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("algorithm_version", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("state_at", TIME, nullable=False),
        sa.Column("selectors", sa.JSON(), nullable=False),
        sa.Column("overrides", sa.JSON(), nullable=False),
        sa.Column("paths", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_layout_templates"),
        sa.UniqueConstraint(
            "project_id", "domain", "layout", "version", name="uq_layout_templates_project_id_domain_layout_version"
        ),
    )
    _unique_where("ix_layout_templates_live", "layout_templates", "state = 'live'")


def _create_alarms() -> None:
    op.create_table(
        "layout_alarms",
        *_project("layout_alarms"),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("layout", sa.BigInteger(), nullable=False),
        sa.Column("raised_at", TIME, nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("pages_failed", sa.Integer(), nullable=False),
        sa.Column("pages_looked", sa.Integer(), nullable=False),
        sa.Column("first_failed_at", TIME, nullable=False),
        sa.Column("cleared_at", TIME),
        sa.PrimaryKeyConstraint("project_id", "domain", "layout", "raised_at", name="pk_layout_alarms"),
    )
    _unique_where("ix_layout_alarms_open", "layout_alarms", "cleared_at IS NULL")


def _unique_where(name: str, table: str, condition: str) -> None:
    where = sa.text(condition)
    op.create_index(
        name, table, ["project_id", "domain", "layout"], unique=True, sqlite_where=where, postgresql_where=where
    )
