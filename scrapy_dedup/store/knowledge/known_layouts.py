"""What a crawl and its commands ask of a project's store about layouts."""

import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, func, select, union

from scrapy_dedup.core.chunks.chunks import StoredChunk
from scrapy_dedup.store.engine.codec import Packer, column_text
from scrapy_dedup.store.engine.database import Database
from scrapy_dedup.store.engine.errors import StoreError, shown
from scrapy_dedup.store.knowledge import layout_pictures, templates
from scrapy_dedup.store.knowledge.layout_pictures import PictureFacts, StoredPicture
from scrapy_dedup.store.pages import contents, extractions, responses, states, visits
from scrapy_dedup.store.pages.responses import HeldText
from scrapy_dedup.store.records import document_chunks
from scrapy_dedup.store.records.layout_batch import template_row
from scrapy_dedup.store.records.layout_records import TemplateRecord, TemplateStateRecord
from scrapy_dedup.store.records.lookups import columns_of, named
from scrapy_dedup.store.records.records import DeliveryRecord, ExtractionRecord, ResponseRecord, ValidatorRecord
from scrapy_dedup.store.records.stored import (
    LayoutCount,
    LayoutFigures,
    StoredAlarm,
    StoredSignature,
    StoredTemplate,
    TemplateFigures,
)
from scrapy_dedup.store.records.stored_visits import (
    ChangeChoice,
    ExtractionChoice,
    ExtractionFigures,
    MissedPage,
    RunFigures,
    StoredChange,
    StoredState,
    StoredVisit,
)
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import (
    IS_OPEN,
    REST,
    CrawlRun,
    LayoutAlarm,
    LayoutRun,
    LayoutSignature,
    LayoutTemplateRow,
)

_KEYS_AT_ONCE = 5_000
# Lists show fifty; whoever wants all does not notice.
_CHANGES_AT_ONCE = 500

Row = TypeVar("Row")
Question = TypeVar("Question")
Answer = TypeVar("Answer")


Domains = str | Collection[str] | None
"""One, some, or all."""


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

    def held_responses(self, keys: Collection[bytes]) -> dict[bytes, ResponseRecord | None]:
        """Return the answers that are held, by the keys of their URLs; None for one that is damaged."""
        return self._ask(responses.find, keys)

    def held_texts(self, keys: Collection[bytes]) -> dict[bytes, HeldText]:
        """Return what was cut from pages, of those of which it is kept."""
        return self._ask(responses.find_texts, keys)

    def held_chunks(self, keys: Collection[bytes]) -> dict[bytes, list[StoredChunk]]:
        """Return what became of the chunks of some pages."""
        return self._ask(document_chunks.of_pages, keys) if keys else {}

    def deliveries(self, page_key: bytes) -> dict[bytes, DeliveryRecord]:
        """Return which items the last acknowledged visit of a page gave, by giver."""
        return self._ask(responses.deliveries, page_key)

    def has_pages(self) -> bool:
        """Return whether any page was ever met."""
        with self._database.transaction() as connection:
            return states.has_pages(connection, self.id)

    def extraction(self, memo_key: bytes) -> ExtractionRecord | None:
        """Return the extraction with this key that may be used, None when there is none."""
        return self._ask(extractions.find, memo_key)

    def extractions_of(self, page_key: bytes) -> list[ExtractionRecord]:
        """Return the extractions of a page, newest first."""
        return self._ask(extractions.of_page, page_key)

    def release_extractions(self, run_id: uuid.UUID) -> None:
        """Let what a run kept of callbacks stand in for them from now on."""
        with self._database.transaction(write=True) as connection:
            extractions.release(connection, self.id, run_id)

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
        return self._ask(visits.find, domain)

    def visits_of_run(self, run_id: uuid.UUID) -> Iterator[StoredVisit]:
        """Iterate over the visits of a run, in the order of time."""
        return self._stream(lambda connection, last: visits.of_run(connection, self.id, run_id, last, _KEYS_AT_ONCE))

    def changes(
        self,
        since: uuid.UUID | datetime,
        *,
        verdict: str | None = None,
        domain: str | None = None,
    ) -> Iterator[StoredChange]:
        """Iterate over the pages found new, changed or removed since an instant, or since a run began.

        Args:
            since: from then on.
            verdict: only pages found so.
            domain: only pages of this one.

        Raises:
            StoreError: there is no such run.
        """
        choice = ChangeChoice(self._start_of(since), verdict, domain)

        def some(connection: Connection, last: StoredChange | None) -> list[StoredChange]:
            return visits.changes(connection, self.id, replace(choice, after=last), _CHANGES_AT_ONCE)

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


