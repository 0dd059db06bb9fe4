"""What a crawl that comes again asks of its project's store, and what it says of pages that are gone."""

import uuid
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection

from scrapy_dedup.store import contents, extractions, states, validators, visits
from scrapy_dedup.store.database import Database
from scrapy_dedup.store.errors import StoreError, shown
from scrapy_dedup.store.records import ExtractionRecord, ValidatorRecord
from scrapy_dedup.store.stored_visits import (
    ChangeChoice,
    ChangePlace,
    ExtractionChoice,
    ExtractionFigures,
    MissedPage,
    RunFigures,
    StoredChange,
    StoredState,
    StoredVisit,
)

_KEYS_AT_ONCE = 5_000
_EXTRACTIONS_AT_ONCE = 100
# Lists show fifty; whoever wants all does not notice.
_CHANGES_AT_ONCE = 500

Row = TypeVar("Row")
Question = TypeVar("Question")
Answer = TypeVar("Answer")


class PageHistory:
    """The part of `ProjectStore` that knows pages between two crawls."""

    def __init__(self, database: Database, project_id: uuid.UUID, name: str) -> None:
        """Use `Store.project`."""
        self.id = project_id
        self.name = name
        self._database = database

    def page_states(self, keys: Collection[bytes]) -> dict[bytes, StoredState]:
        """Return the state of each page's last acknowledged visit, of those that have one."""
        return self._ask(states.find_states, keys)

    def has_pages(self) -> bool:
        """Return whether any page was ever met."""
        with self._database.transaction() as connection:
            return states.has_pages(connection, self.id)

    def extraction(self, memo_key: bytes) -> ExtractionRecord | None:
        """Return the extraction with this key, None when it is not held."""
        return self._ask(extractions.find, memo_key)

    def extractions_of(self, page_key: bytes) -> list[ExtractionRecord]:
        """Return the extractions of a page, newest first."""
        return self._ask(extractions.of_page, page_key)

    def iterate_extractions(self) -> Iterator[ExtractionRecord]:
        """Iterate over all extractions in the order of memo keys, a hundred in memory at a time."""

        def some(connection: Connection, last: ExtractionRecord | None) -> list[ExtractionRecord]:
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

    def changes(
        self,
        since: uuid.UUID | datetime,
        *,
        verdict: str | None = None,
        domain: str | None = None,
        after: ChangePlace | None = None,
    ) -> Iterator[StoredChange]:
        """Iterate over the pages found new, changed or removed since an instant, or since a run began.

        Args:
            since: from then on.
            verdict: only pages found so.
            domain: only pages of this one.
            after: only changes behind this place.

        Raises:
            StoreError: there is no such run.
        """
        choice = ChangeChoice(self._start_of(since), verdict, domain, after)

        def some(connection: Connection, last: StoredChange | None) -> list[StoredChange]:
            place = ChangePlace(last.visit.at, last.visit_id) if last else choice.after
            return visits.changes(connection, self.id, replace(choice, after=place), _CHANGES_AT_ONCE)

        return self._stream(some)

    def count_changes(
        self, since: uuid.UUID | datetime, *, verdict: str | None = None, domain: str | None = None
    ) -> dict[str, int]:
        """Return how many changes `changes` gives, by verdict.

        Raises:
            StoreError: there is no such run.
        """
        return self._ask(visits.count_changes, ChangeChoice(self._start_of(since), verdict, domain))

    def _start_of(self, since: uuid.UUID | datetime) -> datetime:
        start = since if isinstance(since, datetime) else self._ask(visits.start_of, since)
        if start is None:
            raise StoreError(f"there is no run {since} in project {self.name!r}; `scrapy dedup runs` lists them")
        return start

    def run_figures(self, run_id: uuid.UUID) -> RunFigures | None:
        """Return a run with the sums of its visits, None when there is no such run."""
        return self._ask(visits.figures_of_run, run_id)

    def runs(self, limit: int = 10) -> list[RunFigures]:
        """Return the runs that began last with the sums of their visits, newest first."""
        return self._ask(visits.run_figures, limit)

    def live_pages(self, domains: Collection[str]) -> dict[str, int]:
        """Return how many pages of each domain are there and not gone."""
        return self._ask(states.live_pages, domains)

    def missing_pages(
        self, run_id: uuid.UUID, domains: Collection[str], *, shared: bool = False
    ) -> Iterator[MissedPage]:
        """Iterate over the pages of domains that a run has not found, to the end; see `states.find_missing`."""
        with self._database.transaction() as connection:
            yield from states.find_missing(connection, self.id, run_id, domains, shared=shared)

    def urls_asked(self, run_id: uuid.UUID) -> dict[str, tuple[int, int]]:
        """Return of how many URLs of each domain a run wrote something down, and how many of these failed."""
        return self._ask(states.urls_asked, run_id)

    def count_missed(self, run_id: uuid.UUID, keys: Collection[bytes]) -> bool:
        """Count, once, a complete run for the pages that it did not find; say whether it was counted now."""
        with self._database.transaction(write=True) as connection:
            self._lock(connection)
            return states.count_missed(connection, self.id, run_id, keys)

    def blocks_of_domain(self, domain: str, limit: int) -> list[bytes]:
        """Return the packed blocks of so many of a domain's documents, in the order of their keys."""
        with self._database.transaction() as connection:
            return states.blocks_of_domain(connection, self.id, domain, limit)

    def _lock(self, connection: Connection) -> int:
        """Take this project's turn to write; return how many bytes it holds."""
        stored_bytes = contents.lock_project(connection, self.id)
        if stored_bytes is None:
            name = shown(self._database.url)
            raise StoreError(
                f"store {name}: project {self.name!r} was deleted. Start the crawl again to create it anew."
            )
        return stored_bytes

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

    def _ask(self, find: Callable[[Connection, uuid.UUID, Question], Answer], question: Question) -> Answer:
        with self._database.transaction() as connection:
            return find(connection, self.id, question)
