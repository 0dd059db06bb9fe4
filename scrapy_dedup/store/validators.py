"""How far the ETag and Last-Modified of domains can be trusted, in counts."""

import uuid

from sqlalchemy import Connection, select

from scrapy_dedup.store.batch import Batch
from scrapy_dedup.store.codec import column_text
from scrapy_dedup.store.models import DomainValidators
from scrapy_dedup.store.records import ValidatorRecord
from scrapy_dedup.store.rows import VALIDATOR_COUNTS
from scrapy_dedup.store.upserts import insert_into, table_of


def add(connection: Connection, batch: Batch) -> None:
    """Add a batch's counts to those that are stored; the database adds, so that two crawls at once lose none."""
    if not batch.validators:
        return
    stored, statement = table_of(DomainValidators).c, insert_into(connection, DomainValidators)
    sums = {name: stored[name] + statement.excluded[name] for name in VALIDATOR_COUNTS}
    rows = [batch.validators[domain] for domain in sorted(batch.validators)]
    connection.execute(statement.on_conflict_do_update(index_elements=["project_id", "domain"], set_=sums), rows)


def find(connection: Connection, project_id: uuid.UUID, domain: str) -> ValidatorRecord:
    """Return the counts of a domain, all 0 where there are none."""
    counts = select(*(getattr(DomainValidators, name) for name in VALIDATOR_COUNTS)).where(
        DomainValidators.project_id == project_id, DomainValidators.domain == column_text(domain)
    )
    return ValidatorRecord(domain, *(connection.execute(counts).first() or ()))