@dataclass(slots=True)
class _Layout:
    """What is found of a layout, one table after the other."""

    sums: Any = None
    runs: list[LayoutCount] = field(default_factory=list)
    example_url: str | None = None
    template: TemplateFigures | None = None


def layouts(connection: Connection, project_id: uuid.UUID, domain: Domains) -> list[LayoutFigures]:
    """Return the layouts of a domain, of some or of all: in the order of domains, those with most pages first."""
    found: dict[tuple[str, int], _Layout] = {}
    for row in connection.execute(_signature_sums(project_id, domain)):
        found.setdefault((row.domain, row.layout), _Layout()).sums = row
    for row in connection.execute(_run_counts(project_id, domain)):
        layout = found.setdefault((row.domain, row.layout), _Layout())
        layout.runs.append(LayoutCount(row.id, row.started_at, int(row.pages)))
        # That of the newest run: older addresses may be gone.
        layout.example_url = row.first_url
    for version in templates.figures(connection, project_id, domain):
        layout = found.setdefault((version.domain, version.layout), _Layout())
        if layout.template is None or layout.template.state != "live":
            layout.template = version
    figures = [_figures(*names, layout) for names, layout in found.items()]
    return sorted(figures, key=lambda each: (each.domain, -each.pages, each.layout))


def some_domains(connection: Connection, project_id: uuid.UUID, limit: int, after: str = "") -> list[str]:
    """Return the first domains, by name, behind a name, of which layouts or templates are known."""
    parts = []
    for model in (LayoutSignature, LayoutTemplateRow):
        name = by_code_point(model.domain)
        of_project = select(model.domain).where(model.project_id == project_id, name > column_text(after))
        parts.append(of_project.group_by(model.domain).order_by(name).limit(limit).subquery())
    # What each has behind the name, so that neither is read to its end.
    either = union(*(select(part.c.domain) for part in parts)).subquery()
    return list(connection.scalars(select(either.c.domain).order_by(by_code_point(either.c.domain)).limit(limit)))


def _signature_sums(project_id: uuid.UUID, domain: Domains) -> Any:
    layout = func.coalesce(LayoutSignature.template_id, REST).label("layout")
    return (
        select(
            LayoutSignature.domain,
            layout,
            func.count().label("signatures"),
            func.sum(LayoutSignature.seen_count).label("pages"),
            func.min(LayoutSignature.first_seen_at).label("first_seen_at"),
            func.max(LayoutSignature.last_seen_at).label("last_seen_at"),
        )
        .where(*_of(LayoutSignature, project_id, domain), LayoutSignature.level == 1)
        .group_by(LayoutSignature.domain, layout)
    )


def _run_counts(project_id: uuid.UUID, domain: Domains) -> Any:
    same_run = and_(CrawlRun.project_id == LayoutRun.project_id, CrawlRun.id == LayoutRun.run_id)
    columns = (LayoutRun.domain, LayoutRun.layout, LayoutRun.pages, LayoutRun.first_url)
    return (
        select(*columns, CrawlRun.id, CrawlRun.started_at)
        .outerjoin(CrawlRun, same_run)
        .where(*_of(LayoutRun, project_id, domain))
        .order_by(func.coalesce(CrawlRun.started_at, LayoutRun.counted_at), LayoutRun.run_id)
    )


def _figures(domain: str, layout: int, found: _Layout) -> LayoutFigures:
    sums = found.sums
    return LayoutFigures(
        domain,
        layout,
        signatures=sums.signatures if sums else 0,
        # PostgreSQL's sums of integers are decimals.
        pages=int(sums.pages) if sums else 0,
        first_seen_at=sums.first_seen_at if sums else None,
        last_seen_at=sums.last_seen_at if sums else None,
        runs=tuple(found.runs),
        example_url=found.example_url,
        template=found.template,
    )


def signatures(connection: Connection, project_id: uuid.UUID, domain: str) -> list[StoredSignature]:
    """Return the signatures of a domain, in the order of levels and hashes."""
    columns = [
        LayoutSignature.template_id if name == "layout" else getattr(LayoutSignature, name)
        for name in StoredSignature.__dataclass_fields__
    ]
    ordered = select(*columns).where(*_of(LayoutSignature, project_id, domain))
    ordered = ordered.order_by(LayoutSignature.level, LayoutSignature.signature_hash)
    return [StoredSignature(*row) for row in connection.execute(ordered)]


