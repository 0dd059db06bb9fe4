"""What pages have in common with others, chunks, and what a person decided about a domain."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
KEY = sa.LargeBinary(16)
TABLES = ("page_signatures", "near_duplicates", "document_chunks", "site_config")


def upgrade() -> None:
    _create_signatures()
    _create_chunks()
    _create_config()
    op.add_column("documents", sa.Column("stale", sa.Text()))
    is_stale = sa.text("stale IS NOT NULL")
    op.create_index(
        "ix_documents_stale", "documents", ["project_id", "page_key"], sqlite_where=is_stale, postgresql_where=is_stale
    )


def downgrade() -> None:
    op.drop_index("ix_documents_stale", "documents")
    op.drop_column("documents", "stale")
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
        "page_signatures",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        *_project("page_signatures"),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("title_key", KEY),
        sa.Column("text_hash", KEY, nullable=False),
        sa.Column("language", sa.String(16), nullable=False),
        sa.Column("version", sa.String(32), nullable=False),
        sa.Column("shingles", sa.Integer(), nullable=False),
        sa.Column("layer", sa.String(16)),
        sa.Column("keeper", KEY),
        sa.Column("jaccard", sa.Float()),
        sa.Column("signature", sa.LargeBinary(), nullable=False),
        sa.Column("bands", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_page_signatures"),
        sa.UniqueConstraint("project_id", "page_key", name="uq_page_signatures_project_id_page_key"),
    )
    has_title = sa.text("title_key IS NOT NULL")
    op.create_index(
        "ix_page_signatures_title",
        "page_signatures",
        ["project_id", "domain", "title_key"],
        sqlite_where=has_title,
        postgresql_where=has_title,
    )
    op.create_index("ix_page_signatures_text", "page_signatures", ["project_id", "text_hash"])
    op.create_table(
        "near_duplicates",
        sa.Column("band", sa.BigInteger(), nullable=False),
        sa.Column("page", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("band", "page", name="pk_near_duplicates"),
        sqlite_with_rowid=False,
    )


def _create_chunks() -> None:
    op.create_table(
        "document_chunks",
        *_project("document_chunks"),
        sa.Column("page_key", KEY, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("chunk_id", sa.String(16), nullable=False),
        sa.Column("content_hash", KEY, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("holder", KEY),
        sa.Column("layer", sa.String(16)),
        sa.Column("reason", sa.Text()),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("language", sa.String(16)),
        sa.Column("chars", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sample", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "page_key", "position", name="pk_document_chunks"),
    )
    op.create_index(
        "ix_document_chunks_content", "document_chunks", ["project_id", "content_hash", "state", "page_key"]
    )


def _create_config() -> None:
    op.create_table(
        "site_config",
        *_project("site_config"),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "domain", name="pk_site_config"),
    )
