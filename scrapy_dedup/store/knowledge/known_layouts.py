"""What a crawl and its commands ask of a project's store about layouts."""

import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, func, select, union

from scrapy_dedup.core.chunks.chunks import StoredChunk
from scrapy_dedup.store.engine.codec import Packer, column_text
from scrapy_dedup.store.engine.database import Database
from scrapy_dedup.store.engine.errors import StoreError, shown
from scrapy_dedup.store.knowledge import layout_pictures
from scrapy_dedup.store.knowledge import templates as stored_templates
from scrapy_dedup.store.pages import contents, extractions, responses, states, visits
from scrapy_dedup.store.records import document_chunks
from scrapy_dedup.store.records.layout_batch import template_row
from scrapy_dedup.store.records.layout_records import TemplateRecord
from scrapy_dedup.store.records.lookups import columns_of, named
from scrapy_dedup.store.records.stored import (
    LayoutCount,
    LayoutFigures,
    StoredAlarm,
    StoredSignature,
    TemplateFigures,
)
from scrapy_dedup.store.records.stored_visits import (
    ChangeChoice,
    ExtractionChoice,
    ExtractionFigures,
    MissedPage,
    StoredChange,
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
Question = ParamSpec("Question")
Answer = TypeVar("Answer")


Domains = str | Collection[str] | None
"""One, some, or all."""


def asks(
    function: Callable[Concatenate[Connection, uuid.UUID, Question], Answer], *, write: bool = False, lock: bool = False
) -> Callable[Concatenate["PageHistory", Question], Answer]:
    """Return the method that calls a function of the store with the project, in a transaction of its own.

    Args:
        function: what it does, its docstring says.
        write: it writes.
        lock: it writes, and waits for the project's turn.
    """

    @wraps(function)
    def ask(project: "PageHistory", /, *args: Question.args, **options: Question.kwargs) -> Answer:
        with project.transaction(write=write or lock) as connection:
            if lock:
                project.lock(connection)
            return function(connection, project.id, *args, **options)

    return ask


class PageHistory:
    """The part of `ProjectStore` that knows pages between two crawls."""

    page_states = asks(states.find_states)
    held_responses = asks(responses.find)
    held_texts = asks(responses.find_texts)
    deliveries = asks(responses.deliveries)
    has_pages = asks(states.has_pages)
    live_pages = asks(states.live_pages)
    urls_asked = asks(states.urls_asked)
    count_missed = asks(states.count_missed, lock=True)
    blocks_of_domain = asks(states.blocks_of_domain)
    extraction = asks(extractions.find)
    extractions_of = asks(extractions.of_page)
    release_extractions = asks(extractions.release, write=True)
    extraction_figures = asks(extractions.figures)
    validator_counts = asks(visits.find)
    run_figures = asks(visits.figures_of_run)
    runs = asks(visits.run_figures)
    _start = asks(visits.start_of)
    _count_changes = asks(visits.count_changes)
    _held_chunks = asks(document_chunks.of_pages)

    def __init__(self, database: Database, project_id: uuid.UUID, name: str) -> None:
        """Use `Store.project`."""
        self.id = project_id
        self.name = name
        self._database = database

    def transaction(self, *, write: bool = False) -> AbstractContextManager[Connection]:
        """Give a connection for what several functions of the store do together, see `Database.transaction`."""
        return self._database.transaction(write=write)

    def held_chunks(self, keys: Collection[bytes]) -> dict[bytes, list[StoredChunk]]:
        """Return what became of the chunks of some pages."""
        return self._held_chunks(keys) if keys else {}

    def delete_extractions(self, choice: ExtractionChoice, *, dry_run: bool) -> ExtractionFigures:
        """Delete extractions, or only count them; return how many they are."""
        with self._database.transaction(write=not dry_run) as connection:
            return extractions.remove(connection, self.id, choice, dry_run=dry_run)

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
        return self._count_changes(ChangeChoice(self._start_of(since), verdict, domain))

    def _start_of(self, since: uuid.UUID | datetime) -> datetime:
        start = since if isinstance(since, datetime) else self._start(since)
        if start is None:
            raise StoreError(f"there is no run {since} in project {self.name!r}; `scrapy dedup runs` lists them")
        return start

    def missing_pages(
        self, run_id: uuid.UUID, domains: Collection[str], *, shared: bool = False
    ) -> Iterator[MissedPage]:
        """Iterate over the pages of domains that a run has not found, to the end; see `states.find_missing`."""
        with self._database.transaction() as connection:
            yield from states.find_missing(connection, self.id, run_id, domains, shared=shared)

    def lock(self, connection: Connection) -> int:
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


@dataclass(slots=True)
class _Layout:
    """What is found of a layout, one table after the other."""

    sums: Any = None
    runs: list[LayoutCount] = field(default_factory=list)
    example_url: str | None = None
    template: TemplateFigures | None = None


def layouts_of(connection: Connection, project_id: uuid.UUID, domain: Domains = None) -> list[LayoutFigures]:
    """Return the layouts of a domain, of some or of all: in the order of domains, those with most pages first."""
    found: dict[tuple[str, int], _Layout] = {}
    for row in connection.execute(_signature_sums(project_id, domain)):
        found.setdefault((row.domain, row.layout), _Layout()).sums = row
    for row in connection.execute(_run_counts(project_id, domain)):
        layout = found.setdefault((row.domain, row.layout), _Layout())
        layout.runs.append(LayoutCount(row.id, row.started_at, int(row.pages)))
        # That of the newest run: older addresses may be gone.
        layout.example_url = row.first_url
    for version in stored_templates.figures(connection, project_id, domain):
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


def signatures_of(connection: Connection, project_id: uuid.UUID, domain: str) -> list[StoredSignature]:
    """Return the signatures of a domain, in the order of levels and hashes."""
    columns = [
        LayoutSignature.template_id if name == "layout" else getattr(LayoutSignature, name)
        for name in StoredSignature.__dataclass_fields__
    ]
    ordered = select(*columns).where(*_of(LayoutSignature, project_id, domain))
    ordered = ordered.order_by(LayoutSignature.level, LayoutSignature.signature_hash)
    return [StoredSignature(*row) for row in connection.execute(ordered)]


def alarms_of(
    connection: Connection, project_id: uuid.UUID, domain: Domains = None, *, open_only: bool = False
) -> list[StoredAlarm]:
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

    templates = asks(stored_templates.of_domain)
    template_versions = asks(stored_templates.versions)
    template_domains = asks(stored_templates.domains)
    template_figures = asks(stored_templates.figures)
    set_template_state = asks(stored_templates.set_state, lock=True)
    layouts = asks(layouts_of)
    some_domains_with_layouts = asks(some_domains)
    signatures = asks(signatures_of)
    alarms = asks(alarms_of)
    pictures = asks(layout_pictures.of_domain)
    picture_facts = asks(layout_pictures.facts_of_domain)
    picture = asks(layout_pictures.get)
    put_picture = asks(layout_pictures.put, write=True)

    def add_template(self, record: TemplateRecord) -> int:
        """Add a version of a template, unless it equals the newest one; return the number of the one or the other."""
        row = template_row(record, self.id, Packer())
        with self._database.transaction(write=True) as connection:
            self.lock(connection)
            return stored_templates.add(connection, row)
