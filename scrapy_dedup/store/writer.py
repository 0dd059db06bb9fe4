"""A project's part of the store: what a crawl writes and asks.

Whoever calls has locked the project, so that what is read here is what will be replaced.
"""

import os
import socket
import threading
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Unpack

from msgspec.structs import replace
from sqlalchemy import ColumnClause, ColumnElement, Connection, Table, case, delete, func, select, tuple_, update

from scrapy_dedup.store.domains import runs as domain_runs
from scrapy_dedup.store.domains.runs import CrawledDomains
from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.engine.database import Database
from scrapy_dedup.store.knowledge import templates
from scrapy_dedup.store.knowledge.known_pages import asks
from scrapy_dedup.store.pages import contents, extractions, responses, states, visits
from scrapy_dedup.store.pages.visits import RowBound, decision_bound
from scrapy_dedup.store.records import lookups
from scrapy_dedup.store.records.batch import Batch, LayoutBatch, pack
from scrapy_dedup.store.records.page_records import ClaimKey
from scrapy_dedup.store.records.records import AlarmRecord, KeepPolicy, Record, TemplateStateRecord
from scrapy_dedup.store.records.stored import Run, StoredWorker, WorkerEnding
from scrapy_dedup.store.tables.models import (
    IS_LIVE,
    IS_OPEN,
    CrawledUrl,
    Decision,
    DomainBoilerplate,
    Forgotten,
    LayoutAlarm,
    LayoutRun,
    LayoutSignature,
    LayoutTemplateRow,
    VisitRow,
)
from scrapy_dedup.store.tables.upserts import Row, chunks, insert_into, table_of, upsert
from scrapy_dedup.store.workers import claims, workers
from scrapy_dedup.store.workers.claims import Claimant, Lost, Shown
from scrapy_dedup.store.workers.workers import Ending

LEASE: Final = timedelta(seconds=60)
_FORGOTTEN_AT_ONCE: Final = 5_000

# A domain has some ten layouts; where every page has a signature of its own, these would grow with its pages.
SIGNATURES_KEPT = 2_000
RUN_COUNTS_KEPT = 2_000
ALARMS_KEPT = 100
# A domain that has too many rows shrinks to this share of them, so that cutting is rare.
_ROOM = 0.9

Known = tuple[str, str]

_PAGE = ("project_id", "page_key")
_KEYS_AT_ONCE = 5_000


