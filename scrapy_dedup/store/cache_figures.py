"""Sums over visits and extractions: what coming again cost, and what it spared."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Subquery, case, func, select
from sqlalchemy.orm import Session

from scrapy_dedup.store.codec import column_text
from scrapy_dedup.store.columns import by_code_point
from scrapy_dedup.store.models import CrawledUrl, Document, Extraction, Visit

_DOMAIN = func.coalesce(Document.domain, CrawledUrl.domain, "")
_PACKED_BYTES = (
    func.length(Extraction.requests)
    + func.coalesce(func.length(Extraction.items), 0)
    + func.coalesce(func.length(Extraction.cb_kwargs), 0)
)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Visits of one kind on a domain.

    Attributes:
        fetched: "get", "304" or "skip".
        verdict: None where none could be given.
        full_bytes: what their pages weighed when they were last received whole.
        weighed: for how many of the visits that is known.
    """

    domain: str
    fetched: str
    verdict: str | None
    callback_run: bool
    visits: int
    bytes_received: int
    seconds: float
    full_bytes: int
    weighed: int


@dataclass(frozen=True, slots=True)
class FullCost:
    """What the visits of a domain cost that received the page and ran the callback, all runs together."""

    domain: str
    visits: int
    bytes_received: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CachedUrl:
    """A page with extractions, and how many of them are of its document's content."""

    page_key: bytes
    url: str
    domain: str
    extractions: int
    current: int
    packed_bytes: int
    extracted_at: datetime


class CacheFigures:
    """Figures of a project; each reads all visits or extractions that are kept."""

    def __init__(self, session: Session, project_id: uuid.UUID) -> None:
        self._session = session
        self._project_id = project_id

    def traffic(self, run_id: uuid.UUID | None = None) -> list[Traffic]:
        """Return the visits of a run, or all that are kept, by domain and kind."""
        whole = self._whole_fetches()
        kinds = (Visit.fetched, Visit.verdict, Visit.callback_run)
        sums = (
            select(
                _DOMAIN.label("domain"),
                *kinds,
                func.count().label("visits"),
                func.sum(Visit.bytes_received).label("bytes_received"),
                func.sum(Visit.seconds).label("seconds"),
                func.coalesce(func.sum(whole.c.bytes_received), 0).label("full_bytes"),
                func.count(whole.c.page_key).label("weighed"),
            )
            .outerjoin(whole, (whole.c.page_key == Visit.page_key) & (whole.c.place == 1))
            .where(*self._visits(run_id))
            .group_by(_DOMAIN, *kinds)
        )
        found = [_traffic(row) for row in self._session.execute(_with_domain(sums))]
        return sorted(found, key=lambda one: (one.domain, one.fetched, one.verdict or "", one.callback_run))

    def full_costs(self) -> list[FullCost]:
        """Return what pages cost that are done from the beginning, by domain."""
        sums = (
            select(
                _DOMAIN.label("domain"),
                func.count().label("visits"),
                func.sum(Visit.bytes_received).label("bytes_received"),
                func.sum(Visit.seconds).label("seconds"),
            )
            .where(*self._visits(None), Visit.fetched == "get", Visit.callback_run)
            .group_by(_DOMAIN)
        )
        rows = self._session.execute(_with_domain(sums))
        return [FullCost(row.domain, row.visits, int(row.bytes_received), float(row.seconds)) for row in rows]

    def count_pages(self, domain: str | None = None) -> int:
        """Return how many pages have extractions."""
        counted = select(func.count(Extraction.page_key.distinct())).where(*self._extractions(domain))
        return self._session.scalar(counted) or 0

    def pages(self, domain: str | None, limit: int | None) -> list[CachedUrl]:
        """Return pages with extractions, in the order of domain and URL."""
        of_page = (Document.project_id == Extraction.project_id) & (Document.page_key == Extraction.page_key)
        is_current = case((Document.content_hash == Extraction.content_hash, 1), else_=0)
        sums = (
            select(
                Extraction.page_key,
                func.min(Extraction.url).label("url"),
                func.min(Extraction.domain).label("domain"),
                func.count().label("extractions"),
                func.sum(is_current).label("current"),
                func.sum(_PACKED_BYTES).label("packed_bytes"),
                func.max(Extraction.created_at).label("extracted_at"),
            )
            .outerjoin(Document, of_page)
            .where(*self._extractions(domain))
            .group_by(Extraction.page_key)
        ).subquery()
        ordered = select(sums).order_by(by_code_point(sums.c.domain), by_code_point(sums.c.url), sums.c.page_key)
        return [_cached_url(row) for row in self._session.execute(ordered.limit(limit))]

    def urls(self, after: bytes | None, limit: int) -> list[tuple[bytes, str]]:
        """Return (page_key, url) of pages with extractions, in the order of keys."""
        some = select(Extraction.page_key, func.min(Extraction.url)).where(*self._extractions(None))
        if after is not None:
            some = some.where(Extraction.page_key > after)
        rows = self._session.execute(some.group_by(Extraction.page_key).order_by(Extraction.page_key).limit(limit))
        return [(key, url) for key, url in rows]

    def _extractions(self, domain: str | None) -> Sequence[ColumnElement[bool]]:
        of_project = Extraction.project_id == self._project_id
        return [of_project] if domain is None else [of_project, Extraction.domain == column_text(domain)]

    def _visits(self, run_id: uuid.UUID | None) -> Sequence[ColumnElement[bool]]:
        of_project = Visit.project_id == self._project_id
        return [of_project] if run_id is None else [of_project, Visit.run_id == run_id]

    def _whole_fetches(self) -> Subquery:
        """Return the visits that received a page whole; the last one of each page has place 1."""
        last_first = func.row_number().over(partition_by=Visit.page_key, order_by=(Visit.at.desc(), Visit.id.desc()))
        whole = (Visit.fetched == "get", Visit.bytes_received > 0)
        columns = (Visit.page_key, Visit.bytes_received, last_first.label("place"))
        return select(*columns).where(*self._visits(None), *whole).subquery()


def _with_domain(visits: Any) -> Any:
    """Return the question with the tables that know a visit's domain."""
    of_document = (Document.project_id == Visit.project_id) & (Document.page_key == Visit.page_key)
    of_url = (CrawledUrl.project_id == Visit.project_id) & (CrawledUrl.page_key == Visit.page_key)
    return visits.outerjoin(Document, of_document).outerjoin(CrawledUrl, of_url)


def _traffic(row: Any) -> Traffic:
    return Traffic(
        domain=row.domain,
        fetched=row.fetched,
        verdict=row.verdict,
        callback_run=row.callback_run,
        visits=row.visits,
        # PostgreSQL's sums of integers are decimals.
        bytes_received=int(row.bytes_received),
        seconds=float(row.seconds),
        full_bytes=int(row.full_bytes),
        weighed=row.weighed,
    )


def _cached_url(row: Any) -> CachedUrl:
    counts = (row.extractions, int(row.current), int(row.packed_bytes))
    return CachedUrl(row.page_key, row.url, row.domain, *counts, row.extracted_at)
