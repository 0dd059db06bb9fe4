"""Long lists of domains, a page at a time, and how many domains there are of which kind.

A list goes on after the last row that was seen, by an index: it takes as long for the last page as for the first.
"""

import uuid
from collections.abc import Collection, Mapping
from datetime import datetime
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args

from msgspec import Meta, Struct
from msgspec.structs import replace
from sqlalchemy import Column, ColumnElement, Connection, Select, case, false, func, select, tuple_

from scrapy_dedup.core.domains import DomainStatus, name_pattern
from scrapy_dedup.store.domains.registry import LIKE_ESCAPE, StoredDomain, like, of_project
from scrapy_dedup.store.engine.codec import CursorError, column_text, from_cursor, to_cursor
from scrapy_dedup.store.tables.models import CrawledUrl, Document, Domain
from scrapy_dedup.store.tables.statements import rows_in, same_page, table_of

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

DomainSort = Literal["name", "status", "pages", "confidence", "boilerplate", "crawled"]
SORTS: Final[tuple[DomainSort, ...]] = get_args(DomainSort)
MOST_ROWS: Final = 1_000
_DOMAINS: Final = table_of(Domain).c
_COLUMNS: Final[Mapping[str, Column[Any]]] = {
    "name": _DOMAINS.domain_name,
    "status": _DOMAINS.status,
    "pages": _DOMAINS.pages,
    "confidence": _DOMAINS.best_confidence_score,
    "boilerplate": _DOMAINS.boilerplate_share,
    "crawled": _DOMAINS.last_crawled_at,
}
_NUMBER: Final = Meta(gt=-(2**31), lt=2**31)
_TYPES: Final[Mapping[str, Any]] = {
    "name": str,
    "status": str,
    "pages": Annotated[int, _NUMBER],
    "confidence": Annotated[float, _NUMBER],
    "boilerplate": Annotated[float, _NUMBER],
    "crawled": Annotated[datetime, Meta(tz=True)],
}


class DomainChoice(Struct, frozen=True):
    """Which domains, in which order.

    Attributes:
        pattern: with `*` or `?` what whole names look like; else a part of names.
        sort: by this, then by name, both in one direction; domains without a value come last in either.
        limit: 1 to 1000.
        after: `next` of the list before, which had the same order.
    """

    pattern: str | None = None
    status: DomainStatus | None = None
    sort: DomainSort = "name"
    descending: bool = False
    limit: int = 50
    after: str | None = None


class DomainList(Struct, frozen=True):
    """Some of the chosen domains.

    Attributes:
        next: cursor of those that follow; None at the end.
        total: how many were chosen, on all pages.
    """

    domains: tuple[StoredDomain, ...]
    next: str | None
    total: int


class DomainCounts(Struct, frozen=True):
    """How many domains there are.

    Attributes:
        statuses: by status, all four.
        twins: domains whose twin with or without `www.` is registered, too.
        joined: of these the ones that another stands for.
    """

    statuses: Mapping[str, int]
    twins: int
    joined: int

    @property
    def total(self) -> int:
        """All domains."""
        return sum(self.statuses.values())

    @property
    def twin_share(self) -> float:
        """The share of domains that have a twin, 0.0 to 1.0."""
        return self.twins / self.total if self.total else 0.0


class _Place(Struct, frozen=True):
    value: Any
    name: str


def list_domains(connection: Connection, project_id: uuid.UUID, choice: DomainChoice) -> DomainList:
    """Return a page of a project's domains.

    Raises:
        CursorError: `after` is no cursor of this list.
    """
    choice = replace(choice, limit=max(1, min(choice.limit, MOST_ROWS)))
    chosen = _conditions(project_id, choice)
    after = _place(choice, choice.after) if choice.after is not None else None
    rows = _rows(connection, of_project(project_id).where(*chosen), choice, after)
    more = len(rows) > choice.limit
    if after is None and not more:
        total = len(rows)
    else:
        total = connection.scalar(select(func.count()).select_from(Domain).where(*chosen)) or 0
    rows = rows[: choice.limit]
    return DomainList(tuple(rows), _cursor(choice, rows[-1]) if more else None, total)


def count_domains(connection: Connection, project_id: uuid.UUID) -> DomainCounts:
    """Return how many domains a project has, by status, and how many twins."""
    of_status = select(Domain.status, func.count()).where(Domain.project_id == project_id).group_by(Domain.status)
    found: dict[str, int] = {row[0]: row[1] for row in connection.execute(of_status)}
    twins = select(func.count(), func.count(Domain.joined_to)).where(
        Domain.project_id == project_id, Domain.twin.is_not(None)
    )
    pairs, joined = connection.execute(twins).one()
    return DomainCounts({status.value: found.get(status.value, 0) for status in DomainStatus}, pairs, joined)