class CrawlRuns(CrawledDomains):
    """The part of `ProjectStore` that knows runs and their workers."""

    run: Run | None = None
    lease: timedelta = LEASE
    """For how long the worker lives without being heard."""
    shared_since: datetime | None = None
    """When the run began that several workers share; None for a run of one."""

    def begin_run(
        self, *, spider: str, jobdir: str | None, started_at: datetime, job: str = "", lease: timedelta = LEASE
    ) -> Run:
        """Begin a run, or go on with one that is not finished; what is written next belongs to it.

        Two crawls must not share a JOBDIR: Scrapy says so, and the second would take the first for killed.

        Args:
            spider: its name.
            jobdir: the name of the JOBDIR's crawl; a shared job takes its place.
            started_at: now.
            job: crawlers of one spider that name the same are workers of one run; empty: a run of its own. A run
                whose workers are all dead or stopped goes on with the next that comes.
            lease: after which a worker that was not heard of is dead.
        """
        with self._database.transaction(write=True) as connection:
            if not job:
                self.run = workers.begin(connection, self.id, spider=spider, jobdir=jobdir, started_at=started_at)
                return self.run
            self.lock(connection)
            joined = workers.join(connection, self.id, workers.Newcomer(job, spider, process_name(), lease, started_at))
        alone = not joined.others
        resumed = alone and not joined.is_new
        self.lease, self.shared_since = lease, joined.began_at
        self.run = Run(joined.run_id, resumed, killed=resumed and joined.lost > 0, worker=joined.worker_id)
        return self.run

    def report_run(self, run_id: uuid.UUID, stats: Mapping[str, Any], at: datetime) -> None:
        """Note how a run that is under way stands; without effect on one that has ended.

        A worker's lease is renewed, and the run stands as all of its workers do.
        """
        worker = self.run.worker if self.run else None
        with self._database.transaction(write=True) as connection:
            if worker is not None:
                workers.renew(connection, run_id, worker, lease=self.lease, stats=stats)
                stats = workers.stats_of(workers.of_runs(connection, self.id, [run_id]))
            workers.report(connection, run_id, stats, at)

    def leave_run(self, run_id: uuid.UUID, **ending: Unpack[Ending]) -> WorkerEnding:
        """Note how this worker ended, and say what that means for the run; one of its own ends with it."""
        worker = self.run.worker if self.run else None
        if worker is None:
            return WorkerEnding(is_last=True, status=ending["status"])
        with self._database.transaction(write=True) as connection:
            self.lock(connection)
            workers.leave(connection, worker, **ending)
            workers.bury(connection, run_id)
            all_of_it = workers.of_runs(connection, self.id, [run_id])
            workers.report(connection, run_id, workers.stats_of(all_of_it), ending["finished_at"])
        return workers.judge_end(all_of_it, worker)

    def end_run(self, run_id: uuid.UUID, **ending: Unpack[Ending]) -> None:
        """Note how a run ended: finished, or stopped and to be resumed; of several workers the last one says so."""
        shared = self.run is not None and self.run.worker is not None
        with self._database.transaction(write=True) as connection:
            if shared:
                ending["stats"] = workers.stats_of(workers.of_runs(connection, self.id, [run_id]))
            workers.end(connection, run_id, **ending)

    @property
    def claimant(self) -> Claimant | None:
        """Who claims here; None in a run that is not shared."""
        if self.run is None or self.run.worker is None:
            return None
        return Claimant(self.id, self.run.id, self.run.worker)

    def claim(self, owner: bytes, keys: Collection[ClaimKey], shown: Shown | None = None) -> Lost:
        """Claim a title and a text for a page; return what of them another worker has, see `claims.claim`."""
        claimant = self.claimant
        if claimant is None:
            return {}
        with self._database.transaction(write=True) as connection:
            return claims.claim(connection, claimant, owner, keys, shown)

    def shown_by(self, page_key: bytes) -> Shown | None:
        """Return what is seen of a page of this run that a worker has; None: nothing, or nothing yet."""
        claimant = self.claimant
        if claimant is None:
            return None
        with self._database.transaction() as connection:
            return claims.shown_by(connection, claimant.run_id, page_key)

    def forget_claims(self, run_id: uuid.UUID) -> None:
        """Delete the claims of a run that is over, in parts.

        Not those of a run that gave up a worker: one that is only slow needs them still, and `gc` comes.
        """
        workers_of_it = self.workers_of([run_id]).get(run_id, ())
        if not workers_of_it or any(worker.status == "lost" for worker in workers_of_it):
            return
        forgotten = _FORGOTTEN_AT_ONCE
        while forgotten == _FORGOTTEN_AT_ONCE:
            with self._database.transaction(write=True) as connection:
                forgotten = claims.forget(connection, run_id, _FORGOTTEN_AT_ONCE)

    def workers_of(self, run_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[StoredWorker]]:
        """Return the workers of those runs that have any, in the order in which they began."""
        found: dict[uuid.UUID, list[StoredWorker]] = {}
        with self._database.transaction() as connection:
            for worker in workers.of_runs(connection, self.id, run_ids):
                found.setdefault(worker.run_id, []).append(worker)
        return found


def process_name() -> str:
    """Return the name of this process, for people: host and process number."""
    return f"{socket.gethostname()}:{os.getpid()}"


