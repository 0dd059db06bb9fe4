"""Queues that ended, and the URLs that they have seen."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, Connection, func, select

from scrapy_dedup.store.columns import now
from scrapy_dedup.store.models import CrawlRun, SeenUrl
from scrapy_dedup.store.seen_urls import drop_scope, scopes
from scrapy_dedup.store.writer import ProjectStore

# Two keys and what holds them.
_URL_BYTES: Final = 40
# A process that was not heard of for so long is dead, and its queue with it.
_SILENT: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class EndedQueue:
    """A queue that nobody goes on with."""

    number: int
    urls: int

    @property
    def size_bytes(self) -> int:
        """About what its URLs take up."""
        return self.urls * _URL_BYTES


def ended(connection: Connection, project_id: uuid.UUID, before: datetime) -> list[EndedQueue]:
    """Return the queues that ended: with their process, or with a JOBDIR that was not used since an instant."""
    return [
        EndedQueue(number, connection.scalar(select(func.count()).where(SeenUrl.scope_id == number)) or 0)
        for number, name, begun_at in scopes(connection, project_id)
        if not _goes_on(connection, project_id, name, begun_at, before)
    ]


def drop(project: ProjectStore, queue: EndedQueue) -> None:
    """Remove a queue with its URLs, in parts."""
    drop_scope(project.transaction, queue.number)


def _goes_on(connection: Connection, project_id: uuid.UUID, name: str, begun_at: datetime, before: datetime) -> bool:
    kind, _, of = name.partition(" ")
    last_heard = func.coalesce(CrawlRun.seen_at, CrawlRun.started_at)
    if kind == "job":
        # Scrapy's own filter remembers as long as the folder is there.
        recent = (CrawlRun.jobdir == of) & (last_heard >= before)
        return begun_at >= before or _is_there(connection, project_id, recent)
    number = _number(of)
    alive = (CrawlRun.id == number) & (CrawlRun.status == "running") & (last_heard >= now() - _SILENT)
    return number is None or _is_there(connection, project_id, alive)


def _is_there(connection: Connection, project_id: uuid.UUID, condition: ColumnElement[bool]) -> bool:
    found = select(CrawlRun.id).where(CrawlRun.project_id == project_id, condition).limit(1)
    return connection.execute(found).first() is not None


def _number(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
