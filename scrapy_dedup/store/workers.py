"""Workers: crawler processes that share one run. A worker is heard of by its lease, by the database's clock."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict, Unpack

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    func,
    insert,
    not_,
    or_,
    select,
    tuple_,
    update,
)

from scrapy_dedup.core.runs import WorkerPart, total
from scrapy_dedup.store.engine.codec import column_text, optional_text
from scrapy_dedup.store.records.lookups import values_of
from scrapy_dedup.store.records.records import ClaimKey, ClaimKind, ReleaseRecord, RunStatus
from scrapy_dedup.store.records.stored import Run, StoredWorker, WorkerEnding
from scrapy_dedup.store.tables.columns import clock, restarted
from scrapy_dedup.store.tables.models import Claim, CrawlRun, RunWorker
from scrapy_dedup.store.tables.statements import add, insert_rows, table_of

# Names of JOBDIRs are digits: no job is taken for one.
_JOB: Final = "shared job: "
RUNS_KEPT: Final = 1_000
"""Of a spider, the newest; a page that so many did not find is long gone."""
_FORGOTTEN_AT_ONCE: Final = 100


def begin(
    connection: Connection, project_id: uuid.UUID, *, spider: str, jobdir: str | None, started_at: datetime
) -> Run:
    """Return a new run, or the one that the JOBDIR did not finish: stopped, or killed and still said to be running."""
    spider, jobdir = column_text(spider), optional_text(jobdir)
    if jobdir is not None:
        found = _unfinished(connection, project_id, spider, jobdir)
        if found is not None:
            _run_on(connection, found.id, started_at)
            return Run(found.id, resumed=True, killed=found.status in {"running", "killed"})
    return Run(_begin(connection, project_id, spider, jobdir, started_at))


def _unfinished(connection: Connection, project_id: uuid.UUID, spider: str, jobdir: str) -> Any:
    """Return the last run of a JOBDIR, or of a shared job; None where there is none, or it is finished."""
    last = (
        select(CrawlRun.id, CrawlRun.status, CrawlRun.started_at)
        .where(CrawlRun.project_id == project_id, CrawlRun.spider == spider, CrawlRun.jobdir == jobdir)
        .order_by(CrawlRun.started_at.desc(), CrawlRun.id.desc())
        .limit(1)
    )
    found = connection.execute(last).first()
    return found if found is not None and found.status != "finished" else None


def _run_on(connection: Connection, run_id: uuid.UUID, at: datetime) -> None:
    again = {"status": "running", "reason": None, "finished_at": None, "seen_at": at}
    connection.execute(update(CrawlRun).where(CrawlRun.id == run_id).values(again))


def report(connection: Connection, run_id: uuid.UUID, stats: Mapping[str, Any], at: datetime) -> None:
    """Note how a run that is under way stands."""
    under_way = update(CrawlRun).where(CrawlRun.id == run_id, CrawlRun.status == "running")
    connection.execute(under_way.values(stats={str(name): value for name, value in stats.items()}, seen_at=at))


class Ending(TypedDict):
    """How a run ended, or one of its workers: how, why, what it had counted, and when."""

    status: RunStatus
    reason: str | None
    stats: Mapping[str, Any]
    finished_at: datetime


def end(connection: Connection, run_id: uuid.UUID, **ending: Unpack[Ending]) -> None:
    """Note how a run ended; what JSON does not know among its stats becomes its `str`."""
    ended = _columns(ending) | {"seen_at": ending["finished_at"]}
    connection.execute(update(CrawlRun).where(CrawlRun.id == run_id).values(ended))


def _columns(ending: Ending) -> dict[str, Any]:
    stats = {str(name): value for name, value in ending["stats"].items()}
    return {**ending, "reason": optional_text(ending["reason"]), "stats": stats}


class Newcomer(Struct, frozen=True):
    """A worker that is about to join.

    Attributes:
        job: which crawlers share; not empty.
        name: of the process, for people.
        lease: for how long it lives without being heard.
    """

    job: str
    spider: str
    name: str
    lease: timedelta
    started_at: datetime


class Joined(Struct, frozen=True):
    """Where a worker is to work; `others` of the run's workers are living, `lost` ones were found dead now."""

    run_id: uuid.UUID
    worker_id: uuid.UUID
    began_at: datetime
    is_new: bool
    others: int = 0
    lost: int = 0


def is_living() -> ColumnElement[bool]:
    """Say in SQL whether a worker is at work: it has not ended, and its lease is not over."""
    heard = or_(RunWorker.lease_until > clock(), restarted(RunWorker.started_at))
    return and_(RunWorker.status == "running", heard)


