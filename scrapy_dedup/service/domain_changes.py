"""What changes about domains within a transaction; of a joined pair, what is decided changes for both."""

import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from scrapy_dedup.core.domain_states import Standing, after_run, unblacklisted
from scrapy_dedup.store import domains
from scrapy_dedup.store.writer import ProjectStore


@dataclass(frozen=True, slots=True)
class CandidateCounts:
    """What is known of the candidates that a domain gave.

    Attributes:
        high: with a confidence of DEDUP_HIGH_QUALITY or more.
        low: with a lower one.
        best: the best confidence; None where there was none.
    """

    high: int
    low: int
    best: float | None


def decide(
    connection: Connection,
    project_id: uuid.UUID,
    names: Collection[str],
    at: datetime,
    change: Callable[[Standing], Standing],
) -> None:
    """Change what stands about registered domains, and about the twins that are joined with them."""
    pairs = domains.find_pairs(connection, project_id, names).values()
    rows = {row.domain_name: row for pair in pairs for row in pair.rows}
    changed = [(row, change(row.standing)) for _, row in sorted(rows.items())]
    changed = [(row, standing) for row, standing in changed if standing != row.standing]
    domains.set_standings(connection, [row for row, _ in changed], [standing for _, standing in changed], at)


def note_counts(
    connection: Connection,
    project_id: uuid.UUID,
    name: str,
    at: datetime,
    counts: CandidateCounts,
    high_quality: float,
) -> None:
    """Note the candidates of a registered domain, and what becomes of it; the best confidence never falls.

    A run that saw only the pages that changed does not unsay what an earlier one saw.
    """
    domain = domains.find_pairs(connection, project_id, [name])[name].domain
    scores = [score for score in (domain.best_confidence_score, counts.best) if score is not None]
    best = max(scores, default=None)
    values = {
        "high_quality_candidate_count": counts.high,
        "low_quality_candidate_count": counts.low,
        "best_confidence_score": best,
        "last_processed_at": at,
    }
    domains.change(connection, {domain.domain_id: values}, at)
    decide(connection, project_id, [name], at, lambda one: after_run(one, best, high_quality))


def lift_expired(project: ProjectStore, at: datetime) -> list[str]:
    """Write down what domains are whose blacklist is over; return their names. Nobody heeds such a blacklist anyway.

    Raises:
        StoreError: the store failed.
    """
    with project.transaction() as connection:
        names = [each.domain_name for each in domains.expired(connection, project.id, at)]
    if names:
        with project.transaction(write=True) as connection:
            decide(connection, project.id, names, at, unblacklisted)
    return names
