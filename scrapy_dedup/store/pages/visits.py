"""The ledger of visits, and the bounds of what is kept."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace
from sqlalchemy import ColumnClause, ColumnElement, Connection, Integer, Table, and_, cast, delete, func, select, tuple_

from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.records.batch import Batch
from scrapy_dedup.store.records.lookups import columns_of, find_run, last_runs
from scrapy_dedup.store.records.records import ValidatorRecord
from scrapy_dedup.store.records.rows import VALIDATOR_COUNTS
from scrapy_dedup.store.records.stored import (
    ChangeChoice,
    RunFigures,
    StoredChange,
    StoredRun,
    StoredVisit,
    StoredWorker,
)
from scrapy_dedup.store.tables.models import NO_RUN, CrawlRun, Decision, Document, DomainValidators, VisitRow
from scrapy_dedup.store.tables.upserts import insert_into, table_of, upsert
from scrapy_dedup.store.workers import workers

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

        Args:
            project_id: of the project.
            bound: most rows.
            order: the columns.
            a_page: most rows for each document that is stored, where there are more than a few; None: so many.
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
            self._cut(connection, self._at_most)

    def _allowed(self, connection: Connection) -> int:
        if self._a_page is None:
            return self._most
        # No more are counted than matter.
        documents = self._documents.limit(self._most // self._a_page + 1).subquery()
        number = connection.scalar(select(func.count()).select_from(documents)) or 0
        return min(self._most, max(_FEW, self._a_page * number))

    def _cut(self, connection: Connection, room: int) -> None:
        newest_first = (column.desc() for column in self._order)
        newest_to_go = select(*self._order).where(self._of_project).order_by(*newest_first).offset(room).limit(1)
        last = connection.execute(newest_to_go).one()
        connection.execute(delete(self._model).where(self._of_project, tuple_(*self._order) <= tuple_(*last)))


def decision_bound(project_id: uuid.UUID, bound: int) -> RowBound:
    """Return the bound of a project's decisions."""
    return RowBound(project_id, bound, Decision.decided_at, Decision.page_key, Decision.layer)


CHANGES = ("new", "changed", "removed")

_VISIT = columns_of(VisitRow, StoredVisit)
_SAME_PAGE = and_(Document.project_id == VisitRow.project_id, Document.page_key == VisitRow.page_key)


def write(connection: Connection, batch: Batch, bound: RowBound) -> None:
    """Write the visits of a batch, and drop the oldest when there are too many."""
    if batch.visits and bound.keeps:
        upsert(connection, VisitRow, ("project_id", "run_id", "at", "page_key"), list(batch.visits.values()))
        bound.hold(connection, len(batch.visits))


def of_run(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID, after: StoredVisit | None, limit: int
) -> list[StoredVisit]:
    """Return so many visits of a run, in the order of time and key."""
    order = (VisitRow.at, VisitRow.page_key)
    some = select(*_VISIT).where(VisitRow.project_id == project_id, VisitRow.run_id == run_id)
    if after:
        some = some.where(tuple_(*order) > tuple_(after.at, after.page_key))
    return [_read(row) for row in connection.execute(some.order_by(*order).limit(limit))]


def changes(connection: Connection, project_id: uuid.UUID, choice: ChangeChoice, limit: int) -> list[StoredChange]:
    """Return so many visits with a change, in the order of time."""
    some = (
        select(*_VISIT, VisitRow.id, Document.url, Document.domain)
        .outerjoin(Document, _SAME_PAGE)
        .where(VisitRow.project_id == project_id, *_chosen(choice))
        .order_by(VisitRow.at, VisitRow.id)
        .limit(limit)
    )
    return [StoredChange(_read(row[: len(_VISIT)]), row.url, row.domain, row.id) for row in connection.execute(some)]


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
        conditions[0] = place > tuple_(choice.after.visit.at, choice.after.visit_id)
    if choice.domain is not None:
        conditions.append(Document.domain == column_text(choice.domain))
    return conditions


def start_of(connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID) -> datetime | None:
    """Return when a run began, None when there is no such run."""
    return connection.scalar(
        select(CrawlRun.started_at).where(CrawlRun.project_id == project_id, CrawlRun.id == run_id)
    )


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
    shared: dict[uuid.UUID, list[StoredWorker]] = {}
    for worker in workers.of_runs(connection, project_id, [run.id for run in runs]):
        shared.setdefault(worker.run_id, []).append(worker)
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


def _read(row: Any) -> StoredVisit:
    visit = StoredVisit(*row)
    return replace(visit, run_id=None) if visit.run_id == NO_RUN else visit


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