def living(run_id: uuid.UUID) -> Any:
    """Return the statement that selects the ids of the workers of a run that are at work."""
    return select(RunWorker.id).where(RunWorker.run_id == run_id, is_living())


def join(connection: Connection, project_id: uuid.UUID, newcomer: Newcomer) -> Joined:
    """Add a worker to the run of its job that is not finished, or to a new one; the caller has locked the project."""
    job, spider = _JOB + column_text(newcomer.job), column_text(newcomer.spider)
    found = _unfinished(connection, project_id, spider, job)
    if found is not None:
        lost = bury(connection, found.id)
        others = connection.scalar(select(func.count()).select_from(living(found.id).subquery())) or 0
        if others or found.status != "running" or not _end_if_over(connection, project_id, found.id):
            return _go_on(connection, project_id, found, newcomer, others=others, lost=lost)
    run_id = _begin(connection, project_id, spider, job, newcomer.started_at)
    worker_id = _add(connection, project_id, run_id, newcomer)
    return Joined(run_id, worker_id, newcomer.started_at, is_new=True)


def _end_if_over(connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID) -> bool:
    """End a run of which nobody is left, if all was done when a worker finished that took a dead one for living.

    Who went on with it would find its first pages done, and fetch nothing.
    """
    those = of_runs(connection, project_id, [run_id])
    last = _last_to_finish(those)
    if last is None or last.finished_at is None:
        return False
    stats = stats_of(those)
    end(connection, run_id, status="finished", reason=last.reason, stats=stats, finished_at=last.finished_at)
    return True


def _go_on(
    connection: Connection, project_id: uuid.UUID, found: Any, newcomer: Newcomer, *, others: int, lost: int
) -> Joined:
    # Without anybody who ended in time, a run that is said to be running was killed as a whole.
    killed = found.status == "killed" or (found.status == "running" and not others)
    if not others:
        _resume(connection, found.id)
    _run_on(connection, found.id, newcomer.started_at)
    worker_id = _add(connection, project_id, found.id, newcomer)
    lost = max(lost, int(killed))
    return Joined(found.id, worker_id, found.started_at, is_new=False, others=others, lost=lost)


def _resume(connection: Connection, run_id: uuid.UUID) -> None:
    """Note that the run goes on: what its workers left undone is taken up, as what a JOBDIR holds."""
    undone = update(RunWorker).where(RunWorker.run_id == run_id, RunWorker.status.in_(("stopped", "lost")))
    connection.execute(undone.values(status="resumed", reason=func.coalesce(RunWorker.reason, RunWorker.status)))


def _begin(connection: Connection, project_id: uuid.UUID, spider: str, job: str | None, at: datetime) -> uuid.UUID:
    run_id = uuid.uuid4()
    row = {"id": run_id, "project_id": project_id, "spider": spider, "jobdir": job, "status": "running"}
    connection.execute(insert(CrawlRun), {**row, "started_at": at, "stats": {}})
    runs = select(CrawlRun.id).where(CrawlRun.project_id == project_id, CrawlRun.spider == spider)
    newest = runs.order_by(CrawlRun.started_at.desc(), CrawlRun.id.desc())
    if old := connection.scalars(newest.offset(RUNS_KEPT).limit(_FORGOTTEN_AT_ONCE)).all():
        connection.execute(delete(RunWorker).where(RunWorker.project_id == project_id, RunWorker.run_id.in_(old)))
        connection.execute(delete(CrawlRun).where(CrawlRun.id.in_(old)))
    return run_id


def _add(connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID, newcomer: Newcomer) -> uuid.UUID:
    worker_id = uuid.uuid4()
    row = {
        "id": worker_id,
        "project_id": project_id,
        "run_id": run_id,
        "name": column_text(newcomer.name),
        "status": "running",
        "started_at": newcomer.started_at,
        "lease_until": _now(connection) + newcomer.lease,
        "stats": {},
    }
    connection.execute(insert(RunWorker), row)
    return worker_id


def _now(connection: Connection) -> datetime:
    at: datetime | None = connection.scalar(select(clock()))
    assert at is not None
    return at


def bury(connection: Connection, run_id: uuid.UUID) -> int:
    """Note which workers of a run were lost; return how many they are."""
    dead = update(RunWorker).where(RunWorker.run_id == run_id, RunWorker.status == "running", not_(is_living()))
    return connection.execute(dead.values(status="lost", finished_at=RunWorker.lease_until)).rowcount


