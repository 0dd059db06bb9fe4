"""Run by Alembic, on the connection and in the transaction of whoever opens the store."""

from alembic import context

from scrapy_dedup.store.tables.models import Base


def _migrate() -> None:
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=Base.metadata,
        # The transaction is the caller's, and SQLite rolls schema changes back, too.
        transactional_ddl=True,
        # SQLite alters a table by copying it.
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()


_migrate()
