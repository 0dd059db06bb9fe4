"""Indexes by which the pages of a domain, and of a project, are listed newest first."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_documents_project_id_domain", "documents")
    op.create_index("ix_documents_domain_newest", "documents", ["project_id", "domain", "updated_at", "page_key"])
    op.create_index("ix_documents_newest", "documents", ["project_id", "updated_at", "page_key"])


def downgrade() -> None:
    op.drop_index("ix_documents_newest", "documents")
    op.drop_index("ix_documents_domain_newest", "documents")
    op.create_index("ix_documents_project_id_domain", "documents", ["project_id", "domain"])
