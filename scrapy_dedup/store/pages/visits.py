"""Visits: the state of pages between two crawls, the ledger of visits, and the bounds of what is kept of it."""

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace
from sqlalchemy import (
    Boolean,
    ColumnClause,
    ColumnElement,
    Connection,
    Integer,
    Table,
    and_,
    bindparam,
    case,
    cast,
    false,
    func,
    or_,
    select,
    tuple_,
    update,
)

from scrapy_dedup.core.runs import Lead
from scrapy_dedup.store import workers
from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.records.batch import AS_STORED, BEGUN, LARGEST, VALIDATOR_COUNTS, Batch
from scrapy_dedup.store.records.lookups import columns_of, find_run, last_runs, read
from scrapy_dedup.store.records.records import ValidatorRecord
from scrapy_dedup.store.records.stored import (
    ChangeChoice,
    MissedPage,
    RunFigures,
    StoredChange,
    StoredRun,
    StoredState,
    StoredVisit,
    StoredWorker,
)
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.tables.models import (
    NO_RUN,
    CrawledUrl,
    CrawlRun,
    Decision,
    DeliveryRow,
    Document,
    DomainValidators,
    Extraction,
    VisitRow,
)
from scrapy_dedup.store.tables.statements import How, change_in, chunks, cut, rows_by, same_page, table_of, upsert

_PAGE = ("project_id", "page_key")
_GONE = (404, 410)
_ROWS_AT_ONCE = 1_000

_DOCUMENT = table_of(Document)
_SEEN = ("run_id", "verdict", "etag", "last_modified", "interval_seconds", "parent_key")
_SEEN_AGAIN = (
    update(_DOCUMENT)
    .where(_DOCUMENT.c.project_id == bindparam("of_project"), _DOCUMENT.c.page_key == bindparam("of_page"))
    .values(
        **{name: bindparam(name) for name in _SEEN},
        status="completed",
        error=None,
        updated_at=bindparam("seen_at"),
        last_seen_at=bindparam("seen_at"),
        first_seen_at=func.coalesce(_DOCUMENT.c.first_seen_at, bindparam("seen_at", type_=_DOCUMENT.c.updated_at.type)),
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
    how: dict[str, How] = {"first_seen_at": "once", **dict.fromkeys(LARGEST, "largest")}
    upsert(connection, Document, _PAGE, list(batch.documents.values()), **how)
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
    .outerjoin(CrawledUrl, same_page(CrawledUrl, Document))
    .outerjoin(Extraction, same_page(Extraction, Document))
    .where(
        Document.project_id == bindparam("of_project"),
        Document.page_key.in_(bindparam("keys", expanding=True)),
        Document.last_seen_at.is_not(None),
    )
)


def find_states(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, StoredState]:
    """Return the states of those pages that have an acknowledged visit, by key."""
    found: dict[bytes, StoredState] = {}
    memo_keys: dict[bytes, set[bytes]] = {}
    for row in rows_by(connection, _STATES, keys, of_project=project_id):
        if row.page_key not in found:
            found[row.page_key] = read(row, StoredState)
        if row.memo_key is not None:
            memo_keys.setdefault(row.page_key, set()).add(row.memo_key)
    return found | {key: replace(found[key], memo_keys=frozenset(held)) for key, held in memo_keys.items()}


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
    tried_in_vain = and_(
        CrawledUrl.last_crawled_at >= started_at,
        CrawledUrl.status.in_(("failed", "skipped")),
        or_(CrawledUrl.http_status.is_(None), CrawledUrl.http_status.not_in(_GONE)),
    )
    this_spider = select(CrawlRun.spider).where(*of_run).scalar_subquery()
    runs = select(CrawlRun.id).where(CrawlRun.project_id == project_id, CrawlRun.spider == this_spider)
    of_spider = or_(Document.run_id.is_(None), Document.run_id.in_(runs))
    not_found = [Document.last_seen_at < started_at, *THERE, of_spider, ~func.coalesce(tried_in_vain, false())]
    if shared:
        not_found.append(Document.run_id.is_distinct_from(run_id))
    asked = case((CrawledUrl.last_crawled_at >= started_at, CrawledUrl.status))
    some = (
        select(*[*columns_of(Document, MissedPage), asked, CrawledUrl.http_status])
        .outerjoin(CrawledUrl, same_page(CrawledUrl, Document))
        .where(*_of_domains(project_id, domains), *not_found)
    )
    for row in connection.execute(some.execution_options(yield_per=_ROWS_AT_ONCE)):
        yield MissedPage(*row)


def find_leads(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID, keys: Collection[bytes], *, shared: bool = False
) -> dict[bytes, Lead]:
    """Return what is stored of pages that led to others; pages of which nothing is are left out.

    Read are those with a visit that was acknowledged since the run began; of a run that several workers share also
    those that one of them completed, whatever its clock said.
    """
    started_at = connection.scalar(select(CrawlRun.started_at).where(CrawlRun.id == run_id))
    if started_at is None:
        return {}
    was_asked = CrawledUrl.last_crawled_at >= started_at
    was_read = Document.last_seen_at >= started_at
    if shared:
        was_read = or_(was_read, and_(Document.run_id == run_id, Document.status == "completed"))
    found: dict[bytes, Lead] = {}
    for some in chunks(sorted(keys)):
        urls = select(CrawledUrl.page_key, case((CrawledUrl.http_status.in_(_GONE), "gone"), else_="unread")).where(
            CrawledUrl.project_id == project_id,
            CrawledUrl.page_key.in_(some),
            or_(was_asked, CrawledUrl.http_status.in_(_GONE)),
        )
        pages = select(
            Document.page_key, case((was_read, "read"), (Document.gone_at.is_not(None), "gone"), else_="unread")
        ).where(Document.project_id == project_id, Document.page_key.in_(some))
        asked = {key: Lead(word) for key, word in connection.execute(urls)}
        for key, word in connection.execute(pages):
            found[key] = Lead.GONE if asked.pop(key, None) is Lead.GONE else Lead(word)
        found |= asked
    return found


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
    missed = update(Document).where(Document.project_id == project_id).values(missed_runs=Document.missed_runs + 1)
    change_in(connection, missed, Document.page_key, keys)
    return True


def set_gone(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes], at: datetime) -> int:
    """Declare pages removed; return how many had not been."""
    there = update(Document).where(Document.project_id == project_id, Document.gone_at.is_(None))
    return change_in(connection, there.values(gone_at=at, verdict="removed"), Document.page_key, keys)


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


