"""What commands and services read and write; they flush, whoever opened the session commits."""

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import (
    Column,
    ColumnClause,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    delete,
    func,
    select,
    tuple_,
    update,
)
from sqlalchemy.orm import Session

from scrapy_dedup.store.domains import layouts
from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.pages import contents, site_configs, visits
from scrapy_dedup.store.pages.visits import decision_bound
from scrapy_dedup.store.records import shared
from scrapy_dedup.store.records.batch import Batch, pack
from scrapy_dedup.store.records.lookups import find_knowledge, read_boilerplate, read_source, values_of
from scrapy_dedup.store.records.records import BARE, BoilerplateRecord, CleanedRecord, Method, Recleaned, TemplateRecord
from scrapy_dedup.store.records.stored import ProjectFigures, StoredBoilerplate, StoredSource, StoredState
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import (
    Base,
    CrawledUrl,
    CrawlRun,
    Decision,
    Document,
    DomainBoilerplate,
    NearDuplicate,
    PageSignature,
    Project,
    SeenScope,
    SeenUrl,
    SourceRow,
)
from scrapy_dedup.store.tables.statements import change_in, rows_in, table_of, upsert

_PAGES_AT_ONCE = 100


class DomainBoilerplateRepository:
    """What repeats on the domains of a project."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def upsert(
        self,
        project_id: uuid.UUID,
        domain: str,
        boilerplate_hashes: Iterable[str],
        *,
        method: Method = "text",
        **stats: Any,
    ) -> StoredBoilerplate:
        """Store what repeats on a domain in place of what was known by the same method; return it as it is stored.

        *stats* are the other fields of `BoilerplateRecord`.
        """
        record = BoilerplateRecord(domain, method, tuple(boilerplate_hashes), **stats)
        rows = list(pack([record], project_id).boilerplate.values())
        keys = ("project_id", "domain", "method")
        upsert(self._session.connection(), DomainBoilerplate, keys, rows, id="once", created_at="once")
        stored = self.get(project_id, domain, method=method)
        assert stored is not None
        return stored

    def get(self, project_id: uuid.UUID, domain: str, *, method: Method = "text") -> StoredBoilerplate | None:
        """Return what repeats on a domain by one method, None when that was never analysed."""
        return find_knowledge(self._session.connection(), project_id, domain).get(method)

    def list_by_project(self, project_id: uuid.UUID) -> list[StoredBoilerplate]:
        """Return what repeats on every domain, in the order of domain and method."""
        ordered = values_of(DomainBoilerplate, StoredBoilerplate, project_id).order_by(
            by_code_point(DomainBoilerplate.domain), DomainBoilerplate.method
        )
        return [read_boilerplate(row) for row in self._session.execute(ordered)]

    def delete_by_project(self, project_id: uuid.UUID) -> int:
        """Forget what repeats, on all domains; return how many rows that were."""
        of_project = delete(DomainBoilerplate).where(DomainBoilerplate.project_id == project_id)
        return self._session.connection().execute(of_project).rowcount


class SourceRepository:
    """The stored pages of a project."""

    def __init__(self, session: Session, *, keys_at_once: int = 20_000) -> None:
        """Take how many keys are in memory at most while pages are read."""
        self._session = session
        self._keys_at_once = keys_at_once

    def get_domains_for_project(
        self, project_id: uuid.UUID, source_groups: Collection[str] | None = None, *, bare: bool = False
    ) -> list[tuple[str, int]]:
        """Return (domain, number of pages whose content is kept), in the order of domains.

        Of *source_groups* only pages that were stored under one of these; *bare*: pages without items, too.
        """
        counted = (
            select(SourceRow.domain, func.count())
            .where(SourceRow.project_id == project_id, _is_kept(bare=bare))
            .group_by(SourceRow.domain)
            .order_by(by_code_point(SourceRow.domain))
        )
        if source_groups is not None:
            counted = counted.where(SourceRow.source_group.in_(_texts(source_groups)))
        return [(domain, pages) for domain, pages in self._session.execute(counted)]

    def iterate(
        self,
        project_id: uuid.UUID,
        domain: str,
        source_groups: Collection[str] | None = None,
        *,
        bare: bool = False,
        oldest_first: bool = False,
    ) -> Iterator[StoredSource]:
        """Iterate over the pages of a domain whose content is kept, in the order of their keys.

        Some thousand keys and a hundred packed pages are in memory at a time. No cursor
        stays open between them, so the session may write while it iterates.

        Of *source_groups* only pages that were stored under one of these; *bare*: pages without items, too;
        *oldest_first*: in the order in which they were fetched, and of their keys.
        """
        kept = _is_kept(bare=bare)
        # Each has an index of its own, by which a domain's pages are walked in this order.
        order = (SourceRow.fetched_at, SourceRow.page_key) if oldest_first else (SourceRow.page_key,)
        of_domain = select(*order).where(
            SourceRow.project_id == project_id, SourceRow.domain == column_text(domain), kept
        )
        if source_groups is not None:
            of_domain = of_domain.where(SourceRow.source_group.in_(_texts(source_groups)))
        pages = values_of(SourceRow, StoredSource, project_id).where(kept).order_by(*order)
        for keys in self._lots(of_domain.order_by(*order).limit(self._keys_at_once), order):
            for start in range(0, len(keys), _PAGES_AT_ONCE):
                some = pages.where(SourceRow.page_key.in_(keys[start : start + _PAGES_AT_ONCE]))
                yield from map(read_source, self._session.execute(some).all())

    def _lots(self, lot: Select[Any], order: tuple[ColumnClause[Any], ...]) -> Iterator[list[bytes]]:
        """Yield page keys, the last of what is ordered by: all at once would be most of what a large domain takes."""
        rows = self._session.execute(lot).all()
        while rows:
            yield [row[-1] for row in rows]
            is_last = len(rows) < self._keys_at_once
            rows = [] if is_last else self._session.execute(lot.where(tuple_(*order) > tuple_(*rows[-1]))).all()

    def http_statuses(self, project_id: uuid.UUID, page_keys: Collection[bytes]) -> dict[bytes, int]:
        """Return the status of each page's last fetch, of those that had one."""
        columns = (CrawledUrl.page_key, CrawledUrl.http_status)
        of_project = select(*columns).where(CrawledUrl.project_id == project_id, CrawledUrl.http_status.is_not(None))
        rows = rows_in(self._session.connection(), of_project, CrawledUrl.page_key, page_keys)
        return {key: status for key, status in rows}  # noqa: C416 (rows are typed, pairs are not)

    def set_cleaned(self, project_id: uuid.UUID, cleaned: Iterable[CleanedRecord]) -> int:
        """Store what is left of pages; return how many were given.

        A page whose original is not kept is left as it is. The size bound is held by the next crawl.

        Raises:
            StoreError: there is no such project.
        """
        connection = self._session.connection()
        stored_bytes = _locked(connection, project_id)
        given, records = 0, iter(cleaned)
        while lot := list(islice(records, _PAGES_AT_ONCE)):
            some = pack(lot, project_id).cleaned
            stored_bytes += contents.set_cleaned(connection, project_id, some)
            given += len(some)
        contents.count_bytes(connection, project_id, stored_bytes)
        return given


