"""All tables, as each database is told to make them; written from the models, and held beside them by a test."""

from pathlib import Path

from alembic import op

revision = "20261128"
down_revision = None


def upgrade() -> None:
    connection = op.get_bind()
    written = Path(__file__).with_name(f"initial.{connection.dialect.name}.sql").read_text(encoding="utf-8")
    for statement in written.split(";\n"):
        if statement.strip():
            connection.exec_driver_sql(statement)
