"""Sessions in which search results were read, and the URLs that were worth a look then."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from sqlalchemy import Connection, insert, select, update

from scrapy_dedup.store.domains.registry import among
from scrapy_dedup.store.engine.codec import column_text, row_of
from scrapy_dedup.store.records.lookups import columns_of, read
from scrapy_dedup.store.tables.models import CandidateRow, DiscoverySession
from scrapy_dedup.store.tables.statements import chunks, table_of

NEW = "new"
"""The outcome of a URL that became a candidate."""


class NewCandidate(Struct, frozen=True):
    """A URL that a search engine proposed; of each domain there is one at first.

    Attributes:
        confidence: what the engine said of it, 0.0 to 1.0.
        rank: at which place it stood.
    """

    url: str
    engine: str
    domain_name: str
    title: str | None = None
    confidence: float | None = None
    rank: int | None = None


class StoredCandidate(NewCandidate, frozen=True, kw_only=True):
    """A candidate, and when it came."""

    session_id: uuid.UUID
    session_name: str | None
    outcome: str
    created_at: datetime


def begin_session(connection: Connection, project_id: uuid.UUID, name: str, at: datetime) -> uuid.UUID:
    """Return the newest session of that name, which goes on, or a new one."""
    name = column_text(name)
    of_name = (DiscoverySession.project_id == project_id, DiscoverySession.name == name)
    newest = DiscoverySession.started_at.desc(), DiscoverySession.session_id
    found = connection.scalar(select(DiscoverySession.session_id).where(*of_name).order_by(*newest).limit(1))
    if found is not None:
        return found
    session_id = uuid.uuid4()
    row = {"session_id": session_id, "project_id": project_id, "name": name, "started_at": at, "counts": {}}
    connection.execute(insert(table_of(DiscoverySession)), row)
    return session_id


def add_counts(connection: Connection, session_id: uuid.UUID, counts: Mapping[str, int], at: datetime) -> None:
    """Add to a session's URLs by outcome; it is over for now."""
    of_id = DiscoverySession.session_id == session_id
    before = connection.scalar(select(DiscoverySession.counts).where(of_id).with_for_update()) or {}
    total = {name: before.get(name, 0) + counts.get(name, 0) for name in sorted({*before, *counts})}
    connection.execute(update(DiscoverySession).where(of_id).values(counts=total, finished_at=at))


def add(
    connection: Connection,
    project_id: uuid.UUID,
    session_id: uuid.UUID,
    candidates: Sequence[NewCandidate],
    at: datetime,
) -> None:
    """Add candidates, in their order."""
    of_all = {"project_id": project_id, "session_id": session_id, "outcome": NEW, "created_at": at}
    if rows := [row_of(each, **of_all) for each in candidates]:
        connection.execute(insert(table_of(CandidateRow)), rows)


def with_candidate(connection: Connection, project_id: uuid.UUID, names: Collection[str]) -> set[str]:
    """Return those of the domains that have a candidate."""
    found: set[str] = set()
    for some in chunks(names):
        of_these = (CandidateRow.project_id == project_id, *among(CandidateRow.domain_name, some))
        found.update(connection.scalars(select(CandidateRow.domain_name).distinct().where(*of_these)))
    return found


def of_domains(
    connection: Connection, project_id: uuid.UUID, names: Collection[str], limit: int
) -> list[StoredCandidate]:
    """Return the last candidates of some domains, newest first."""
    found = (
        select(*columns_of(CandidateRow, StoredCandidate), DiscoverySession.name.label("session_name"))
        .outerjoin(DiscoverySession, DiscoverySession.session_id == CandidateRow.session_id)
        .where(CandidateRow.project_id == project_id, CandidateRow.domain_name.in_(sorted(names)))
        .order_by(CandidateRow.id.desc())
        .limit(limit)
    )
    return [read(row, StoredCandidate) for row in connection.execute(found)]
