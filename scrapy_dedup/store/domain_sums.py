"""What the registry's domains add up to: as of the ends of their runs, and quick however many pages there are."""

import uuid
from dataclasses import dataclass

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from scrapy_dedup.store.domain_models import Domain


@dataclass(frozen=True, slots=True)
class DomainSums:
    """Sums over the domains that have pages; above: how many lose more than a share of their text."""

    domains: int
    above: int
    pages: int
    chars_in: int
    chars_out: int


def domain_sums(session: Session, project_id: uuid.UUID, share: float) -> DomainSums:
    """Return the sums over a project's domains."""
    above = func.sum(case((Domain.boilerplate_share > share, 1), else_=0))
    sums = (func.count(), above, func.sum(Domain.pages), func.sum(Domain.chars_in), func.sum(Domain.chars_out))
    row = session.execute(select(*sums).where(Domain.project_id == project_id, Domain.pages > 0)).one()
    # PostgreSQL's sums of integers are decimals.
    return DomainSums(*(int(number or 0) for number in row))
