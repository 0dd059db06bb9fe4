"""The registry of domains: rows found, added and changed, and what a crawl asks of it and leaves there.

Names are those that `core.domains.names` gives.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct, convert
from msgspec.structs import asdict
from sqlalchemy import (
    ColumnClause,
    ColumnDefault,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    func,
    or_,
    select,
    update,
)

from scrapy_dedup.core.domains import DomainStanding, DomainStatus, after_run, is_pattern, name_pattern, twin_of
from scrapy_dedup.store.engine.codec import column_text, row_of
from scrapy_dedup.store.records.lookups import values_of
from scrapy_dedup.store.records.records import ConfidenceRecord
from scrapy_dedup.store.records.stored import SILENT_AFTER
from scrapy_dedup.store.tables.models import CrawledUrl, CrawlRun, Document, Domain
from scrapy_dedup.store.tables.statements import Row, chunks, insert_into, table_of

# Each with all of its columns, or a scan of the table by itself.
_FEW_AT_ONCE = 50
LIKE_ESCAPE: Final = "!"
# Written out: SQLAlchemy asks the defaults of an insert of many rows for the first alone.
_ZEROS: Final = {
    one.name: one.default.arg
    for one in table_of(Domain).c
    if isinstance(one.default, ColumnDefault) and one.default.is_scalar
}


class StoredDomain(Struct, frozen=True):
    """A registered domain.

    Attributes:
        status_before: what it was before it was blacklisted.
        mean_confidence_score: of all items that went out and had one.
        twin: the same name with or without `www.`, if that is registered, too.
        joined_to: the name that stands for both, if this one does not itself.
        pages_alike: pages of both that say the same; None of the two counts if they were never compared.
    """

    domain_id: uuid.UUID
    domain_name: str
    status: str
    status_before: str | None
    discovery_session_id: uuid.UUID | None
    high_quality_candidate_count: int
    low_quality_candidate_count: int
    best_confidence_score: float | None
    mean_confidence_score: float | None
    pages: int
    chars_in: int
    chars_out: int
    boilerplate_share: float
    errors: int
    last_crawled_at: datetime | None
    blacklisted_at: datetime | None
    blacklisted_by: str | None
    blacklist_reason: str | None
    blacklist_expires_at: datetime | None
    twin: str | None
    joined_to: str | None
    pages_alike: int
    pages_unlike: int
    discovered_at: datetime
    last_processed_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def standing(self) -> DomainStanding:
        """What stands about it."""
        return convert(self, DomainStanding, from_attributes=True)


class TwinPair(Struct, frozen=True):
    """A domain, and the twin that counts as one with it.

    Attributes:
        domain: that stands for both.
        joined: its twin, if it was joined to it.
    """

    domain: StoredDomain
    joined: StoredDomain | None = None

    @property
    def rows(self) -> tuple[StoredDomain, ...]:
        """One or two."""
        return (self.domain,) if self.joined is None else (self.domain, self.joined)


def of_project(project_id: uuid.UUID) -> Select[Any]:
    """Select the domains of a project."""
    return values_of(Domain, StoredDomain, project_id)


def find(connection: Connection, project_id: uuid.UUID, names: Collection[str]) -> dict[str, StoredDomain]:
    """Return those of the names that are registered, as they stand."""
    found = {}
    for some in chunks(names):
        for row in connection.execute(of_project(project_id).where(*among(Domain.domain_name, some))):
            found[row.domain_name] = StoredDomain(*row)
    return found


def find_by_id(connection: Connection, project_id: uuid.UUID, domain_id: uuid.UUID) -> StoredDomain | None:
    """Return a domain."""
    row = connection.execute(of_project(project_id).where(Domain.domain_id == domain_id)).first()
    return StoredDomain(*row) if row else None


def find_pairs(connection: Connection, project_id: uuid.UUID, names: Collection[str]) -> dict[str, TwinPair]:
    """Return those of the names that are registered, each with the twin that counts as one with it."""
    rows = find(connection, project_id, names)
    twins = rows | find(connection, project_id, {row.twin for row in rows.values() if row.twin} - rows.keys())
    return {name: _pair(row, twins.get(row.twin or "")) for name, row in rows.items()}


def _pair(row: StoredDomain, twin: StoredDomain | None) -> TwinPair:
    if twin is None:
        return TwinPair(row)
    if row.joined_to == twin.domain_name:
        return TwinPair(twin, row)
    return TwinPair(row, twin if twin.joined_to == row.domain_name else None)


def matching(connection: Connection, project_id: uuid.UUID, patterns: Collection[str]) -> list[StoredDomain]:
    """Return the domains that any of the patterns stands for, in the order of their names."""
    wanted = [column_text(name_pattern(pattern)) for pattern in patterns]
    globs = [like(pattern) for pattern in wanted if is_pattern(pattern)]
    names = {pattern for pattern in wanted if not is_pattern(pattern)}
    found = find(connection, project_id, names)
    for some in chunks(globs, _FEW_AT_ONCE):
        any_of = or_(*(Domain.domain_name.like(glob, escape=LIKE_ESCAPE) for glob in some))
        for row in connection.execute(of_project(project_id).where(any_of)):
            found[row.domain_name] = StoredDomain(*row)
    return [found[name] for name in sorted(found)]


def like(pattern: str, *, part: bool = False) -> str:
    """Return a pattern in the words of LIKE, with `!` before what LIKE would take for its own.

    A *part* without `*` and `?` stands for all names that it is a part of.
    """
    literal = pattern
    for sign in (LIKE_ESCAPE, "%", "_"):
        literal = literal.replace(sign, LIKE_ESCAPE + sign)
    if part and not is_pattern(pattern):
        return f"%{literal}%"
    return literal.replace("*", "%").replace("?", "_")


def register(
    connection: Connection,
    project_id: uuid.UUID,
    names: Collection[str],
    at: datetime,
    session_id: uuid.UUID | None = None,
) -> set[str]:
    """Add those of the names that are not registered; return which these were.

    Two processes may register the same at once: the name is then new for one of them.
    """
    known = find(connection, project_id, names).keys()
    missing = set(names) - known
    new: set[str] = set()
    # With RETURNING SQLAlchemy makes statements of many rows of it: written out, each would be compiled again.
    added = insert_into(connection, Domain).on_conflict_do_nothing().returning(table_of(Domain).c.domain_name)
    for some in chunks(missing):
        new.update(connection.scalars(added, [_new_row(project_id, name, at, session_id) for name in some]))
    _note_twins(connection, project_id, new)
    return new


def _new_row(project_id: uuid.UUID, name: str, at: datetime, session_id: uuid.UUID | None) -> dict[str, Any]:
    return {
        "domain_id": uuid.uuid4(),
        "project_id": project_id,
        "domain_name": name,
        "status": DomainStatus.DISCOVERED.value,
        "discovery_session_id": session_id,
        "discovered_at": at,
        "created_at": at,
        "updated_at": at,
        **_ZEROS,
    }


def _note_twins(connection: Connection, project_id: uuid.UUID, new: Collection[str]) -> None:
    """Let those of the new domains and their twins know of each other that are both registered."""
    wanted = {name: twin for name in new if (twin := twin_of(name)) is not None}
    there = find(connection, project_id, set(wanted.values()))
    pairs = {(name, twin) for name, twin in wanted.items() if twin in there}
    pairs |= {(twin, name) for name, twin in pairs}
    domain = table_of(Domain)
    of_name = (domain.c.project_id == project_id) & (domain.c.domain_name == bindparam("of_name"))
    if pairs:
        values = [{"of_name": name, "twin": twin} for name, twin in sorted(pairs)]
        connection.execute(update(domain).where(of_name), values)


def change(connection: Connection, changes: Mapping[uuid.UUID, Mapping[str, Any]], at: datetime) -> None:
    """Give domains new values; all have the same columns. They are written in one order, see `upsert`."""
    if not changes:
        return
    domain = table_of(Domain)
    rows = [{"of_id": key, **changes[key], "updated_at": at} for key in sorted(changes)]
    connection.execute(update(domain).where(domain.c.domain_id == bindparam("of_id")), rows)


def set_standings(
    connection: Connection, rows: Sequence[StoredDomain], standings: Sequence[DomainStanding], at: datetime
) -> None:
    """Let other things stand about domains, one for each."""
    change(connection, {row.domain_id: row_of(one) for row, one in zip(rows, standings, strict=True)}, at)


def blacklisted(
    connection: Connection, project_id: uuid.UUID, at: datetime, after: str = "", limit: int | None = None
) -> list[StoredDomain]:
    """Return the domains whose blacklist holds at an instant, in the order of their names: so many behind a name."""
    holds = or_(Domain.blacklist_expires_at.is_(None), Domain.blacklist_expires_at > at)
    found = of_project(project_id).where(Domain.status == DomainStatus.BLACKLISTED.value, holds)
    if after:
        found = found.where(Domain.domain_name > column_text(after))
    return _by_name(connection, found.limit(limit))


def expired(connection: Connection, project_id: uuid.UUID, at: datetime) -> list[StoredDomain]:
    """Return the domains whose blacklist is over at an instant, and still written down."""
    over = (Domain.status == DomainStatus.BLACKLISTED.value, Domain.blacklist_expires_at <= at)
    return _by_name(connection, of_project(project_id).where(*over))


def _by_name(connection: Connection, some: Select[Any]) -> list[StoredDomain]:
    return [StoredDomain(*row) for row in connection.execute(some.order_by(Domain.domain_name))]


def high_quality(connection: Connection, project_id: uuid.UUID, min_candidates: int) -> list[StoredDomain]:
    """Return the domains of high quality with so many good candidates at least, in the order of their names."""
    good = (
        Domain.status == DomainStatus.PROCESSED_HIGH_QUALITY.value,
        Domain.high_quality_candidate_count >= min_candidates,
        Domain.joined_to.is_(None),
    )
    return _by_name(connection, of_project(project_id).where(*good))


def with_twin(connection: Connection, project_id: uuid.UUID) -> dict[str, StoredDomain]:
    """Return the domains whose twin with or without `www.` is registered, too, by name."""
    found = of_project(project_id).where(Domain.twin.is_not(None))
    return {one.domain_name: one for one in _by_name(connection, found)}


def among(column: ColumnClause[str], names: Sequence[str]) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that a column holds one of some names, which are in their order.

    The bounds are for PostgreSQL, which else compares every row with every name where it has no statistics yet: a
    table that one transaction fills took 35 s instead of 1 for 20,000 names.
    """
    return column >= names[0], column <= names[-1], column.in_(names)