class RecleaningRepository:
    """Writes the outcome of an analysis; whoever opened the session commits."""

    def __init__(self, session: Session, project_id: uuid.UUID, layers: Sequence[str], keep_decisions: int) -> None:
        """Take whose decisions are written; what a layer of these no longer says of a page is forgotten."""
        self._session = session
        self._project_id = project_id
        self._layers = layers
        self._bound = decision_bound(project_id, keep_decisions)

    def write(self, pages: Sequence[Recleaned]) -> None:
        """Store some pages' texts, the figures of their documents, and the layer's decisions about them.

        A page whose original is not kept, or that has no document, is left as it is in that respect.
        """
        if not pages:
            return
        texts = (
            CleanedRecord(page.page_key, page.cleaned_content, page.report)
            for page in pages
            if page.cleaned_content is not None
        )
        SourceRepository(self._session).set_cleaned(self._project_id, texts)
        connection = self._session.connection()
        self._set_figures(connection, pages)
        self._set_decisions(connection, pages)

    def write_unless_replaced(self, pages: Sequence[Recleaned]) -> None:
        """Store what is left of those pages whose original is still the one that was cut, see `write`."""
        kept = select(SourceRow.page_key, SourceRow.fetched_at).where(SourceRow.project_id == self._project_id)
        rows = rows_in(self._session.connection(), kept, SourceRow.page_key, [page.page_key for page in pages])
        fetched = {key: at for key, at in rows}  # noqa: C416 (rows are typed, pairs are not)
        self.write([page for page in pages if fetched.get(page.page_key) == page.fetched_at])

    def write_refined(self, pages: Sequence[Recleaned]) -> int:
        """Store what is left of some pages that went out; return how many still were what they were.

        What a later crawl has learned of a page in the meantime stays.
        """
        connection = self._session.connection()
        contents.lock_project(connection, self._project_id)
        known = visits.find_states(connection, self._project_id, [page.page_key for page in pages])
        still = [page for page in pages if is_of_version(known.get(page.page_key), page.fetched_at)]
        self.write(still)
        site_configs.forget_stale(connection, self._project_id, [page.page_key for page in still])
        shared.write(connection, pack([one for page in still for one in page.compared], self._project_id))
        return len(still)

    def _set_figures(self, connection: Connection, pages: Sequence[Recleaned]) -> None:
        document = table_of(Document)
        of_page = (document.c.project_id == self._project_id) & (document.c.page_key == bindparam("of_page"))
        rows = [{"of_page": page.page_key, "chars_in": page.chars_in, "chars_out": page.chars_out} for page in pages]
        connection.execute(update(document).where(of_page), rows)

    def _set_decisions(self, connection: Connection, pages: Sequence[Recleaned]) -> None:
        made = [one for page in pages for one in page.decisions]
        for layer in self._layers:
            with_one = {one.page_key for one in made if one.layer == layer}
            self._forget(layer, [page.page_key for page in pages if page.page_key not in with_one])
        if made and self._bound.keeps:
            rows = list(pack(made, self._project_id).decisions.values())
            upsert(connection, Decision, ("project_id", "page_key", "layer"), rows)
            self._bound.hold(connection, len(rows))

    def _forget(self, layer: str, keys: Collection[bytes]) -> None:
        of_layer = (Decision.project_id == self._project_id, Decision.layer == layer)
        change_in(self._session, delete(Decision).where(*of_layer), Decision.page_key, keys)


