"""The state of pages between two crawls: what was seen when, what is missing, what is gone."""

import uuid
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Connection, and_, bindparam, case, exists, func, or_, select, update

from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.records.batch import BEGUN, LARGEST, Batch
from scrapy_dedup.store.records.lookups import columns_of
from scrapy_dedup.store.records.rows import AS_STORED
from scrapy_dedup.store.records.stored import MissedPage, StoredState
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.tables.models import CrawledUrl, CrawlRun, Document, Extraction
from scrapy_dedup.store.tables.upserts import chunks, table_of, upsert

_PAGE = ("project_id", "page_key")
_GONE = (404, 410)
_ROWS_AT_ONCE = 1_000

_DOCUMENT = table_of(Document)
_SEEN_AGAIN = (
    update(_DOCUMENT)
    .where(_DOCUMENT.c.project_id == bindparam("of_project"), _DOCUMENT.c.page_key == bindparam("of_page"))
    .values(
        run_id=bindparam("run_id"),
        status="completed",
        error=None,
        verdict=bindparam("verdict"),
        updated_at=bindparam("seen_at"),
        last_seen_at=bindparam("seen_at"),
        first_seen_at=func.coalesce(_DOCUMENT.c.first_seen_at, bindparam("seen_at", type_=_DOCUMENT.c.updated_at.type)),
        etag=bindparam("etag"),
        last_modified=bindparam("last_modified"),
        interval_seconds=bindparam("interval_seconds"),
        visits_count=case(
            (_DOCUMENT.c.visits_count > bindparam("visits_count"), _DOCUMENT.c.visits_count),
            else_=bindparam("visits_count"),
        ),
        missed_runs=0,
        gone_at=None,
        stale=case((bindparam("is_renewed", type_=Boolean), None), else_=_DOCUMENT.c.stale),
        **{
            name: func.coalesce(bindparam(f"new_{name}", type_=_DOCUMENT.c[name].type), _DOCUMENT.c[name])
            for name in AS_STORED
        },
    )
)

# Another page has a duplicate's content: where it goes, nothing is removed.
THERE = (Document.gone_at.is_(None), or_(Document.verdict.is_(None), Document.verdict != "duplicate"))


def write_documents(connection: Connection, project_id: uuid.UUID, batch: Batch) -> None:
    """Write the documents of a batch, whole and in part."""
    # Who could not ask what was known of a page writes as if it were new.
    counted = {"once": ("first_seen_at",), "largest": LARGEST}
    upsert(connection, Document, _PAGE, list(batch.documents.values()), **counted)
    if batch.seen:
        connection.execute(_SEEN_AGAIN, [batch.seen[key] for key in sorted(batch.seen)])
    upsert(connection, Document, _PAGE, list(batch.begun.values()), only=BEGUN)
    for at in sorted(set(batch.gone.values())):
        keys = [key for key, gone_at in batch.gone.items() if gone_at == at]
        set_gone(connection, project_id, keys, at)


# One question a request: of these the statement is built once.
_STATES = (
    select(
        *columns_of(Document, StoredState),
        CrawledUrl.http_status,
        CrawledUrl.last_crawled_at,
        CrawledUrl.document_key,
        CrawledUrl.alias_kind,
        Extraction.memo_key,
    )
    .outerjoin(CrawledUrl, and_(CrawledUrl.project_id == Document.project_id, CrawledUrl.page_key == Document.page_key))
    .outerjoin(Extraction, and_(Extraction.project_id == Document.project_id, Extraction.page_key == Document.page_key))
    .where(
        Document.project_id == bindparam("of_project"),
        Document.page_key.in_(bindparam("of_pages", expanding=True)),
        Document.last_seen_at.is_not(None),
    )
)


def find_states(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, StoredState]:
    """Return the states of those pages that have an acknowledged visit, by key."""
    found: dict[bytes, dict[str, Any]] = {}
    memo_keys: dict[bytes, set[bytes]] = {}
    for some in chunks(keys):
        for row in connection.execute(_STATES, {"of_project": project_id, "of_pages": some}):
            values = dict(row._mapping)  # noqa: SLF001 (SQLAlchemy's public name for it)
            memo_key = values.pop("memo_key")
            found[row.page_key] = values
            if memo_key is not None:
                memo_keys.setdefault(row.page_key, set()).add(memo_key)
    return {key: StoredState(**values, memo_keys=frozenset(memo_keys.get(key, ()))) for key, values in found.items()}


