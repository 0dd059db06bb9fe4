"""What stays behind although nobody needs it, removed beside crawls that go on.

Crawls hold all other bounds as they write. What they cannot know is that a page, a run or a queue does not come back.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, Connection, delete, exists, func, not_, or_, select

from scrapy_dedup.store.pages import contents
from scrapy_dedup.store.seen_urls import drop_scope, scopes
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.tables.models import Claim, CrawledUrl, CrawlRun, Document, SeenUrl, VisitRow
from scrapy_dedup.store.tables.upserts import table_of
from scrapy_dedup.store.upkeep.forgetting import delete_pages
from scrapy_dedup.store.workers import claims
from scrapy_dedup.store.writer import ProjectStore

_AT_ONCE: Final = 250
# Between two transactions, so that a crawl that waits gets its turn: SQLite's locks are not given in order.
_PAUSE_SECONDS: Final = 0.01
# A process that was not heard of for so long is dead, and its queue with it.
_SILENT: Final = timedelta(days=1)
_HEARD: Final = func.coalesce(CrawlRun.seen_at, CrawlRun.started_at)


def find_garbage(project: ProjectStore, before: datetime) -> dict[str, int]:
    """Return how much nobody needs; of pages, runs and JOBDIRs what nobody came back to since an instant.

    That is: `pages` that were gone from their site, and not asked for, for long; `claims` of runs that ended without
    their workers; `seen_urls` of queues that nobody goes on with.

    Raises:
        StoreError: the store failed.
    """
    with project.transaction() as connection:
        pages = connection.scalar(select(func.count()).select_from(Document).where(*_gone(project.id, before)))
        claimed = connection.scalar(select(func.count()).select_from(Claim).where(*_left(project.id, before)))
        seen = [SeenUrl.scope_id == scope for scope in _ended_queues(connection, project.id, before)]
        urls = sum(connection.scalar(select(func.count()).where(of_scope)) or 0 for of_scope in seen)
    return {"pages": pages or 0, "claims": claimed or 0, "seen_urls": urls}


def remove_garbage(project: ProjectStore, before: datetime, progress: Callable[[int], None]) -> dict[str, int]:
    """Remove it, and return what it was; what was removed when this fails, or is interrupted, stays removed.

    Raises:
        StoreError: the store failed.
    """
    found = {"pages": 0, "claims": 0, "seen_urls": 0}
    for name, remove in zip(found, (_remove_pages, _remove_claims, _remove_queues), strict=True):
        for number in remove(project, before):
            found[name] += number
            progress(number)
            time.sleep(_PAUSE_SECONDS)
    return found


def _remove_pages(project: ProjectStore, before: datetime) -> Iterator[int]:
    after = b""
    while True:
        with project.transaction(write=True) as connection:
            # Taken first by all who write: what a crawl has under way is there, or comes after this.
            is_there = contents.lock_project(connection, project.id) is not None
            some = select(Document.page_key).where(*_gone(project.id, before), Document.page_key > after)
            keys = connection.scalars(some.order_by(Document.page_key).limit(_AT_ONCE)).all()
            if not keys or not is_there:
                return
            # What happened stays, within its own bound; an address may lead elsewhere by now.
            delete_pages(connection, project.id, keys, but=(VisitRow, CrawledUrl))
            own = (CrawledUrl.page_key.in_(keys), CrawledUrl.document_key == CrawledUrl.page_key)
            connection.execute(delete(CrawledUrl).where(CrawledUrl.project_id == project.id, *own))
        after = keys[-1]
        yield len(keys)


def _gone(project_id: uuid.UUID, before: datetime) -> tuple[ColumnElement[bool], ...]:
    """Say in SQL which pages were removed from their site before an instant, and by no address asked for since."""
    url = table_of(CrawledUrl).alias().c
    lately = (url.project_id == Document.project_id, url.last_crawled_at >= before)
    alias = (url.document_key == Document.page_key, url.document_key != url.page_key)
    asked = or_(exists().where(*lately, url.page_key == Document.page_key), exists().where(*lately, *alias))
    return Document.project_id == project_id, Document.gone_at < before, not_(asked)


def _remove_claims(project: ProjectStore, before: datetime) -> Iterator[int]:
    with project.transaction() as connection:
        runs = connection.scalars(select(Claim.run_id).where(*_left(project.id, before)).distinct()).all()
    for run_id in sorted(runs):
        number = _AT_ONCE
        while number == _AT_ONCE:
            with project.transaction(write=True) as connection:
                number = claims.forget(connection, run_id, _AT_ONCE)
            yield number


def _left(project_id: uuid.UUID, before: datetime) -> tuple[ColumnElement[bool], ...]:
    """Say in SQL which claims are of runs that finished, or were not heard of since an instant."""
    goes_on = exists().where(CrawlRun.id == Claim.run_id, CrawlRun.status != "finished", before <= _HEARD)
    return Claim.project_id == project_id, not_(goes_on)


def _remove_queues(project: ProjectStore, before: datetime) -> Iterator[int]:
    with project.transaction() as connection:
        ended = _ended_queues(connection, project.id, before)
    for scope in ended:
        yield drop_scope(project.transaction, scope)


def _ended_queues(connection: Connection, project_id: uuid.UUID, before: datetime) -> list[int]:
    """Return the queues that ended: with their process, or with a JOBDIR that was not used since an instant."""
    run, dead = CrawlRun.project_id == project_id, now() - _SILENT
    going_on = {
        "run": select(CrawlRun.id).where(run, CrawlRun.status == "running", dead <= _HEARD),
        # Scrapy's own filter remembers as long as the folder is there.
        "job": select(CrawlRun.jobdir).where(run, CrawlRun.jobdir.is_not(None), before <= _HEARD),
    }
    names = {f"{kind} {of}" for kind, some in going_on.items() for of in connection.scalars(some)}
    return [
        scope
        for scope, name, begun_at in scopes(connection, project_id)
        if name not in names and not (name.startswith("job ") and begun_at >= before)
    ]
