"""How many workers died with a page in their hands."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("claims", sa.Column("deaths", sa.SmallInteger(), nullable=False, server_default="0"))
    op.add_column("claims", sa.Column("handed_out", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("claims", "handed_out")
    op.drop_column("claims", "deaths")
