"""A project's part of the store: what a crawl writes and asks."""

import threading
import uuid
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime

from sqlalchemy import Connection

from scrapy_dedup.store import (
    claims,
    contents,
    domain_runs,
    extractions,
    knowledge,
    layouts,
    lookups,
    states,
    validators,
    visits,
)
from scrapy_dedup.store.batch import Batch, pack
from scrapy_dedup.store.bounds import decision_bound, visit_bound
from scrapy_dedup.store.crawl_runs import CrawlRuns
from scrapy_dedup.store.database import Database
from scrapy_dedup.store.keep_policy import KeepPolicy
from scrapy_dedup.store.models import CrawledUrl, Decision, DomainBoilerplate
from scrapy_dedup.store.records import Record
from scrapy_dedup.store.stored import (
    StoredBoilerplate,
    StoredDecision,
    StoredDocument,
    StoredPage,
    StoredUrl,
    StoredVersion,
)
from scrapy_dedup.store.upserts import upsert

_PAGE = ("project_id", "page_key")
_KEYS_AT_ONCE = 5_000


class ProjectStore(CrawlRuns):
    """The store bound to a project and, after `begin_run`, to a run. Any thread may use it.

    Every method raises StoreError when the database fails.
    """

    def __init__(self, database: Database, project_id: uuid.UUID, name: str, keep: KeepPolicy) -> None:
        """Use `Store.project`."""
        super().__init__(database, project_id, name)
        self._keep = keep
        self._decision_bound = decision_bound(project_id, keep.decisions)
        self._visit_bound = visit_bound(project_id, keep.visits)
        self._writing = threading.Lock()

    def transaction(self, *, write: bool = False) -> AbstractContextManager[Connection]:
        """Give a connection for what several functions of the store do together, see `Database.transaction`."""
        return self._database.transaction(write=write)

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
        stored_bytes = self._lock(connection)
        states.write_documents(connection, self.id, batch)
        batch.pages.write(connection, self.id, self.run.id if self.run else None, batch.gone)
        upsert(connection, CrawledUrl, _PAGE, list(batch.urls.values()))
        boilerplate = knowledge.not_weaker(connection, self.id, batch.boilerplate, self._keep.enough_pages)
        upsert(
            connection, DomainBoilerplate, ("project_id", "domain", "method"), boilerplate, once=("id", "created_at")
        )
        self._write_decisions(connection, batch)
        visits.write(connection, batch, self._visit_bound)
        extractions.write(connection, self.id, batch, self._keep.extractions)
        validators.add(connection, batch)
        domain_runs.add_confidences(connection, self.id, batch.confidences.values())
        layouts.write(connection, self.id, knowledge.not_thinner(connection, self.id, batch.layouts, self.shared_since))
        contents.write(connection, self.id, batch, stored_bytes, self._keep)
        claims.release(connection, self.claimant, batch.released)

    def _write_decisions(self, connection: Connection, batch: Batch) -> None:
        if batch.decisions and self._decision_bound.keeps:
            upsert(connection, Decision, (*_PAGE, "layer"), list(batch.decisions.values()))
            self._decision_bound.hold(connection, len(batch.decisions))

    # Asking.

    def finished_keys(self, run_id: uuid.UUID) -> Iterator[bytes]:
        """Iterate over the page keys whose documents the run completed."""

        def some(connection: Connection, last: tuple[datetime, bytes] | None) -> list[tuple[datetime, bytes]]:
            return lookups.finished_documents(connection, run_id, last, _KEYS_AT_ONCE)

        return (key for _, key in self._stream(some))

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