def _conditions(project_id: uuid.UUID, choice: DomainChoice) -> list[ColumnElement[bool]]:
    chosen: list[ColumnElement[bool]] = [Domain.project_id == project_id]
    if choice.status is not None:
        chosen.append(Domain.status == choice.status.value)
    if choice.pattern:
        pattern = column_text(name_pattern(choice.pattern))
        fits = Domain.domain_name.like(like(pattern, part=True), escape=LIKE_ESCAPE)
        chosen.append(fits if pattern else false())
    return chosen


def _rows(
    connection: Connection, chosen: Select[Any], choice: DomainChoice, after: _Place | None
) -> list[StoredDomain]:
    """Return one row more than asked for, if there are so many."""
    wanted = choice.limit + 1
    column, name = _COLUMNS[choice.sort], Domain.domain_name
    rows: list[StoredDomain] = []
    # Two statements, not NULLS LAST: no index has that order on both databases.
    if after is None or after.value is not None:
        order = (name,) if column is name else (column, name)
        some = chosen.where(column.is_not(None))
        if after is not None:
            values = (after.name,) if column is name else (after.value, after.name)
            here, there = tuple_(*order), tuple_(*values)
            some = some.where(here < there if choice.descending else here > there)
        rows = _read(connection, some, order, wanted, descending=choice.descending)
    if len(rows) < wanted and column.nullable:
        some = chosen.where(column.is_(None))
        if after is not None and after.value is None:
            some = some.where(name < after.name if choice.descending else name > after.name)
        rows += _read(connection, some, (name,), wanted - len(rows), descending=choice.descending)
    return rows


def _read(
    connection: Connection, some: Select[Any], order: tuple[Any, ...], limit: int, *, descending: bool
) -> list[StoredDomain]:
    ordered = some.order_by(*(each.desc() if descending else each for each in order)).limit(limit)
    return [StoredDomain(*row) for row in connection.execute(ordered)]


def _cursor(choice: DomainChoice, last: StoredDomain) -> str | None:
    value = getattr(last, _COLUMNS[choice.sort].key)
    return to_cursor([choice.sort, choice.descending, value, last.domain_name])


def _place(choice: DomainChoice, cursor: str) -> _Place:
    """Return where a list goes on; whatever a cursor holds, the database gets a value of its column."""
    kind = GenericAlias(tuple, (str, bool, _TYPES[choice.sort] | None, str))
    sort, descending, value, name = from_cursor(cursor, kind)
    is_missing = value is None and not _COLUMNS[choice.sort].nullable
    if (sort, descending) != (choice.sort, choice.descending) or is_missing:
        raise CursorError(cursor)
    return _Place(column_text(value) if isinstance(value, str) else value, column_text(name))


class DomainSums(Struct, frozen=True):
    """Sums over the domains that have pages; above: how many lose more than a share of their text."""

    domains: int
    above: int
    pages: int
    chars_in: int
    chars_out: int


def domain_sums(session: "Session", project_id: uuid.UUID, share: float) -> DomainSums:
    """Return the sums over a project's domains."""
    above = func.sum(case((Domain.boilerplate_share > share, 1), else_=0))
    sums = (func.count(), above, func.sum(Domain.pages), func.sum(Domain.chars_in), func.sum(Domain.chars_out))
    row = session.execute(select(*sums).where(Domain.project_id == project_id, Domain.pages > 0)).one()
    # PostgreSQL's sums of integers are decimals.
    return DomainSums(*(int(number or 0) for number in row))


class PageContent(Struct, frozen=True):
    """What a URL held.

    Attributes:
        document_key: of the page that has its content; None where no page came.
        cleaned_hash: of its clean text; None where there is none.
        content_hash: of the bytes that came.
    """

    document_key: bytes | None
    cleaned_hash: bytes | None
    content_hash: bytes | None


def some_pages(connection: Connection, project_id: uuid.UUID, name: str, limit: int) -> list[str]:
    """Return URLs of so many completed documents of a domain, spread evenly: in the order of their keys."""
    of_domain = (Document.project_id == project_id, Document.domain == name, Document.status == "completed")
    found = select(Document.url).where(*of_domain).order_by(Document.page_key).limit(limit)
    return list(connection.scalars(found))


def contents_of(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, PageContent]:
    """Return what those of the URLs held that were crawled."""
    columns = (CrawledUrl.page_key, CrawledUrl.document_key, Document.cleaned_hash, Document.content_hash)
    both = select(*columns).outerjoin(Document, same_page(Document, CrawledUrl) & (Document.status == "completed"))
    of_project = both.where(CrawledUrl.project_id == project_id)
    return {key: PageContent(*content) for key, *content in rows_in(connection, of_project, CrawledUrl.page_key, keys)}


def count_pages(connection: Connection, project_id: uuid.UUID, names: Collection[str]) -> dict[str, int]:
    """Return how many completed documents there are of each domain."""
    of_these = (Document.project_id == project_id, Document.domain.in_(sorted(names)), Document.status == "completed")
    counted = select(Document.domain, func.count()).where(*of_these).group_by(Document.domain)
    found = {row[0]: row[1] for row in connection.execute(counted)}
    return {name: found.get(name, 0) for name in names}