# Of so many killed runs the domains are made up for; a project whose crawls always die is not read whole each time.
_KILLED_RUNS: Final = 3


class StoredStatus(Struct, frozen=True):
    """What of a domain says whether it is asked."""

    domain_name: str
    status: str
    status_before: str | None
    blacklist_expires_at: datetime | None


class CrawledFigures(Struct, frozen=True):
    """What is stored of a domain's pages.

    Attributes:
        pages: completed documents.
        errors: URLs whose last fetch failed, and pages that a pipeline failed on.
    """

    pages: int = 0
    chars_in: int = 0
    chars_out: int = 0
    errors: int = 0
    last_crawled_at: datetime | None = None

    def columns(self) -> dict[str, Any]:
        """Return the columns of the registry that say it."""
        share = 1 - self.chars_out / self.chars_in if self.chars_in else 0.0
        # Markdown may be longer than the text that it came from.
        return asdict(self) | {"boilerplate_share": max(share, 0.0)}


def with_status(connection: Connection, project_id: uuid.UUID, statuses: Collection[str]) -> list[StoredStatus]:
    """Return the domains with one of some statuses, in no order."""
    columns = (Domain.domain_name, Domain.status, Domain.status_before, Domain.blacklist_expires_at)
    found = select(*columns).where(Domain.project_id == project_id, Domain.status.in_(sorted(statuses)))
    return [StoredStatus(*row) for row in connection.execute(found)]