def write(connection: Connection, project_id: uuid.UUID, batch: LayoutBatch) -> None:
    """Write what a batch says of layouts; whoever calls has locked the project."""
    _add_signatures(connection, project_id, batch)
    _add_runs(connection, project_id, batch)
    templates.write(connection, project_id, batch.templates)
    for alarm in batch.alarms:
        _set_alarm(connection, project_id, alarm)


def _add_signatures(connection: Connection, project_id: uuid.UUID, batch: LayoutBatch) -> None:
    """Add counts; the database adds, so that two crawls at once lose none."""
    if not batch.signatures:
        return
    stored, statement = table_of(LayoutSignature).c, insert_into(connection, LayoutSignature)
    new = statement.excluded
    values = {
        "seen_count": stored.seen_count + new.seen_count,
        "template_id": func.coalesce(new.template_id, stored.template_id),
        "first_seen_at": case(
            (new.first_seen_at < stored.first_seen_at, new.first_seen_at), else_=stored.first_seen_at
        ),
        "last_seen_at": case((new.last_seen_at > stored.last_seen_at, new.last_seen_at), else_=stored.last_seen_at),
        "algorithm_version": new.algorithm_version,
    }
    keys = ["project_id", "domain", "level", "signature_hash"]
    rows = [batch.signatures[key] for key in sorted(batch.signatures)]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=values), rows)
    group = (LayoutSignature.domain, LayoutSignature.level)
    order = (LayoutSignature.last_seen_at, LayoutSignature.signature_hash)
    _hold(connection, project_id, {row["domain"] for row in rows}, group, order, SIGNATURES_KEPT)


def _add_runs(connection: Connection, project_id: uuid.UUID, batch: LayoutBatch) -> None:
    if not batch.runs:
        return
    stored, statement = table_of(LayoutRun).c, insert_into(connection, LayoutRun)
    values = {"pages": stored.pages + statement.excluded.pages, "counted_at": statement.excluded.counted_at}
    keys = ["project_id", "domain", "layout", "run_id"]
    rows = [batch.runs[key] for key in sorted(batch.runs)]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=values), rows)
    order = (LayoutRun.counted_at, LayoutRun.layout, LayoutRun.run_id)
    _hold(connection, project_id, {row["domain"] for row in rows}, (LayoutRun.domain,), order, RUN_COUNTS_KEPT)


def _set_alarm(connection: Connection, project_id: uuid.UUID, alarm: AlarmRecord) -> None:
    domain = column_text(alarm.domain)
    same_layout = (
        LayoutAlarm.project_id == project_id,
        LayoutAlarm.domain == domain,
        LayoutAlarm.layout == alarm.layout,
    )
    of_open = update(LayoutAlarm).where(*same_layout, IS_OPEN)
    if alarm.raised_at is None:
        connection.execute(of_open.values(cleared_at=alarm.cleared_at))
        return
    figures = {
        "cause": column_text(alarm.cause),
        "pages_failed": alarm.pages_failed,
        "pages_looked": alarm.pages_looked,
    }
    if connection.execute(of_open.values(figures)).rowcount:
        return
    row = {
        "project_id": project_id,
        "domain": domain,
        "layout": alarm.layout,
        "raised_at": alarm.raised_at,
        "first_failed_at": alarm.first_failed_at or alarm.raised_at,
        "cleared_at": alarm.cleared_at,
        **figures,
    }
    # One that was raised at this instant and is cleared by now is not raised again.
    connection.execute(insert_into(connection, LayoutAlarm).on_conflict_do_nothing(), row)
    order = (LayoutAlarm.raised_at, LayoutAlarm.layout)
    _hold(connection, project_id, {domain}, (LayoutAlarm.domain,), order, ALARMS_KEPT)


