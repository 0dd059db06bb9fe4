"""Indexes by which pages are listed newest first, and changes are counted."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_documents_project_id_domain", "documents")
    op.create_index("ix_documents_domain_newest", "documents", ["project_id", "domain", "updated_at", "page_key"])
    op.create_index("ix_documents_newest", "documents", ["project_id", "updated_at", "page_key"])
    op.drop_index("ix_visits_oldest", "visits")
    op.create_index("ix_visits_oldest", "visits", ["project_id", "at", "id", "verdict"])


def downgrade() -> None:
    op.drop_index("ix_visits_oldest", "visits")
    op.create_index("ix_visits_oldest", "visits", ["project_id", "at", "id"])
    op.drop_index("ix_documents_newest", "documents")
    op.drop_index("ix_documents_domain_newest", "documents")
    op.create_index("ix_documents_project_id_domain", "documents", ["project_id", "domain"])
