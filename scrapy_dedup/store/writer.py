"""A project's part of the store: what a crawl writes and asks.

Whoever calls has locked the project, so that what is read here is what will be replaced.
"""

import os
import socket
import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar, Unpack

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, delete, select

from scrapy_dedup.core.chunks.chunks import StoredChunk
from scrapy_dedup.store import workers
from scrapy_dedup.store.domains import layouts as known_layouts
from scrapy_dedup.store.domains import registry
from scrapy_dedup.store.engine.database import Database
from scrapy_dedup.store.engine.errors import StoreError, shown
from scrapy_dedup.store.pages import contents, visits
from scrapy_dedup.store.pages import site_configs as configs
from scrapy_dedup.store.pages.contents import HeldText
from scrapy_dedup.store.pages.visits import RowBound, decision_bound
from scrapy_dedup.store.records import lookups, shared
from scrapy_dedup.store.records.batch import Batch, pack
from scrapy_dedup.store.records.records import KeepPolicy, Record, ResponseRecord, TemplateRecord
from scrapy_dedup.store.records.stored import (
    ChangeChoice,
    ExtractionChoice,
    ExtractionFigures,
    MissedPage,
    Run,
    StoredChange,
    StoredState,
    WorkerEnding,
)
from scrapy_dedup.store.tables.models import CrawledUrl, CrawlRun, Decision, DomainBoilerplate, Forgotten, VisitRow
from scrapy_dedup.store.tables.statements import Row, change_in, upsert
from scrapy_dedup.store.workers import Claimant, Ending, Lost, PageClaim, Shown

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

LEASE: Final = timedelta(seconds=60)
_FORGOTTEN_AT_ONCE: Final = 5_000
_KEYS_AT_ONCE: Final = 5_000
# Lists show fifty; whoever wants all does not notice.
_CHANGES_AT_ONCE: Final = 500

Known = tuple[str, str]

_PAGE = ("project_id", "page_key")

Found = TypeVar("Found")
Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def asks(
    function: Callable[Concatenate[Connection, uuid.UUID, Asked], Answer], *, write: bool = False, lock: bool = False
) -> Callable[Concatenate["ProjectStore", Asked], Answer]:
    """Return the method that calls a function of the store with the project, in a transaction of its own.

    One that *write*s is in a transaction; one that *lock*s waits for the project's turn, too.
    """

    @wraps(function)
    def ask(project: "ProjectStore", /, *args: Asked.args, **options: Asked.kwargs) -> Answer:
        with project.transaction(write=write or lock) as connection:
            if lock:
                project.lock(connection)
            return function(connection, project.id, *args, **options)

    return ask


