"""All tables, as each database is told to make them; written from the models, and held beside them by a test."""

from alembic import op

from scrapy_dedup.store.migrations import written_tables

revision = "20261128"
down_revision = None


def upgrade() -> None:
    connection = op.get_bind()
    for statement in written_tables(connection.dialect.name):
        connection.exec_driver_sql(statement)