def renew(
    connection: Connection, run_id: uuid.UUID, worker_id: uuid.UUID, *, lease: timedelta, stats: Mapping[str, Any]
) -> None:
    """Note that a worker lives, and how it stands."""
    before = connection.scalar(select(RunWorker.status).where(RunWorker.id == worker_id).with_for_update())
    if before not in ("running", "lost", "resumed"):
        return
    heard = {"lease_until": _now(connection) + lease, "status": "running", "finished_at": None}
    mine = update(RunWorker).where(RunWorker.id == worker_id)
    connection.execute(mine.values(**heard, stats={str(name): value for name, value in stats.items()}))
    if before != "running":
        # Others may have ended the run meanwhile: it goes on.
        ended = update(CrawlRun).where(CrawlRun.id == run_id, CrawlRun.status != "running")
        connection.execute(ended.values(status="running", reason=None, finished_at=None))


def leave(connection: Connection, worker_id: uuid.UUID, **ending: Unpack[Ending]) -> None:
    """Note how a worker ended."""
    connection.execute(update(RunWorker).where(RunWorker.id == worker_id).values(_columns(ending)))


def of_runs(connection: Connection, project_id: uuid.UUID, run_ids: Collection[uuid.UUID]) -> list[StoredWorker]:
    """Return the workers of some runs, in the order in which they began."""
    some = values_of(RunWorker, StoredWorker, project_id).where(RunWorker.run_id.in_(sorted(run_ids)))
    return [StoredWorker(*row) for row in connection.execute(some.order_by(RunWorker.started_at, RunWorker.id))]


def by_run(
    connection: Connection, project_id: uuid.UUID, run_ids: Collection[uuid.UUID]
) -> dict[uuid.UUID, list[StoredWorker]]:
    """Return the workers of those runs that have any, in the order in which they began."""
    found: dict[uuid.UUID, list[StoredWorker]] = {}
    for worker in of_runs(connection, project_id, run_ids):
        found.setdefault(worker.run_id, []).append(worker)
    return found


def stats_of(workers: Sequence[StoredWorker]) -> dict[str, Any]:
    """Return what workers counted together."""
    return total([WorkerPart(worker.started_at, worker.stats) for worker in workers])


def judge_end(workers: Sequence[StoredWorker], ended: uuid.UUID) -> WorkerEnding:
    """Return whether a run is over: it is finished if the last of its workers came to its own end.

    What one had that was stopped or died came back to the queue, which is empty when the last one finishes.

    *ended* is the one that has just ended.
    """
    if any(worker.status == "running" for worker in workers):
        return WorkerEnding(is_last=False, status="running")
    last = next(worker for worker in workers if worker.id == ended)
    return WorkerEnding(is_last=True, status="finished" if last.status == "finished" else "stopped")


def _last_to_finish(workers: Sequence[StoredWorker]) -> StoredWorker | None:
    """Return the worker with whose end a run was over that nobody ended; None: there is something to go on with."""
    ends = [each.finished_at for each in workers if each.status in ("finished", "stopped") and each.finished_at]
    at = max(ends, default=None)
    # What became of the first requests of one that began later, nobody knows.
    if at is None or any(each.started_at > at for each in workers):
        return None
    return next((each for each in workers if each.status == "finished" and each.finished_at == at), None)


class Claimant(Struct, frozen=True):
    """Who claims."""

    project_id: uuid.UUID
    run_id: uuid.UUID
    worker_id: uuid.UUID


Lost = Mapping[ClaimKey, bytes]
"""What other workers have of what was claimed: the key of the page that holds it."""


class Shown(Struct, frozen=True):
    """What a page has, for others to see."""

    evidence: bytes
    """By which they find out whether theirs is the same, as `PageEvidence` packs it."""
    is_out: bool = False
    """It goes out, whatever others do."""


class PageClaim(Struct, frozen=True):
    """What is claimed for a page; others see what it has *shown* where nothing is lost."""

    owner: bytes
    """The page."""
    keys: Collection[ClaimKey]
    shown: Shown | None = None