def of_run(connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID, at: datetime) -> set[str]:
    """Return the domains of the documents of a run, and of the last runs that were killed."""
    silent = or_(CrawlRun.seen_at.is_(None), CrawlRun.seen_at < at - SILENT_AFTER)
    killed = (
        select(CrawlRun.id)
        .where(CrawlRun.project_id == project_id, CrawlRun.status.in_(("running", "killed")), silent)
        .order_by(CrawlRun.started_at.desc())
        .limit(_KILLED_RUNS)
    )
    runs = {run_id, *connection.scalars(killed)}
    found = select(Document.domain).distinct().where(Document.project_id == project_id, Document.run_id.in_(runs))
    return set(connection.scalars(found))


def add_confidences(connection: Connection, project_id: uuid.UUID, records: Iterable[ConfidenceRecord]) -> None:
    """Add to what is known of how good domains' items are; the database adds, so that two crawls at once lose none.

    Of two domains that count as one, the one that stands for both takes it.
    """
    by_name = {record.domain: record for record in records}
    if not by_name:
        return
    at = max(record.at for record in by_name.values())
    register(connection, project_id, by_name.keys(), at)
    pairs = find_pairs(connection, project_id, by_name.keys())
    domain = table_of(Domain).c
    high, low = domain.high_quality_candidate_count, domain.low_quality_candidate_count
    best, mean = domain.best_confidence_score, domain.mean_confidence_score
    more_high, more_low = bindparam("high", type_=high.type), bindparam("low", type_=low.type)
    their_best, total = bindparam("best", type_=best.type), bindparam("total", type_=mean.type)
    added = (
        update(table_of(Domain))
        .where(domain.domain_id == bindparam("of_id"))
        .values(
            high_quality_candidate_count=high + more_high,
            low_quality_candidate_count=low + more_low,
            best_confidence_score=case((or_(best.is_(None), best < their_best), their_best), else_=best),
            mean_confidence_score=(func.coalesce(mean, 0.0) * (high + low) + total)
            / (high + low + more_high + more_low),
            updated_at=bindparam("at", type_=domain.updated_at.type),
        )
    )
    rows: list[Row] = [
        {
            "of_id": pairs[name].domain.domain_id,
            "high": record.high,
            "low": record.low,
            "best": record.best,
            "total": record.total,
            "at": record.at,
        }
        for name, record in by_name.items()
    ]
    connection.execute(added, sorted(rows, key=itemgetter("of_id")))