def live_pages(connection: Connection, project_id: uuid.UUID, domains: Collection[str]) -> dict[str, int]:
    """Return how many pages of each of these domains are there and not gone; domains without any are left out."""
    counted = (
        select(Document.domain, func.count().label("pages"))
        .where(*_of_domains(project_id, domains), Document.last_seen_at.is_not(None), *THERE)
        .group_by(Document.domain)
    )
    return {row.domain: row.pages for row in connection.execute(counted)}


def find_missing(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID, domains: Collection[str], *, shared: bool = False
) -> Iterator[MissedPage]:
    """Iterate over the pages of the domains that a run has not found.

    Not found is a page that no visit was acknowledged for since the run began,
    unless its URL was tried and gave an error, which says nothing; 404 and 410 do. Pages that another spider saw last
    are left out: it may crawl another part of the domain. Of a run that several workers share also those are left out
    that one of them wrote, whatever its clock said.
    """
    of_run = (CrawlRun.id == run_id, CrawlRun.project_id == project_id)
    started_at = connection.scalar(select(CrawlRun.started_at).where(*of_run))
    if started_at is None:
        return
    tried_in_vain = exists().where(
        CrawledUrl.project_id == Document.project_id,
        CrawledUrl.page_key == Document.page_key,
        CrawledUrl.last_crawled_at >= started_at,
        CrawledUrl.status.in_(("failed", "skipped")),
        or_(CrawledUrl.http_status.is_(None), CrawledUrl.http_status.not_in(_GONE)),
    )
    this_spider = select(CrawlRun.spider).where(*of_run).scalar_subquery()
    runs = select(CrawlRun.id).where(CrawlRun.project_id == project_id, CrawlRun.spider == this_spider)
    of_spider = or_(Document.run_id.is_(None), Document.run_id.in_(runs))
    not_found = [Document.last_seen_at < started_at, *THERE, of_spider, ~tried_in_vain]
    if shared:
        not_found.append(Document.run_id.is_distinct_from(run_id))
    some = select(*columns_of(Document, MissedPage)).where(*_of_domains(project_id, domains), *not_found)
    for row in connection.execute(some.execution_options(yield_per=_ROWS_AT_ONCE)):
        yield MissedPage(*row)


def urls_asked(connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID) -> dict[str, tuple[int, int]]:
    """Return of how many URLs of each domain a run wrote something down, and how many failed; 404 is an answer."""
    failed = and_(
        CrawledUrl.status == "failed", or_(CrawledUrl.http_status.is_(None), CrawledUrl.http_status.not_in(_GONE))
    )
    counted = select(CrawledUrl.domain, func.count(), func.count().filter(failed)).where(
        CrawledUrl.project_id == project_id, CrawledUrl.run_id == run_id, CrawledUrl.status != "alias"
    )
    rows = connection.execute(counted.group_by(CrawledUrl.domain))
    return {domain: (urls, failures) for domain, urls, failures in rows}


def count_missed(connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID, keys: Collection[bytes]) -> bool:
    """Count a complete run for the pages that it did not find; a second time counts nothing, and says so."""
    first = update(CrawlRun).where(
        CrawlRun.id == run_id, CrawlRun.project_id == project_id, CrawlRun.missed_counted_at.is_(None)
    )
    if not connection.execute(first.values(missed_counted_at=now())).rowcount:
        return False
    for some in chunks(keys):
        missed = update(Document).where(Document.project_id == project_id, Document.page_key.in_(some))
        connection.execute(missed.values(missed_runs=Document.missed_runs + 1))
    return True


def set_gone(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes], at: datetime) -> int:
    """Declare pages removed; return how many had not been."""
    gone = 0
    for some in chunks(keys):
        there = (Document.project_id == project_id, Document.page_key.in_(some), Document.gone_at.is_(None))
        gone += connection.execute(update(Document).where(*there).values(gone_at=at, verdict="removed")).rowcount
    return gone


def _of_domains(project_id: uuid.UUID, domains: Iterable[str]) -> tuple[ColumnElement[bool], ...]:
    return Document.project_id == project_id, Document.domain.in_(sorted({column_text(name) for name in domains}))


def blocks_of_domain(connection: Connection, project_id: uuid.UUID, domain: str, limit: int) -> list[bytes]:
    """Return the blocks of so many documents of a domain, as they were packed."""
    some = (
        select(Document.blocks)
        .where(*_of_domains(project_id, [domain]), Document.blocks.is_not(None), Document.gone_at.is_(None))
        .order_by(Document.page_key)
        .limit(limit)
    )
    return [blocks for (blocks,) in connection.execute(some) if blocks is not None]


def has_pages(connection: Connection, project_id: uuid.UUID) -> bool:
    """Return whether the project has any document."""
    return (
        connection.execute(select(Document.page_key).where(Document.project_id == project_id).limit(1)).first()
        is not None
    )