def claim(connection: Connection, claimant: Claimant, claims: Sequence[PageClaim]) -> list[Lost]:
    """Claim things for pages, as one after the other; return what of each page's another worker has.

    What a dead worker had is free: what it gave is in the store. So is what a worker has of the page itself.
    """
    ours = {"project_id": claimant.project_id, "run_id": claimant.run_id, "worker_id": claimant.worker_id}
    nothing = {**ours, "shown": None, "is_out": False}
    rows: dict[ClaimKey, dict[str, Any]] = {}
    for one in claims:
        for key in one.keys:
            rows.setdefault(key, {**nothing, "kind": int(key.kind), "key": key.key, "owner": one.owner})
    _take(connection, claimant, rows)
    # The upsert has locked all of these rows, also those that it left as they were: none can go meanwhile.
    theirs = select(Claim.kind, Claim.key, Claim.owner).where(
        Claim.run_id == claimant.run_id,
        tuple_(Claim.kind, Claim.key).in_([(int(one.kind), one.key) for one in rows]),
        Claim.worker_id != claimant.worker_id,
    )
    found = connection.execute(theirs) if rows else ()
    taken = {ClaimKey(ClaimKind(kind), key): holder for kind, key, holder in found}
    # Of several of these pages the row named the first, and not the one that another worker has, too.
    lost: list[Lost] = [
        {key: taken[key] for key in one.keys if taken.get(key, one.owner) != one.owner} for one in claims
    ]
    pages: dict[ClaimKey, dict[str, Any]] = {}
    for one, missing in zip(claims, lost, strict=True):
        if one.shown is not None and not missing:
            key = ClaimKey(ClaimKind.PAGE, one.owner)
            is_out = one.shown.is_out or (key in pages and pages[key]["is_out"])
            row = {**ours, "kind": int(key.kind), "key": key.key, "owner": one.owner}
            pages[key] = row | {"shown": one.shown.evidence, "is_out": is_out}
    # The last in the order of (kind, key).
    _take(connection, claimant, pages)
    return lost


def _take(connection: Connection, claimant: Claimant, rows: Mapping[ClaimKey, dict[str, Any]]) -> None:
    """Write claims, as far as nobody else has them; in the order of their keys, which all workers keep."""
    if not rows:
        return
    claims, columns = table_of(Claim), tuple(next(iter(rows.values())))
    statement = insert_rows(connection.dialect.name, claims, columns)
    new = statement.excluded
    is_free = or_(claims.c.owner == new.owner, claims.c.worker_id.not_in(living(claimant.run_id)))
    of_new = {name: new[name] for name in ("worker_id", "owner", "shown")}
    taken = statement.on_conflict_do_update(
        index_elements=["run_id", "kind", "key"],
        set_=of_new | {"is_out": or_(new.is_out, claims.c.is_out)},
        where=is_free,
    )
    add(connection, taken, columns, [rows[key] for key in sorted(rows)])


def shown_by(connection: Connection, run_id: uuid.UUID, page_key: bytes) -> Shown | None:
    """Return what is seen of a page of a run; None: nothing, or nothing yet."""
    of_page = (Claim.run_id == run_id, Claim.kind == int(ClaimKind.PAGE), Claim.key == page_key)
    row = connection.execute(select(Claim.shown, Claim.is_out).where(*of_page)).one_or_none()
    return Shown(row.shown, row.is_out) if row is not None and row.shown is not None else None


def release(connection: Connection, claimant: Claimant | None, records: Iterable[ReleaseRecord]) -> None:
    """Delete what pages claimed; without a shared run nobody did."""
    released = sorted({(int(one.claim.kind), one.claim.key, one.owner) for one in records})
    if claimant is None or not released:
        return
    claims = table_of(Claim)
    ours = delete(claims).where(
        claims.c.run_id == claimant.run_id,
        claims.c.kind == bindparam("of_kind"),
        claims.c.key == bindparam("of_key"),
        claims.c.owner == bindparam("of_page"),
        claims.c.worker_id == claimant.worker_id,
    )
    named = [{"of_kind": kind, "of_key": key, "of_page": owner} for kind, key, owner in released]
    connection.execute(ours, named)


def forget(connection: Connection, run_id: uuid.UUID, limit: int) -> int:
    """Delete claims of a run, so many at most; return how many."""
    some = select(Claim.kind, Claim.key).where(Claim.run_id == run_id).limit(limit)
    # SQLite lets one write at a time; asked for an order, it would read all claims of the run for it.
    if connection.dialect.name == "postgresql":
        some = some.order_by(Claim.kind, Claim.key).with_for_update()
    # A part of the other statement could be asked again for each of its rows; this is asked once.
    locked = select(some.cte("locked", nesting=True))
    of_run = (Claim.run_id == run_id, tuple_(Claim.kind, Claim.key).in_(locked))
    return connection.execute(delete(Claim).where(*of_run)).rowcount
