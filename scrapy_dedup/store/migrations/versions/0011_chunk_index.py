"""Chunks by their text first: an index that begins with the project was read whole to find the chunks of some pages."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_NAME = "ix_document_chunks_content"


def upgrade() -> None:
    op.drop_index(_NAME, "document_chunks")
    op.create_index(_NAME, "document_chunks", ["content_hash", "project_id", "state", "page_key"])


def downgrade() -> None:
    op.drop_index(_NAME, "document_chunks")
    op.create_index(_NAME, "document_chunks", ["project_id", "content_hash", "state", "page_key"])
