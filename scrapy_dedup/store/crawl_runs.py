"""A crawl's run: how it begins, alone or with other workers, how it stands, and how it ends."""

import os
import socket
import uuid
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from scrapy_dedup.store import claims, lookups, runs, workers
from scrapy_dedup.store.claims import Claimant, Lost
from scrapy_dedup.store.domain_runs import CrawledDomains
from scrapy_dedup.store.page_records import ClaimKey
from scrapy_dedup.store.records import RunStatus
from scrapy_dedup.store.stored import Ending, Run, StoredRun, StoredWorker

LEASE: Final = timedelta(seconds=60)
_FORGOTTEN_AT_ONCE: Final = 5_000


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
                self.run = runs.begin(connection, self.id, spider=spider, jobdir=jobdir, started_at=started_at)
                return self.run
            self._lock(connection)
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
            runs.report(connection, run_id, stats, at)

    def leave_run(
        self,
        run_id: uuid.UUID,
        *,
        status: RunStatus,
        reason: str | None,
        stats: Mapping[str, Any],
        finished_at: datetime,
    ) -> Ending:
        """Note how this worker ended, and say what that means for the run; one of its own ends with it.

        Args:
            run_id: of the run.
            status: of this worker.
            reason: why it ended.
            stats: what it counted.
            finished_at: now.
        """
        worker = self.run.worker if self.run else None
        if worker is None:
            return Ending(is_last=True, status=status)
        with self._database.transaction(write=True) as connection:
            self._lock(connection)
            workers.leave(connection, worker, status=status, reason=reason, stats=stats, finished_at=finished_at)
            workers.bury(connection, run_id)
            all_of_it = workers.of_runs(connection, self.id, [run_id])
            runs.report(connection, run_id, workers.stats_of(all_of_it), finished_at)
        return workers.judge_end(all_of_it, worker)

    def end_run(
        self,
        run_id: uuid.UUID,
        *,
        status: RunStatus,
        reason: str | None,
        stats: Mapping[str, Any],
        finished_at: datetime,
    ) -> None:
        """Note how a run ended: finished, or stopped and to be resumed; of several workers the last one says so."""
        shared = self.run is not None and self.run.worker is not None
        with self._database.transaction(write=True) as connection:
            if shared:
                stats = workers.stats_of(workers.of_runs(connection, self.id, [run_id]))
            runs.end(connection, run_id, status=status, reason=reason, stats=stats, finished_at=finished_at)

    @property
    def claimant(self) -> Claimant | None:
        """Who claims here; None in a run that is not shared."""
        if self.run is None or self.run.worker is None:
            return None
        return Claimant(self.id, self.run.id, self.run.worker)

    def claim(self, owner: bytes, keys: Collection[ClaimKey]) -> Lost:
        """Claim a title and a text for a page; return what of them another worker of the run has."""
        claimant = self.claimant
        if claimant is None:
            return {}
        with self._database.transaction(write=True) as connection:
            return claims.claim(connection, claimant, owner, keys)

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

    def last_runs(self, limit: int = 10) -> list[StoredRun]:
        """Return the runs that began last, newest first."""
        with self._database.transaction() as connection:
            return lookups.last_runs(connection, self.id, limit)

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
