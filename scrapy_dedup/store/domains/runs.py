"""What a crawl asks of the registry of domains, and what it leaves there."""

import uuid
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, bindparam, case, func, or_, select, update

from scrapy_dedup.core.domains import after_run
from scrapy_dedup.store.domains import registry as domains
from scrapy_dedup.store.domains.registry import TwinPair
from scrapy_dedup.store.knowledge.known_pages import KnownPages, asks
from scrapy_dedup.store.records.records import ConfidenceRecord
from scrapy_dedup.store.records.stored import SILENT_AFTER
from scrapy_dedup.store.tables.models import CrawledUrl, CrawlRun, Document, Domain
from scrapy_dedup.store.tables.upserts import Row, table_of

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
        return {
            "pages": self.pages,
            "chars_in": self.chars_in,
            "chars_out": self.chars_out,
            # Markdown may be longer than the text that it came from.
            "boilerplate_share": max(share, 0.0),
            "errors": self.errors,
            "last_crawled_at": self.last_crawled_at,
        }


def with_status(connection: Connection, project_id: uuid.UUID, statuses: Collection[str]) -> list[StoredStatus]:
    """Return the domains with one of some statuses, in no order."""
    columns = (Domain.domain_name, Domain.status, Domain.status_before, Domain.blacklist_expires_at)
    found = select(*columns).where(Domain.project_id == project_id, Domain.status.in_(sorted(statuses)))
    return [StoredStatus(*row) for row in connection.execute(found)]


def requested(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID, names: Collection[str]
) -> dict[str, int]:
    """Return of how many pages of each domain a run wrote something down; aliases are no pages."""
    of_these = (CrawledUrl.project_id == project_id, CrawledUrl.run_id == run_id, CrawledUrl.status != "alias")
    counted = select(CrawledUrl.domain, func.count()).where(*of_these).group_by(CrawledUrl.domain)
    return {name: pages for name, pages in connection.execute(counted) if name in names}


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
    domains.register(connection, project_id, by_name.keys(), at)
    pairs = domains.find_pairs(connection, project_id, by_name.keys())
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
    connection: Connection, project_id: uuid.UUID, names: Collection[str], at: datetime, high_quality: float
) -> None:
    """Write what is known of registered domains whose part of a run is over."""
    pairs = domains.find_pairs(connection, project_id, names)
    found = figures(connection, project_id, names)
    rows = {row.domain_name: row for pair in pairs.values() for row in pair.rows}
    crawled = {
        rows[name].domain_id: {**found.get(name, CrawledFigures()).columns(), "last_processed_at": at} for name in pairs
    }
    domains.change(connection, crawled, at)
    _settle_standings(connection, pairs, at, high_quality)


def _settle_standings(connection: Connection, pairs: Mapping[str, TwinPair], at: datetime, high_quality: float) -> None:
    """Let a domain, and the twin that counts as one with it, be what its best item makes of it."""
    changed = {}
    for pair in pairs.values():
        standing = after_run(pair.domain.standing, pair.domain.best_confidence_score, high_quality)
        changed.update({row.domain_id: (row, standing) for row in pair.rows if row.standing != standing})
    settled = list(changed.values())
    domains.set_standings(connection, [row for row, _ in settled], [standing for _, standing in settled], at)


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
    for some in domains.some_of(names):
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


class CrawledDomains(KnownPages):
    """The part of `ProjectStore` that ties a crawl to the registry."""

    domains_with_status = asks(with_status)
    registered_domains = asks(domains.find)
    pages_requested = asks(requested)
    domains_of_run = asks(of_run)

    def settle_domains(self, names: Collection[str], at: datetime, *, high_quality: float) -> set[str]:
        """Register the domains of a run that is over, and write what is known of them; return which were new.

        It is read from what is stored, so that a second time changes nothing.

        Args:
            names: of the domains.
            at: now.
            high_quality: confidence from which on a domain is of high quality.
        """
        with self._database.transaction(write=True) as connection:
            new = domains.register(connection, self.id, names, at)
            settle(connection, self.id, names, at, high_quality)
        return new