def has_history(connection: Connection, project_id: uuid.UUID) -> bool:
    """Return whether the project has any document, or items that a feed gave, which is none."""
    asked = (select(table.page_key).where(table.project_id == project_id).limit(1) for table in (Document, DeliveryRow))
    return any(connection.execute(one).first() is not None for one in asked)


# A table that is full shrinks to this share, so that counting and cutting are rare.
_ROOM = 0.9
# So few are kept however few pages there are.
_FEW = 1_000


class RowBound:
    """Holds the number of a project's rows in one table; one for each writer.

    It adds up what was written and counts only when that sum reaches the
    bound: a row written again is counted twice, which makes it count early.
    """

    def __init__(self, project_id: uuid.UUID, bound: int, *order: ColumnClause[Any], a_page: int | None = None) -> None:
        """Bound the table whose columns are given: in their order the oldest rows come first, and no two are equal.

        *a_page* bounds the rows for each document that is stored, where there are more than a few; None: it does not.
        """
        self._order = order
        model = order[0].table
        assert isinstance(model, Table)
        self._model, self._of_project = model, model.c.project_id == project_id
        self._documents = select(Document.page_key).where(Document.project_id == project_id)
        self._most, self._a_page, self._bound = bound, a_page, bound
        self._at_most: int | None = None

    @property
    def keeps(self) -> bool:
        """Return whether any row is kept."""
        return self._bound > 0

    def hold(self, connection: Connection, written: int) -> None:
        """Delete the oldest rows when there are too many after so many were written."""
        if self._at_most is not None:
            self._at_most += written
        if self._at_most is None or self._at_most > self._bound:
            counted = select(func.count()).select_from(self._model).where(self._of_project)
            self._at_most = connection.scalar(counted) or 0
            self._bound = self._allowed(connection)
        if self._at_most > self._bound:
            self._at_most = max(1, int(self._bound * _ROOM))
            cut(connection, self._order, self._at_most, self._of_project)

    def _allowed(self, connection: Connection) -> int:
        if self._a_page is None:
            return self._most
        # No more are counted than matter.
        documents = self._documents.limit(self._most // self._a_page + 1).subquery()
        number = connection.scalar(select(func.count()).select_from(documents)) or 0
        return min(self._most, max(_FEW, self._a_page * number))


def decision_bound(project_id: uuid.UUID, bound: int) -> RowBound:
    """Return the bound of a project's decisions."""
    return RowBound(project_id, bound, Decision.decided_at, Decision.page_key, Decision.layer)


CHANGES = ("new", "changed", "removed")

_VISIT = columns_of(VisitRow, StoredVisit)
_SAME_PAGE = same_page(Document, VisitRow)


def write_visits(connection: Connection, batch: Batch, bound: RowBound) -> None:
    """Write the visits of a batch, and drop the oldest when there are too many."""
    if batch.visits and bound.keeps:
        upsert(connection, VisitRow, ("project_id", "run_id", "at", "page_key"), list(batch.visits.values()))
        bound.hold(connection, len(batch.visits))


def changes(connection: Connection, project_id: uuid.UUID, choice: ChangeChoice, limit: int) -> list[StoredChange]:
    """Return so many visits with a change, in the order of time."""
    some = (
        select(*_VISIT, VisitRow.id.label("visit_id"), Document.url, Document.domain)
        .outerjoin(Document, _SAME_PAGE)
        .where(VisitRow.project_id == project_id, *_chosen(choice))
        .order_by(VisitRow.at, VisitRow.id)
        .limit(limit)
    )
    found = (read(row, StoredChange) for row in connection.execute(some))
    return [replace(one, run_id=None) if one.run_id == NO_RUN else one for one in found]


def count_changes(connection: Connection, project_id: uuid.UUID, choice: ChangeChoice) -> dict[str, int]:
    """Return how many visits with a change there are, by verdict."""
    counted = select(VisitRow.verdict, func.count()).where(VisitRow.project_id == project_id, *_chosen(choice))
    if choice.domain is not None:
        counted = counted.join(Document, _SAME_PAGE)
    return {verdict or "": number for verdict, number in connection.execute(counted.group_by(VisitRow.verdict))}


def _chosen(choice: ChangeChoice) -> list[ColumnElement[bool]]:
    place = tuple_(VisitRow.at, VisitRow.id)
    conditions = [VisitRow.at >= choice.since, VisitRow.verdict.in_([choice.verdict] if choice.verdict else CHANGES)]
    if choice.after is not None:
        conditions[0] = place > tuple_(choice.after.at, choice.after.visit_id)
    if choice.domain is not None:
        conditions.append(Document.domain == column_text(choice.domain))
    return conditions


def run_figures(connection: Connection, project_id: uuid.UUID, limit: int = 10) -> list[RunFigures]:
    """Return the runs that began last with the sums of their visits, newest first."""
    return _figures(connection, project_id, last_runs(connection, project_id, limit))


def figures_of_run(connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID) -> RunFigures | None:
    """Return a run with the sums of its visits, None when there is no such run."""
    run = find_run(connection, project_id, run_id)
    return _figures(connection, project_id, [run])[0] if run else None


def _figures(connection: Connection, project_id: uuid.UUID, runs: Sequence[StoredRun]) -> list[RunFigures]:
    of_runs = (VisitRow.project_id == project_id, VisitRow.run_id.in_([run.id for run in runs]))
    sums = (
        select(
            VisitRow.run_id,
            VisitRow.verdict,
            func.count().label("visits"),
            func.sum(cast(VisitRow.callback_run, Integer)).label("callbacks"),
            func.sum(VisitRow.bytes_received).label("bytes_received"),
            func.sum(VisitRow.seconds).label("seconds"),
        )
        .where(*of_runs)
        .group_by(VisitRow.run_id, VisitRow.verdict)
        .order_by(VisitRow.run_id, VisitRow.verdict)
    )
    found: dict[uuid.UUID, list[Any]] = {}
    for row in connection.execute(sums):
        found.setdefault(row.run_id, []).append(row)
    shared = workers.by_run(connection, project_id, [run.id for run in runs])
    return [_add_up(run, found.get(run.id, []), shared.get(run.id, ())) for run in runs]


def _add_up(run: StoredRun, sums: list[Any], shared_by: Sequence[StoredWorker]) -> RunFigures:
    return RunFigures(
        run,
        verdicts={row.verdict: row.visits for row in sums if row.verdict is not None},
        visits=sum(row.visits for row in sums),
        # PostgreSQL's sums of integers are decimals.
        callbacks=sum(int(row.callbacks) for row in sums),
        bytes_received=sum(int(row.bytes_received) for row in sums),
        seconds=sum(row.seconds for row in sums),
        workers=shared_by,
    )


def add_counts(connection: Connection, batch: Batch) -> None:
    """Add a batch's counts to those that are stored."""
    rows = list(batch.validators.values())
    how: dict[str, How] = dict.fromkeys(VALIDATOR_COUNTS, "added")
    upsert(connection, DomainValidators, ("project_id", "domain"), rows, **how)


def validator_counts(connection: Connection, project_id: uuid.UUID, domain: str) -> ValidatorRecord:
    """Return the counts of a domain, all 0 where there are none."""
    counts = select(*(getattr(DomainValidators, name) for name in VALIDATOR_COUNTS)).where(
        DomainValidators.project_id == project_id, DomainValidators.domain == column_text(domain)
    )
    return ValidatorRecord(domain, *(connection.execute(counts).first() or ()))