def not_weaker(
    connection: Connection, project_id: uuid.UUID, rows: Mapping[Known, Row], enough_pages: int
) -> list[Row]:
    """Return the rows of `domain_boilerplate` that are to be written.

    *rows* are by domain and method; what rests on *enough_pages* replaces whatever is there.
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


class HeldPages(Struct, frozen=True):
    """What is known of pages, by their keys."""

    states: Mapping[bytes, StoredState]
    texts: Mapping[bytes, HeldText]
    answers: Mapping[bytes, ResponseRecord | None]
    """By the keys of requests; None for one that is damaged."""
    chunks: Mapping[bytes, Sequence[StoredChunk]]
    """Of pages with a text."""


class ProjectStore:
    """The store bound to a project and, after `begin_run`, to a run. Any thread may use it.

    Every method raises StoreError when the database fails.
    """

    run: Run | None = None
    lease: timedelta = LEASE
    """For how long the worker lives without being heard."""
    shared_since: datetime | None = None
    """When the run began that several workers share; None for a run of one."""

    page_states = asks(visits.find_states)
    deliveries = asks(contents.deliveries)
    has_history = asks(visits.has_history)
    live_pages = asks(visits.live_pages)
    urls_asked = asks(visits.urls_asked)
    leads = asks(visits.find_leads)
    count_missed = asks(visits.count_missed, lock=True)
    blocks_of_domain = asks(visits.blocks_of_domain)
    extraction = asks(contents.find_extraction)
    extractions_of = asks(contents.extractions_of)
    release_extractions = asks(contents.release_extractions, write=True)
    extraction_figures = asks(contents.extraction_figures)
    validator_counts = asks(visits.validator_counts)
    run_figures = asks(visits.figures_of_run)
    runs = asks(visits.run_figures)
    count_changes = asks(visits.count_changes)

    templates = asks(known_layouts.templates_of)
    template_versions = asks(known_layouts.template_versions)
    template_domains = asks(known_layouts.template_domains)
    template_figures = asks(known_layouts.template_figures)
    set_template_state = asks(known_layouts.set_template_state, lock=True)
    layouts = asks(known_layouts.layouts_of)
    some_domains_with_layouts = asks(known_layouts.some_domains)
    alarms = asks(known_layouts.alarms_of)
    pictures = asks(known_layouts.pictures_of)
    picture_facts = asks(known_layouts.picture_facts)
    picture = asks(known_layouts.find_picture)
    put_picture = asks(known_layouts.put_picture, write=True)
    site_config = asks(configs.get)
    site_configs = asks(configs.of_project)
    url_parameters = asks(configs.parameters_of_project)
    put_url_parameters = asks(configs.put_parameters, write=True)
    chunks_of = asks(shared.chunks_of_page)
    domains_with_status = asks(registry.with_status)
    registered_domains = asks(registry.find)
    domains_of_run = asks(registry.of_run)
    settle_domains = asks(registry.settle, write=True)
    knowledge = asks(lookups.find_knowledge)
    is_known = asks(lookups.is_known)
    page = asks(lookups.find_page)
    versions = asks(lookups.find_versions)
    decisions = asks(lookups.find_decisions)
    document_keys = asks(lookups.find_document_keys)
    urls_of_document = asks(lookups.find_urls_of_document)
    documents_in_run = asks(lookups.find_documents)
    last_runs = asks(lookups.last_runs)
    find_run = asks(lookups.find_run)
    workers_of = asks(workers.by_run)

    def __init__(self, database: Database, project_id: uuid.UUID, name: str, keep: KeepPolicy) -> None:
        """Use `Store.project`."""
        self.id = project_id
        self.name = name
        self._database = database
        self._keep = keep
        self._decision_bound = decision_bound(project_id, keep.decisions)
        self._visit_bound = RowBound(project_id, keep.visits, VisitRow.at, VisitRow.id, a_page=keep.visits_a_page)
        self._writing = threading.Lock()

    def transaction(self, *, write: bool = False) -> AbstractContextManager[Connection]:
        """Give a connection for what several functions of the store do together, see `Database.transaction`."""
        return self._database.transaction(write=write)

    def session(self, *, read_only: bool = False) -> AbstractContextManager["Session"]:
        """Give a session for the repositories, see `Database.session`."""
        return self._database.session(read_only=read_only)

    def delete_extractions(self, choice: ExtractionChoice, *, dry_run: bool) -> ExtractionFigures:
        """Delete extractions, or only count them; return how many they are."""
        with self._database.transaction(write=not dry_run) as connection:
            return contents.remove_extractions(connection, self.id, choice, dry_run=dry_run)

    def changes(self, choice: ChangeChoice) -> Iterator[StoredChange]:
        """Iterate over visits with a change, in the order of time."""

        def some(connection: Connection, last: StoredChange | None) -> list[StoredChange]:
            return visits.changes(connection, self.id, replace(choice, after=last), _CHANGES_AT_ONCE)

        return self._stream(some)

    def missing_pages(
        self, run_id: uuid.UUID, domains: Collection[str], *, shared: bool = False
    ) -> Iterator[MissedPage]:
        """Iterate over the pages of domains that a run has not found, to the end; see `visits.find_missing`."""
        with self._database.transaction() as connection:
            yield from visits.find_missing(connection, self.id, run_id, domains, shared=shared)

    def lock(self, connection: Connection) -> int:
        """Take this project's turn to write; return how many bytes it holds."""
        stored_bytes = contents.lock_project(connection, self.id)
        if stored_bytes is None:
            name = shown(self._database.url)
            raise StoreError(
                f"store {name}: project {self.name!r} was deleted. Start the crawl again to create it anew."
            )
        return stored_bytes

    def _stream(self, some: Callable[[Connection, Found | None], list[Found]]) -> Iterator[Found]:
        """Read in several short transactions, each after the last row before: who stops iterating leaves none open."""
        last: Found | None = None
        while True:
            with self._database.transaction() as connection:
                rows = some(connection, last)
            if not rows:
                return
            yield from rows
            last = rows[-1]

    def add_template(self, record: TemplateRecord) -> int:
        """Add a version of a template, unless it equals the newest one; return the number of the one or the other."""
        row = Batch(self.id).template_row(record)
        with self._database.transaction(write=True) as connection:
            self.lock(connection)
            return known_layouts.add_template(connection, row)

    def held(self, keys: Collection[bytes], wires: Collection[bytes], divided: AbstractSet[bytes]) -> HeldPages:
        """Return what is held at one instant of pages, and under keys of answers; chunks of those in *divided*."""
        with self._database.asking() as connection:
            about = (connection, self.id)
            states, texts = visits.find_states(*about, keys), contents.find_texts(*about, keys)
            answers = contents.find_responses(*about, wires)
            return HeldPages(states, texts, answers, shared.chunks_of_pages(*about, divided & texts.keys()))

    def others(self, question: shared.Question) -> shared.Holders:
        """Return who has what a page has; pages that are not completed count only if this run has them in work."""
        with self._database.asking() as connection:
            return shared.others(connection, self.id, self.run.id if self.run else None, question)

    def texts_of(self, keys: Collection[bytes]) -> dict[bytes, str]:
        """Return the clean texts of those pages that count for others and whose text is kept."""
        with self._database.asking() as connection:
            return shared.texts(connection, self.id, self.run.id if self.run else None, keys)

    def rewrite_file(self) -> None:
        """Leave nothing that was deleted in a file, see `Database.rewrite_file`."""
        self._database.rewrite_file()

    # Writing.

    def write(self, records: Iterable[Record]) -> None:
        """Write the records in one transaction; of two with the same keys the later one counts.

        Writing the same records twice equals once, but for those that count: ValidatorRecord, ConfidenceRecord,
        LayoutSignatureRecord and LayoutRunRecord. Call it from the writer's thread: it compresses, and waits for the
        lock of other processes.

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
        visits.write_documents(connection, self.id, batch)
        # Of forgotten pages that came again, or whose removal was told, the keys go.
        told = delete(Forgotten).where(Forgotten.project_id == self.id)
        change_in(connection, told, Forgotten.page_key, batch.documents.keys() | batch.gone.keys())
        shared.write(connection, batch)
        upsert(connection, CrawledUrl, _PAGE, list(batch.urls.values()))
        boilerplate = not_weaker(connection, self.id, batch.boilerplate, self._keep.enough_pages)
        upsert(
            connection, DomainBoilerplate, ("project_id", "domain", "method"), boilerplate, id="once", created_at="once"
        )
        if batch.decisions and self._decision_bound.keeps:
            upsert(connection, Decision, (*_PAGE, "layer"), list(batch.decisions.values()))
            self._decision_bound.hold(connection, len(batch.decisions))
        visits.write_visits(connection, batch, self._visit_bound)
        contents.write_extractions(connection, self.id, batch, self._keep.extractions)
        visits.add_counts(connection, batch)
        contents.write_others(connection, self.id, batch)
        registry.add_confidences(connection, self.id, batch.confidences.values())
        known_layouts.write_layouts(connection, batch, self.shared_since)
        contents.write(connection, self.id, batch, stored_bytes, self._keep)
        workers.release(connection, self.claimant, batch.released)

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

    # Runs and their workers.

    def begin_run(
        self, *, spider: str, jobdir: str | None, started_at: datetime, job: str = "", lease: timedelta = LEASE
    ) -> Run:
        """Begin a run, or go on with one that is not finished; what is written next belongs to it.

        Two crawls must not share a JOBDIR: Scrapy says so, and the second would take the first for killed.

        *jobdir* is the name of the JOBDIR's crawl; a shared job takes its place. Crawlers of one spider that name the
        same *job* are workers of one run, empty: a run of its own; a run whose workers are all dead or stopped goes on
        with the next that comes. A worker that was not heard of for a *lease* is dead.
        """
        with self._database.transaction(write=True) as connection:
            if not job:
                self.run = workers.begin(connection, self.id, spider=spider, jobdir=jobdir, started_at=started_at)
                return self.run
            self.lock(connection)
            name = f"{socket.gethostname()}:{os.getpid()}"
            joined = workers.join(connection, self.id, workers.Newcomer(job, spider, name, lease, started_at))
        alone = not joined.others
        resumed = alone and not joined.is_new
        self.lease, self.shared_since = lease, joined.began_at
        self.run = Run(joined.run_id, resumed, killed=resumed and joined.lost > 0, worker=joined.worker_id)
        return self.run

    def has_one_run(self) -> bool:
        """Say whether no run of the project was begun but one: nobody else has met pages of it, or does."""
        some = select(CrawlRun.id).where(CrawlRun.project_id == self.id).limit(2)
        with self._database.transaction() as connection:
            return len(connection.scalars(some).all()) < 2

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

    def claim(self, claims: Sequence[PageClaim]) -> list[Lost]:
        """Claim titles and texts for pages; return what of each page's another worker has, see `workers.claim`."""
        claimant = self.claimant
        if claimant is None:
            return [{} for _ in claims]
        with self._database.transaction(write=True) as connection:
            return workers.claim(connection, claimant, claims)

    def shown_by(self, page_key: bytes) -> Shown | None:
        """Return what is seen of a page of this run that a worker has; None: nothing, or nothing yet."""
        claimant = self.claimant
        if claimant is None:
            return None
        with self._database.asking() as connection:
            return workers.shown_by(connection, claimant.run_id, page_key)

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
                forgotten = workers.forget(connection, run_id, _FORGOTTEN_AT_ONCE)
