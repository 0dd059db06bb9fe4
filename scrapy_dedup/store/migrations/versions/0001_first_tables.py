"""Projects, runs, pages, documents, URLs, decisions, and what repeats on a domain."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = sa.LargeBinary(16)
TIME = sa.DateTime(timezone=True)
TABLES = (
    "projects",
    "crawl_runs",
    "sources",
    "source_versions",
    "documents",
    "crawled_urls",
    "decisions",
    "domain_boilerplate",
)


def upgrade() -> None:
    op.create_table(
        "projects",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_projects"),
        sa.UniqueConstraint("name", name="uq_projects_name"),
    )
    _create_runs()
    _create_sources()
    _create_documents()
    _create_urls_and_decisions()
    _create_boilerplate()


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)


def _project(table: str) -> tuple[sa.Column[object], sa.ForeignKeyConstraint]:
    """Return the column and the key that let a row go with its project."""
    return (
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=f"fk_{table}_project_id", ondelete="CASCADE"),
    )


def _create_runs() -> None:
    op.create_table(
        "crawl_runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        *_project("crawl_runs"),
        sa.Column("spider", sa.Text(), nullable=False),
        sa.Column("jobdir", sa.Text()),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.Column("stats", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_crawl_runs"),
    )
    op.create_index("ix_crawl_runs_project_id_started_at", "crawl_runs", ["project_id", "started_at"])


def _create_sources() -> None:
    op.create_table(
        "sources",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        *_project("sources"),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("source_group", sa.Text()),
        sa.Column("field", sa.String(16), nullable=False),
        sa.Column("content", sa.LargeBinary()),
        sa.Column("content_bytes", sa.Integer(), nullable=False),
        sa.Column("cleaned_content", sa.Text()),
        sa.Column("cleaned_bytes", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text()),
        sa.Column("content_type", sa.Text()),
        sa.Column("fetched_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sources"),
        sa.UniqueConstraint("project_id", "page_key", name="uq_sources_project_id_page_key"),
    )
    op.create_index("ix_sources_project_id_domain", "sources", ["project_id", "domain"])
    kept = sa.text("content IS NOT NULL")
    op.create_index(
        "ix_sources_oldest",
        "sources",
        ["project_id", "fetched_at", "page_key"],
        sqlite_where=kept,
        postgresql_where=kept,
    )
    op.create_table(
        "source_versions",
        *_project("source_versions"),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("fetched_at", TIME, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("content_bytes", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "page_key", "fetched_at", name="pk_source_versions"),
    )
    op.create_index("ix_source_versions_oldest", "source_versions", ["project_id", "fetched_at", "page_key"])


def _create_documents() -> None:
    op.create_table(
        "documents",
        *_project("documents"),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Uuid()),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("verdict", sa.String(16)),
        sa.Column("title", sa.Text()),
        sa.Column("canonical_url", sa.Text()),
        sa.Column("content_hash", KEY),
        sa.Column("cleaned_hash", KEY),
        sa.Column("chars_in", sa.Integer()),
        sa.Column("chars_out", sa.Integer()),
        sa.Column("sketch", sa.LargeBinary()),
        sa.Column("error", sa.Text()),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "page_key", name="pk_documents"),
    )
    op.create_index("ix_documents_run_id_updated_at_page_key", "documents", ["run_id", "updated_at", "page_key"])


def _create_urls_and_decisions() -> None:
    op.create_table(
        "crawled_urls",
        *_project("crawled_urls"),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("http_status", sa.Integer()),
        sa.Column("last_crawled_at", TIME, nullable=False),
        sa.Column("run_id", sa.Uuid()),
        sa.Column("document_key", KEY),
        sa.Column("alias_kind", sa.String(16)),
        sa.PrimaryKeyConstraint("project_id", "page_key", name="pk_crawled_urls"),
    )
    aliases = sa.text("document_key <> page_key")
    op.create_index(
        "ix_crawled_urls_project_id_document_key",
        "crawled_urls",
        ["project_id", "document_key"],
        sqlite_where=aliases,
        postgresql_where=aliases,
    )
    op.create_table(
        "decisions",
        *_project("decisions"),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("layer", sa.String(32), nullable=False),
        sa.Column("run_id", sa.Uuid()),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("detail", sa.LargeBinary()),
        sa.Column("decided_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "page_key", "layer", name="pk_decisions"),
    )
    op.create_index("ix_decisions_oldest", "decisions", ["project_id", "decided_at", "page_key", "layer"])


def _create_boilerplate() -> None:
    op.create_table(
        "domain_boilerplate",
        sa.Column("id", sa.Uuid(), nullable=False),
        *_project("domain_boilerplate"),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("method", sa.String(16), nullable=False),
        sa.Column("boilerplate_hashes", sa.JSON(), nullable=False),
        sa.Column("evidence", sa.LargeBinary()),
        sa.Column("pages_analyzed", sa.Integer(), nullable=False),
        sa.Column("blocks_total", sa.Integer(), nullable=False),
        sa.Column("blocks_boilerplate", sa.Integer(), nullable=False),
        sa.Column("bytes_removed_avg", sa.Integer(), nullable=False),
        sa.Column("threshold_pct", sa.Float(), nullable=False),
        sa.Column("min_pages", sa.Integer(), nullable=False),
        sa.Column("min_block_chars", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_domain_boilerplate"),
        sa.UniqueConstraint("project_id", "domain", "method", name="uq_domain_boilerplate_project_id_domain_method"),
    )
