"""The registry of domains, where candidates came from, and how a running crawl stands."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
TABLES = ("discovery_session", "domain", "candidates")


def upgrade() -> None:
    op.add_column("crawl_runs", sa.Column("seen_at", TIME, nullable=True))
    op.create_table(
        "discovery_session",
        sa.Column("session_id", sa.Uuid(), nullable=False),
        *_project("discovery_session"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("session_id", name="pk_discovery_session"),
    )
    op.create_index("ix_discovery_session_project_id_started_at", "discovery_session", ["project_id", "started_at"])
    op.create_table(
        "domain",
        sa.Column("domain_id", sa.Uuid(), nullable=False),
        *_project("domain"),
        sa.Column("domain_name", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("status_before", sa.String(32), nullable=True),
        sa.Column("discovery_session_id", sa.Uuid(), nullable=True),
        sa.Column("high_quality_candidate_count", sa.Integer(), nullable=False),
        sa.Column("low_quality_candidate_count", sa.Integer(), nullable=False),
        sa.Column("best_confidence_score", sa.Float(), nullable=True),
        sa.Column("mean_confidence_score", sa.Float(), nullable=True),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("chars_in", sa.BigInteger(), nullable=False),
        sa.Column("chars_out", sa.BigInteger(), nullable=False),
        sa.Column("boilerplate_share", sa.Float(), nullable=False),
        sa.Column("errors", sa.Integer(), nullable=False),
        sa.Column("last_crawled_at", TIME, nullable=True),
        sa.Column("blacklisted_at", TIME, nullable=True),
        sa.Column("blacklisted_by", sa.Text(), nullable=True),
        sa.Column("blacklist_reason", sa.Text(), nullable=True),
        sa.Column("blacklist_expires_at", TIME, nullable=True),
        sa.Column("twin", sa.Text(), nullable=True),
        sa.Column("joined_to", sa.Text(), nullable=True),
        sa.Column("pages_alike", sa.Integer(), nullable=False),
        sa.Column("pages_unlike", sa.Integer(), nullable=False),
        sa.Column("discovered_at", TIME, nullable=False),
        sa.Column("last_processed_at", TIME, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("domain_id", name="pk_domain"),
        sa.UniqueConstraint("project_id", "domain_name", name="uq_domain_project_id_domain_name"),
    )
    for column in ("status", "best_confidence_score", "pages", "boilerplate_share", "last_crawled_at"):
        op.create_index(f"ix_domain_{column}", "domain", ["project_id", column, "domain_name"])
    twins = sa.text("twin IS NOT NULL")
    op.create_index(
        "ix_domain_twins", "domain", ["project_id", "joined_to"], sqlite_where=twins, postgresql_where=twins
    )
    op.create_table(
        "candidates",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        *_project("candidates"),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("domain_name", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_candidates"),
    )
    op.create_index("ix_candidates_domain_name", "candidates", ["project_id", "domain_name", "id"])
    op.create_index("ix_candidates_session_id", "candidates", ["project_id", "session_id", "id"])


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
    op.drop_column("crawl_runs", "seen_at")


def _project(table: str) -> tuple[sa.Column[object], sa.ForeignKeyConstraint]:
    """Return the column and the key that let a row go with its project."""
    return (
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=f"fk_{table}_project_id", ondelete="CASCADE"),
    )