def settle(
    connection: Connection, project_id: uuid.UUID, names: Collection[str], at: datetime, *, high_quality: float
) -> set[str]:
    """Register the domains of a run that is over, and write what is known of them; return which were new.

    It is read from what is stored, so that a second time changes nothing.

    *high_quality* is the confidence from which on a domain is of high quality.
    """
    new = register(connection, project_id, names, at)
    pairs = find_pairs(connection, project_id, names)
    found = figures(connection, project_id, names)
    rows = {row.domain_name: row for pair in pairs.values() for row in pair.rows}
    crawled = {
        rows[name].domain_id: {**found.get(name, CrawledFigures()).columns(), "last_processed_at": at} for name in pairs
    }
    change(connection, crawled, at)
    _settle_standings(connection, pairs, at, high_quality)
    return new


def _settle_standings(connection: Connection, pairs: Mapping[str, TwinPair], at: datetime, high_quality: float) -> None:
    """Let a domain, and the twin that counts as one with it, be what its best item makes of it."""
    changed = {}
    for pair in pairs.values():
        standing = after_run(pair.domain.standing, pair.domain.best_confidence_score, high_quality)
        changed.update({row.domain_id: (row, standing) for row in pair.rows if row.standing != standing})
    settled = list(changed.values())
    set_standings(connection, [row for row, _ in settled], [standing for _, standing in settled], at)


def figures(connection: Connection, project_id: uuid.UUID, names: Collection[str]) -> dict[str, CrawledFigures]:
    """Return what is stored of domains' pages; domains without any are left out."""
    completed = Document.status == "completed"
    sums = select(
        Document.domain,
        func.count().filter(completed),
        func.sum(Document.chars_in).filter(completed),
        func.sum(Document.chars_out).filter(completed),
        func.count().filter(Document.status == "failed"),
        func.max(Document.last_seen_at, type_=Document.last_seen_at.type),
    ).where(Document.project_id == project_id)
    failed = _failed_urls(connection, project_id)
    found = {name: CrawledFigures(errors=failed[name]) for name in names if name in failed}
    for some in chunks(names):
        for name, pages, chars_in, chars_out, failures, last in connection.execute(
            sums.where(Document.domain.in_(some)).group_by(Document.domain)
        ):
            errors = failures + failed.get(name, 0)
            # PostgreSQL's sums of integers are decimals.
            found[name] = CrawledFigures(pages, int(chars_in or 0), int(chars_out or 0), errors, last)
    return found


def _failed_urls(connection: Connection, project_id: uuid.UUID) -> dict[str, int]:
    """Return how many URLs of each domain failed at their last fetch; it reads all URLs of the project once."""
    failed = (CrawledUrl.project_id == project_id, CrawledUrl.status == "failed")
    counted = select(CrawledUrl.domain, func.count()).where(*failed).group_by(CrawledUrl.domain)
    return {name: int(urls) for name, urls in connection.execute(counted)}