def _hold(
    connection: Connection,
    project_id: uuid.UUID,
    domains: Collection[str],
    group: Sequence[ColumnClause[Any]],
    order: Sequence[ColumnClause[Any]],
    bound: int,
) -> None:
    """Forget the oldest rows of the groups that have too many; in their order no two rows of a group are equal."""
    model = order[0].table
    assert isinstance(model, Table)
    some: tuple[ColumnElement[bool], ...] = (model.c.project_id == project_id, model.c.domain.in_(sorted(domains)))
    too_many = select(*group).where(*some).group_by(*group).having(func.count() > bound)
    for values in connection.execute(too_many).all():
        same = (some[0], *(column == value for column, value in zip(group, values, strict=True)))
        newest_first = (column.desc() for column in order)
        first_to_go = select(*order).where(*same).order_by(*newest_first).offset(int(bound * _ROOM)).limit(1)
        last = connection.execute(first_to_go).one()
        connection.execute(delete(model).where(*same, tuple_(*order) <= tuple_(*last)))


def not_weaker(
    connection: Connection, project_id: uuid.UUID, rows: Mapping[Known, Row], enough_pages: int
) -> list[Row]:
    """Return the rows of `domain_boilerplate` that are to be written.

    Args:
        connection: to read on.
        project_id: of the project.
        rows: by domain and method.
        enough_pages: what rests on so many pages replaces whatever is there.
    """
    thin = {domain for (domain, _), row in rows.items() if row["pages_analyzed"] < enough_pages}
    if not thin:
        return list(rows.values())
    columns = (DomainBoilerplate.domain, DomainBoilerplate.method, DomainBoilerplate.pages_analyzed)
    of_these = (DomainBoilerplate.project_id == project_id, DomainBoilerplate.domain.in_(sorted(thin)))
    stored = {
        (domain, method): pages for domain, method, pages in connection.execute(select(*columns).where(*of_these))
    }
    return [row for key, row in rows.items() if row["pages_analyzed"] >= min(stored.get(key, 0), enough_pages)]


def not_thinner(
    connection: Connection, project_id: uuid.UUID, batch: LayoutBatch, since: datetime | None
) -> LayoutBatch:
    """Return what is to be written of layouts: no template from fewer pages than this run's live one rests on.

    Where a domain was redesigned while the run went on, which an alarm says, every template is written.

    Args:
        connection: to read on.
        project_id: of the project.
        batch: what one worker knows.
        since: when the run began; None for a run of one worker, which knows what it learned before.
    """
    domains = {change["domain"] for change in batch.templates if not isinstance(change, TemplateStateRecord)}
    if since is None or not domains:
        return batch
    raised = select(LayoutAlarm.domain).where(LayoutAlarm.project_id == project_id, LayoutAlarm.raised_at >= since)
    domains -= set(connection.scalars(raised.where(LayoutAlarm.domain.in_(sorted(domains)))))
    domains -= {alarm.domain for alarm in batch.alarms}
    live = (
        select(LayoutTemplateRow.domain, LayoutTemplateRow.layout, func.max(LayoutTemplateRow.pages))
        .where(LayoutTemplateRow.project_id == project_id, LayoutTemplateRow.domain.in_(sorted(domains)), IS_LIVE)
        .where(LayoutTemplateRow.created_at >= since)
        .group_by(LayoutTemplateRow.domain, LayoutTemplateRow.layout)
    )
    pages = {(domain, layout): most for domain, layout, most in connection.execute(live)}
    kept = [
        change
        for change in batch.templates
        if isinstance(change, TemplateStateRecord)
        or change["pages"] >= pages.get((change["domain"], change["layout"]), 0)
    ]
    return replace(batch, templates=kept)