class TemplateRepository:
    """The templates of a project's layouts, written together with what else a session writes."""

    def __init__(self, session: Session, project_id: uuid.UUID) -> None:
        self._session = session
        self._project_id = project_id

    def add(self, records: Iterable[TemplateRecord]) -> list[int]:
        """Add versions, in their order, see `TemplateRecord`; return the number of each.

        Raises:
            StoreError: there is no such project.
        """
        connection, batch = self._session.connection(), Batch(self._project_id)
        rows = [batch.template_row(record) for record in records]
        _locked(connection, self._project_id)
        return [layouts.add_template(connection, row) for row in rows]


class ProjectRepository:
    """The projects of a store, as wholes."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def list(self) -> list[ProjectFigures]:
        """Return every project with its figures, in the order of names."""
        pages = select(func.count()).where(SourceRow.project_id == Project.id).scalar_subquery()
        runs = select(func.count()).where(CrawlRun.project_id == Project.id).scalar_subquery()
        columns = (Project.id, Project.name, Project.created_at, pages, runs, Project.stored_bytes)
        return [
            ProjectFigures(*row)
            for row in self._session.execute(select(*columns).order_by(by_code_point(Project.name)))
        ]

    def count(self, project_id: uuid.UUID) -> dict[str, int]:
        """Return how many rows `delete` would delete, by table."""
        connection = self._session.connection()
        return {name: _count(connection, name, project_id) for name in _TABLES}

    def delete(self, project_id: uuid.UUID) -> dict[str, int]:
        """Delete the project with its rows in all tables; return how many rows that were, by table."""
        connection = self._session.connection()
        return {
            name: connection.execute(delete(table).where(_of_project(name, project_id))).rowcount
            for name, table in _TABLES.items()
        }


def is_of_version(state: StoredState | None, fetched_at: datetime | None) -> bool:
    """Say whether an original is that of a page's last acknowledged change: of a later one the items never arrived."""
    return state is not None and state.status == "completed" and state.last_changed_at == fetched_at


# Every table of the schema, so that a new one cannot be forgotten; those that others refer to come last.
_BANDS = NearDuplicate.__tablename__
_TABLES = {_BANDS: Base.metadata.tables[_BANDS]} | {
    table.name: table for table in reversed(Base.metadata.sorted_tables)
}


def _locked(connection: Connection, project_id: uuid.UUID) -> int:
    """Take the project's turn to write; return how many bytes it holds."""
    stored_bytes = contents.lock_project(connection, project_id)
    if stored_bytes is None:
        raise StoreError(f"there is no project {project_id}; it may have been deleted meanwhile")
    return stored_bytes


def _of_project(name: str, project_id: uuid.UUID) -> ColumnElement[bool]:
    if name == _BANDS:
        pages = select(PageSignature.id).where(PageSignature.project_id == project_id)
        return NearDuplicate.page.in_(pages)
    if name == SeenUrl.__tablename__:
        return SeenUrl.scope_id.in_(select(SeenScope.id).where(SeenScope.project_id == project_id))
    column: Column[uuid.UUID] = _TABLES[name].c["id" if name == Project.__tablename__ else "project_id"]
    return column == project_id


def _count(connection: Connection, name: str, project_id: uuid.UUID) -> int:
    counted = select(func.count()).select_from(_TABLES[name]).where(_of_project(name, project_id))
    return connection.scalar(counted) or 0


def _is_kept(*, bare: bool) -> ColumnElement[bool]:
    kept = SourceRow.content.is_not(None)
    return kept if bare else and_(kept, SourceRow.field != BARE)


def _texts(source_groups: Collection[str]) -> list[str]:
    return [column_text(group) for group in source_groups]