def alarms(connection: Connection, project_id: uuid.UUID, domain: Domains, *, open_only: bool) -> list[StoredAlarm]:
    """Return the alarms of a domain, of some or of all, newest first."""
    order = (LayoutAlarm.raised_at.desc(), by_code_point(LayoutAlarm.domain), LayoutAlarm.layout)
    some = select(*columns_of(LayoutAlarm, StoredAlarm)).where(*_of(LayoutAlarm, project_id, domain)).order_by(*order)
    if open_only:
        some = some.where(IS_OPEN)
    return [StoredAlarm(**row) for row in connection.execute(some).mappings()]


def _of(model: Any, project_id: uuid.UUID, domains: Domains) -> Sequence[ColumnElement[bool]]:
    return (model.project_id == project_id, *named(model.domain, domains))


class KnownLayouts(PageHistory):
    """The part of `ProjectStore` that knows layouts and their templates."""

    def templates(self, domain: str, *, live_only: bool = True) -> list[StoredTemplate]:
        """Return the templates of a domain by which pages are cut, or all versions; by one query."""
        with self._database.transaction() as connection:
            return templates.of_domain(connection, self.id, domain, live_only=live_only)

    def template_versions(self, domain: str, layout: int) -> list[StoredTemplate]:
        """Return the versions of a layout's template that are kept, newest first."""
        with self._database.transaction() as connection:
            return templates.versions(connection, self.id, domain, layout)

    def template_domains(self, after: str = "", limit: int | None = None) -> list[str]:
        """Return the domains that have templates, in their order: so many behind a name, or all."""
        with self._database.transaction() as connection:
            return templates.domains(connection, self.id, after, limit)

    def template_figures(self, domain: Domains = None) -> list[TemplateFigures]:
        """Return all versions without their bodies, in the order of domains, layouts and versions."""
        return self._ask(templates.figures, domain)

    def add_template(self, record: TemplateRecord) -> int:
        """Add a version of a template, unless it equals the newest one; return the number of the one or the other."""
        row = template_row(record, self.id, Packer())
        with self._database.transaction(write=True) as connection:
            self._lock(connection)
            return templates.add(connection, row)

    def set_template_state(self, change: TemplateStateRecord) -> int | None:
        """Change the state of a version; return its number, None where there is no such version."""
        with self._database.transaction(write=True) as connection:
            self._lock(connection)
            return templates.set_state(connection, self.id, change)

    def layouts(self, domain: Domains = None) -> list[LayoutFigures]:
        """Return the layouts of a domain, of some or of all: in the order of domains, those with most pages first."""
        return self._ask(layouts, domain)

    def some_domains_with_layouts(self, limit: int, after: str = "") -> list[str]:
        """Return the first domains, by name, behind a name, of which layouts or templates are known."""
        with self._database.transaction() as connection:
            return some_domains(connection, self.id, limit, after)

    def signatures(self, domain: str) -> list[StoredSignature]:
        """Return the signatures of a domain, in the order of levels and hashes."""
        return self._ask(signatures, domain)

    def alarms(self, domain: Domains = None, *, open_only: bool = False) -> list[StoredAlarm]:
        """Return the alarms of a domain, of some or of all, newest first."""
        with self._database.transaction() as connection:
            return alarms(connection, self.id, domain, open_only=open_only)

    def pictures(self, domain: str) -> dict[int, StoredPicture]:
        """Return how pages of a domain's layouts look, by layout."""
        with self._database.transaction() as connection:
            return layout_pictures.of_domain(connection, self.id, domain)

    def picture_facts(self, domain: str) -> dict[int, PictureFacts]:
        """Return what is known of the pictures of a domain's layouts, by layout, without reading the pictures."""
        with self._database.transaction() as connection:
            return layout_pictures.facts_of_domain(connection, self.id, domain)

    def picture(self, domain: str, layout: int) -> StoredPicture | None:
        """Return how a page of a layout looks; None where nobody looked."""
        with self._database.transaction() as connection:
            return layout_pictures.get(connection, self.id, domain, layout)

    def put_picture(self, picture: StoredPicture) -> None:
        """Store how a page of a layout looks, in place of the layout's former picture."""
        with self._database.transaction(write=True) as connection:
            layout_pictures.put(connection, self.id, picture)
