"""A project's part of the store: what a crawl writes and asks."""

import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection

from scrapy_dedup.store import contents, extractions, lookups, runs, states, validators, visits
from scrapy_dedup.store.batch import Batch, pack
from scrapy_dedup.store.bounds import decision_bound, visit_bound
from scrapy_dedup.store.database import Database
from scrapy_dedup.store.errors import StoreError, shown
from scrapy_dedup.store.models import CrawledUrl, Decision, DomainBoilerplate
from scrapy_dedup.store.records import KeepPolicy, Record, RunStatus, ValidatorRecord
from scrapy_dedup.store.stored import (
    Run,
    StoredBoilerplate,
    StoredDecision,
    StoredDocument,
    StoredPage,
    StoredRun,
    StoredUrl,
    StoredVersion,
)
from scrapy_dedup.store.stored_visits import (
    ExtractionChoice,
    ExtractionFigures,
    MissedPage,
    RunFigures,
    StoredChange,
    StoredExtraction,
    StoredState,
    StoredVisit,
)
from scrapy_dedup.store.upserts import upsert

_PAGE = ("project_id", "page_key")
_KEYS_AT_ONCE = 5_000
_EXTRACTIONS_AT_ONCE = 100

Row = TypeVar("Row")
Question = TypeVar("Question")
Answer = TypeVar("Answer")