class ProjectStore(CrawlRuns):
    """The store bound to a project and, after `begin_run`, to a run. Any thread may use it.

    Every method raises StoreError when the database fails.
    """

    def __init__(self, database: Database, project_id: uuid.UUID, name: str, keep: KeepPolicy) -> None:
        """Use `Store.project`."""
        super().__init__(database, project_id, name)
        self._keep = keep
        self._decision_bound = decision_bound(project_id, keep.decisions)
        self._visit_bound = RowBound(project_id, keep.visits, VisitRow.at, VisitRow.id, a_page=keep.visits_a_page)
        self._writing = threading.Lock()

    def rewrite_file(self) -> None:
        """Leave nothing that was deleted in a file, see `Database.rewrite_file`."""
        self._database.rewrite_file()

    # Writing.

    def write(self, records: Iterable[Record]) -> None:
        """Write the records in one transaction; of two with the same keys the later one counts.

        Writing the same records twice equals once, but for those that count:
        ValidatorRecord, ConfidenceRecord, LayoutSignatureRecord and LayoutRunRecord.
        Call it from the writer's thread: it compresses, and waits for the lock
        of other processes.

        Raises:
            StoreError: nothing was written.
        """
        with self._writing:
            batch = pack(records, self.id, self.run.id if self.run else None)
            if batch:
                with self._database.transaction(write=True) as connection:
                    self._write(connection, batch)

    def _write(self, connection: Connection, batch: Batch) -> None:
        stored_bytes = self.lock(connection)
        states.write_documents(connection, self.id, batch)
        self._told_of(connection, batch)
        batch.pages.write(connection, self.id, self.run.id if self.run else None, batch.gone)
        upsert(connection, CrawledUrl, _PAGE, list(batch.urls.values()))
        boilerplate = not_weaker(connection, self.id, batch.boilerplate, self._keep.enough_pages)
        upsert(
            connection, DomainBoilerplate, ("project_id", "domain", "method"), boilerplate, once=("id", "created_at")
        )
        self._write_decisions(connection, batch)
        visits.write(connection, batch, self._visit_bound)
        extractions.write(connection, self.id, batch, self._keep.extractions)
        visits.add(connection, batch)
        responses.write_others(connection, self.id, batch)
        domain_runs.add_confidences(connection, self.id, batch.confidences.values())
        write(connection, self.id, not_thinner(connection, self.id, batch.layouts, self.shared_since))
        contents.write(connection, self.id, batch, stored_bytes, self._keep)
        claims.release(connection, self.claimant, batch.released)

    def _told_of(self, connection: Connection, batch: Batch) -> None:
        """Let go of the keys of forgotten pages that came again, or whose removal was told."""
        for keys in chunks(batch.documents.keys() | batch.gone.keys()):
            connection.execute(delete(Forgotten).where(Forgotten.project_id == self.id, Forgotten.page_key.in_(keys)))

    def _write_decisions(self, connection: Connection, batch: Batch) -> None:
        if batch.decisions and self._decision_bound.keeps:
            upsert(connection, Decision, (*_PAGE, "layer"), list(batch.decisions.values()))
            self._decision_bound.hold(connection, len(batch.decisions))

    # Asking.

    knowledge = asks(lookups.find_knowledge)
    is_known = asks(lookups.is_known)
    page = asks(lookups.find_page)
    versions = asks(lookups.find_versions)
    decisions = asks(lookups.find_decisions)
    document_keys = asks(lookups.find_document_keys)
    urls_of_document = asks(lookups.find_urls_of_document)
    documents_in_run = asks(lookups.find_documents)
    last_runs = asks(lookups.last_runs)

    def forgotten(self) -> list[bytes]:
        """Return the keys of forgotten pages whose removal is still to be told, in their order."""
        some = select(Forgotten.page_key).where(Forgotten.project_id == self.id).order_by(Forgotten.page_key)
        with self._database.transaction() as connection:
            return list(connection.scalars(some))

    def finished_keys(self, run_id: uuid.UUID) -> Iterator[bytes]:
        """Iterate over the page keys whose documents the run completed."""

        def some(connection: Connection, last: tuple[datetime, bytes] | None) -> list[tuple[datetime, bytes]]:
            return lookups.finished_documents(connection, run_id, last, _KEYS_AT_ONCE)

        return (key for _, key in self._stream(some))
