"""A project's part of the store: what a crawl writes and asks."""

import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection

from scrapy_dedup.store import contents, lookups, runs
from scrapy_dedup.store.database import Database
from scrapy_dedup.store.decisions import DecisionBound
from scrapy_dedup.store.errors import StoreError, shown
from scrapy_dedup.store.models import CrawledUrl, Decision, Document, DomainBoilerplate
from scrapy_dedup.store.records import KeepPolicy, Record, RunStatus
from scrapy_dedup.store.rows import Batch, pack
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
from scrapy_dedup.store.upserts import upsert

_PAGE = ("project_id", "page_key")
_KEYS_AT_ONCE = 5_000

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
        self._decision_bound = DecisionBound(project_id, keep.decisions)
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

        Writing the same records twice equals once. Call it from the writer's
        thread: it compresses, and waits for the lock of other processes.

        Raises:
            StoreError: nothing was written.
        """
        with self._writing:
            batch = pack(records, self.id, self.run.id if self.run else None)
            if batch:
                with self._database.transaction(write=True) as connection:
                    self._write(connection, batch)

    def _write(self, connection: Connection, batch: Batch) -> None:
        stored_bytes = contents.lock_project(connection, self.id)
        if stored_bytes is None:
            name = shown(self._database.url)
            raise StoreError(
                f"store {name}: project {self.name!r} was deleted. Start the crawl again to create it anew."
            )
        upsert(connection, Document, _PAGE, list(batch.documents.values()))
        upsert(connection, CrawledUrl, _PAGE, list(batch.urls.values()))
        upsert(
            connection,
            DomainBoilerplate,
            ("project_id", "domain", "method"),
            list(batch.boilerplate.values()),
            once=("id", "created_at"),
        )
        self._write_decisions(connection, batch)
        self._write_pages(connection, batch, stored_bytes)

    def _write_decisions(self, connection: Connection, batch: Batch) -> None:
        if batch.decisions and self._keep.decisions:
            upsert(connection, Decision, (*_PAGE, "layer"), list(batch.decisions.values()))
            self._decision_bound.hold(connection, len(batch.decisions))

    def _write_pages(self, connection: Connection, batch: Batch, stored_bytes: int) -> None:
        versions = self._keep.versions
        if not versions or not (batch.sources or batch.cleaned):
            return
        total = stored_bytes + contents.keep_pages(connection, self.id, batch.sources, batch.cleaned, versions)
        bound = self._keep.max_bytes
        if bound is not None and total > bound:
            total -= contents.drop_oldest(connection, self.id, total - contents.room_after(bound))
        contents.count_bytes(connection, self.id, total)

    # Asking.

    def finished_keys(self, run_id: uuid.UUID) -> Iterator[bytes]:
        """Iterate over the page keys whose documents the run completed."""
        return (key for key, _ in self._documents(run_id, "completed"))

    def unfinished_urls(self, run_id: uuid.UUID) -> Iterator[tuple[bytes, str]]:
        """Iterate over (page_key, url) of documents that the run began and did not complete."""
        return self._documents(run_id, "processing")

    def _documents(self, run_id: uuid.UUID, status: str) -> Iterator[tuple[bytes, str]]:
        """Read in several short transactions: whoever stops iterating leaves none open."""
        after: tuple[datetime, bytes] | None = None
        while True:
            with self._database.transaction() as connection:
                some = lookups.documents_by_status(connection, run_id, status, after, _KEYS_AT_ONCE)
            if not some:
                return
            yield from ((key, url) for _, key, url in some)
            after = some[-1][:2]

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

    def _ask(self, find: Callable[[Connection, uuid.UUID, Question], Answer], question: Question) -> Answer:
        with self._database.transaction() as connection:
            return find(connection, self.id, question)