class ProjectStore:
    """The store bound to a project and, after `begin_run`, to a run. Any thread may use it.

    Every method raises StoreError when the database fails.
    """

    def __init__(self, database: Database, project_id: uuid.UUID, name: str, keep: KeepPolicy) -> None:
        """Use `Store.project`."""
        self.id = project_id
        self.name = name
        self.run: Run | None = None
        self._database = database
        self._keep = keep
        self._decision_bound = decision_bound(project_id, keep.decisions)
        self._visit_bound = visit_bound(project_id, keep.visits)
        self._writing = threading.Lock()

    # Runs.

    def begin_run(self, *, spider: str, jobdir: str | None, started_at: datetime) -> Run:
        """Begin a run, or go on with the one that the JOBDIR did not finish; what is written next belongs to it.

        Two crawls must not share a JOBDIR: Scrapy says so, and the second would take the first for killed.
        """
        with self._database.transaction(write=True) as connection:
            self.run = runs.begin(connection, self.id, spider=spider, jobdir=jobdir, started_at=started_at)
        return self.run

    def end_run(
        self,
        run_id: uuid.UUID,
        *,
        status: RunStatus,
        reason: str | None,
        stats: Mapping[str, Any],
        finished_at: datetime,
    ) -> None:
        """Note how a run ended: finished, or stopped and to be resumed."""
        with self._database.transaction(write=True) as connection:
            runs.end(connection, run_id, status=status, reason=reason, stats=stats, finished_at=finished_at)

    def last_runs(self, limit: int = 10) -> list[StoredRun]:
        """Return the runs that began last, newest first."""
        with self._database.transaction() as connection:
            return lookups.last_runs(connection, self.id, limit)

    # Writing.

    def write(self, records: Iterable[Record]) -> None:
        """Write the records in one transaction; of two with the same keys the later one counts.

        Writing the same records twice equals once, but for ValidatorRecord.
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
        stored_bytes = self._lock(connection)
        states.write_documents(connection, batch)
        upsert(connection, CrawledUrl, _PAGE, list(batch.urls.values()))
        upsert(
            connection,
            DomainBoilerplate,
            ("project_id", "domain", "method"),
            list(batch.boilerplate.values()),
            once=("id", "created_at"),
        )
        self._write_decisions(connection, batch)
        visits.write(connection, batch, self._visit_bound)
        extractions.write(connection, self.id, batch, self._keep.extractions)
        validators.add(connection, batch)
        contents.write(connection, self.id, batch, stored_bytes, self._keep)

    def _lock(self, connection: Connection) -> int:
        """Take this project's turn to write; return how many bytes it holds."""
        stored_bytes = contents.lock_project(connection, self.id)
        if stored_bytes is None:
            name = shown(self._database.url)
            raise StoreError(
                f"store {name}: project {self.name!r} was deleted. Start the crawl again to create it anew."
            )
        return stored_bytes

    def _write_decisions(self, connection: Connection, batch: Batch) -> None:
        if batch.decisions and self._decision_bound.keeps:
            upsert(connection, Decision, (*_PAGE, "layer"), list(batch.decisions.values()))
            self._decision_bound.hold(connection, len(batch.decisions))

    # Asking.

    def finished_keys(self, run_id: uuid.UUID) -> Iterator[bytes]:
        """Iterate over the page keys whose documents the run completed."""
        return (key for key, _ in self._documents(run_id, "completed"))

    def unfinished_urls(self, run_id: uuid.UUID) -> Iterator[tuple[bytes, str]]:
        """Iterate over (page_key, url) of documents that the run began and did not complete."""
        return self._documents(run_id, "processing")

    def _documents(self, run_id: uuid.UUID, status: str) -> Iterator[tuple[bytes, str]]:
        def some(connection: Connection, last: tuple[datetime, bytes, str] | None) -> list[tuple[datetime, bytes, str]]:
            after = last[:2] if last else None
            return lookups.documents_by_status(connection, run_id, status, after, _KEYS_AT_ONCE)

        return ((key, url) for _, key, url in self._stream(some))

    def _stream(self, some: Callable[[Connection, Row | None], list[Row]]) -> Iterator[Row]:
        """Read in several short transactions, each after the last row before: who stops iterating leaves none open."""
        last: Row | None = None
        while True:
            with self._database.transaction() as connection:
                rows = some(connection, last)
            if not rows:
                return
            yield from rows
            last = rows[-1]

    def knowledge(self, domain: str) -> dict[str, StoredBoilerplate]:
        """Return what repeats on a domain, by method; empty for a domain that is not known."""
        return self._ask(lookups.find_knowledge, domain)

    def is_known(self, domain: str) -> bool:
        """Return whether the domain completed a learning batch or a run."""
        return self._ask(lookups.is_known, domain)

    def page(self, page_key: bytes) -> StoredPage | None:
        """Return the URL, the document and the original with this key, None when there is none of them."""
        return self._ask(lookups.find_page, page_key)

    def versions(self, page_key: bytes) -> list[StoredVersion]:
        """Return the older originals of a page, newest first."""
        return self._ask(lookups.find_versions, page_key)

    def decisions(self, page_key: bytes) -> list[StoredDecision]:
        """Return what the layers decided about a page, in the order in which they did."""
        return self._ask(lookups.find_decisions, page_key)

    def document_keys(self, keys: Collection[bytes]) -> dict[bytes, bytes | None]:
        """Return for which document each URL stands, of those that were met before; one query for each 500 keys."""
        return self._ask(lookups.find_document_keys, keys)

    def urls_of_document(self, document_key: bytes) -> list[StoredUrl]:
        """Return the URLs that stand for a document, its own and its aliases."""
        return self._ask(lookups.find_urls_of_document, document_key)

    def documents_in_run(self, run_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, StoredDocument]:
        """Return those of the documents that the run wrote, by key."""
        with self._database.transaction() as connection:
            return lookups.find_documents(connection, self.id, run_id, keys)

    # Coming again.

    def page_states(self, keys: Collection[bytes]) -> dict[bytes, StoredState]:
        """Return the state of each page's last acknowledged visit, of those that have one."""
        return self._ask(states.find_states, keys)

    def extraction(self, memo_key: bytes) -> StoredExtraction | None:
        """Return the extraction with this key, None when it is not held."""
        return self._ask(extractions.find, memo_key)

    def extractions_of(self, page_key: bytes) -> list[StoredExtraction]:
        """Return the extractions of a page, newest first."""
        return self._ask(extractions.of_page, page_key)

    def iterate_extractions(self) -> Iterator[StoredExtraction]:
        """Iterate over all extractions in the order of memo keys, a hundred in memory at a time."""

        def some(connection: Connection, last: StoredExtraction | None) -> list[StoredExtraction]:
            after = last.memo_key if last else None
            return extractions.some_of_all(connection, self.id, after, _EXTRACTIONS_AT_ONCE)

        return self._stream(some)

    def extraction_figures(self) -> dict[str, ExtractionFigures]:
        """Return how many extractions there are and their packed bytes, by domain."""
        with self._database.transaction() as connection:
            return extractions.figures(connection, self.id)

    def delete_extractions(self, choice: ExtractionChoice, *, dry_run: bool) -> ExtractionFigures:
        """Delete extractions, or only count them; return how many they are."""
        with self._database.transaction(write=not dry_run) as connection:
            return extractions.remove(connection, self.id, choice, dry_run=dry_run)

    def validator_counts(self, domain: str) -> ValidatorRecord:
        """Return how often a domain's validators told the truth."""
        return self._ask(validators.find, domain)

    def visits_of_run(self, run_id: uuid.UUID) -> Iterator[StoredVisit]:
        """Iterate over the visits of a run, in the order of time."""
        return self._stream(lambda connection, last: visits.of_run(connection, self.id, run_id, last, _KEYS_AT_ONCE))

    def changes(self, since: uuid.UUID | datetime) -> Iterator[StoredChange]:
        """Iterate over the pages found new, changed or removed since an instant, or since a run began.

        Raises:
            StoreError: there is no such run.
        """
        start = since if isinstance(since, datetime) else self._ask(visits.start_of, since)
        if start is None:
            raise StoreError(f"there is no run {since} in project {self.name!r}; `scrapy dedup runs` lists them")
        start_at = start

        def some(connection: Connection, last: tuple[int, StoredChange] | None) -> list[tuple[int, StoredChange]]:
            after, at = (last[0], last[1].visit.at) if last else (None, start_at)
            return visits.changes(connection, self.id, at, after, _KEYS_AT_ONCE)

        return (change for _, change in self._stream(some))

    def runs(self, limit: int = 10) -> list[RunFigures]:
        """Return the runs that began last with the sums of their visits, newest first."""
        return self._ask(visits.run_figures, limit)

    def live_pages(self, domains: Collection[str]) -> dict[str, int]:
        """Return how many pages of each domain are there and not gone."""
        return self._ask(states.live_pages, domains)

    def mark_missing(self, run_id: uuid.UUID, domains: Collection[str], *, limit: int) -> Iterator[MissedPage]:
        """Count, once, a complete run for the pages that it did not find; see `states.count_missed`.

        Args:
            run_id: of the run.
            domains: all those that it crawled completely; a second call for a run counts nothing.
            limit: missed runs, 1 or more.

        Returns:
            The pages of the domains that so many runs missed, in the order of domain and key.
        """
        with self._database.transaction(write=True) as connection:
            self._lock(connection)
            states.count_missed(connection, self.id, run_id, domains)
        return self._stream(
            lambda connection, last: states.find_missed(connection, self.id, domains, limit, last, _KEYS_AT_ONCE)
        )

    def set_gone(self, keys: Collection[bytes], at: datetime) -> int:
        """Declare pages removed until they are seen again; return how many had not been."""
        with self._database.transaction(write=True) as connection:
            self._lock(connection)
            return states.set_gone(connection, self.id, keys, at)

    def _ask(self, find: Callable[[Connection, uuid.UUID, Question], Answer], question: Question) -> Answer:
        with self._database.transaction() as connection:
            return find(connection, self.id, question)
