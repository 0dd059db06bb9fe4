"""Which pages are removed: missed by enough complete runs, and not too many at once."""

from collections.abc import Collection, Container, Iterable
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from msgspec import Struct

from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import GoneRecord, Record, VisitRecord
from scrapy_dedup.store.records.stored import MissedPage
from scrapy_dedup.store.writer import ProjectStore

INCOMPLETE: Final = "incomplete_domains"
"""Under this name the stats of a worker list the domains that it did not see whole."""
EVERYTHING: Final = "*"
"""In place of too many."""
_MOST_NAMED: Final = 1_000


class Departed(Struct, frozen=True):
    """What a complete run did not find."""

    missed: tuple[bytes, ...] = ()
    """Page keys, removed ones included."""
    removed: tuple[MissedPage, ...] = ()
    too_many: tuple[tuple[str, int, int], ...] = ()
    """(domain, pages missed often enough, pages) where nothing is removed without somebody's word."""


def find_departed(
    store: ProjectStore, run_id: Any, domains: Collection[str], met: Container[bytes], settings: Settings
) -> Departed:
    """Return what the run did not find on domains that it crawled completely; blocks, so call it in a thread.

    Args:
        store: of the project.
        run_id: of the run, which is at its end.
        domains: of which it saw what there is to see.
        met: keys of pages that it received, of which the store may not know yet.
        settings: of the crawl.
    """
    if not domains:
        return Departed()
    shared = store.run is not None and store.run.worker is not None
    missed: list[bytes] = []
    due: list[MissedPage] = []
    for page in store.missing_pages(run_id, domains, shared=shared):
        if page.page_key not in met:
            missed.append(page.page_key)
            if page.missed_runs + 1 >= settings.removed_after:
                due.append(page)
    due.sort(key=lambda page: (page.domain, page.url, page.page_key))
    pages = store.live_pages({page.domain for page in due}) if due else {}
    by_domain: dict[str, list[MissedPage]] = {}
    for page in due:
        by_domain.setdefault(page.domain, []).append(page)
    too_many = {
        domain: (domain, len(found), pages.get(domain, 0))
        for domain, found in by_domain.items()
        if len(found) > settings.removed_max_share * pages.get(domain, 0)
    }
    return Departed(
        missed=tuple(missed),
        removed=tuple(page for page in due if page.domain not in too_many),
        too_many=tuple(too_many.values()),
    )


def seen_by_all(store: ProjectStore, run_id: UUID, max_failures: float) -> list[str]:
    """Return the domains of which the workers of a run saw what there is to see, in order; blocks.

    It is read from what the store says of the run: nobody else knows what the other workers met.

    Args:
        store: of the project.
        run_id: of the run, which is at its end.
        max_failures: largest share of a domain's URLs that may have failed.
    """
    told = [worker.stats.get(INCOMPLETE) for worker in store.workers_of([run_id]).get(run_id, ())]
    incomplete = {str(domain) for domains in told if isinstance(domains, list) for domain in domains}
    if EVERYTHING in incomplete:
        return []
    asked = store.urls_asked(run_id)
    return sorted(
        domain
        for domain, (urls, failed) in asked.items()
        if domain and failed <= max_failures * urls and domain not in incomplete
    )


def incomplete_domains(domains: Iterable[str], *, rows_lost: bool) -> list[str]:
    """Return what a worker tells others of domains that it did not see whole, in order.

    Args:
        domains: of which it knows.
        rows_lost: it could not write down what it saw, of whichever domain.
    """
    named = sorted(set(domains))
    return [EVERYTHING] if rows_lost or len(named) > _MOST_NAMED else named


def removal_records(pages: Iterable[MissedPage], at: datetime) -> list[Record]:
    """Return what is written of removed pages."""
    records: list[Record] = []
    for page in pages:
        records.append(GoneRecord(page.page_key, at))
        records.append(VisitRecord(page.page_key, at, "skip", "removed", _reason(page)))
    return records


def _reason(page: MissedPage) -> str:
    runs = page.missed_runs + 1
    return f"not found by {runs} complete run{'s' if runs > 1 else ''}"


def tombstone(page: MissedPage, project: str, run: str, url_field: str) -> dict[str, Any]:
    """Return the item that tells later pipelines and feeds of a removed page."""
    return {
        url_field: page.url,
        "dedup": {
            "project": project,
            "run": run,
            "domain": page.domain,
            "url": page.url,
            "page_key": page.page_key.hex(),
            "verdict": "removed",
            "reason": _reason(page),
            "previous_seen_at": page.last_seen_at.isoformat(),
        },
    }


def bare_tombstone(page_key: str, project: str, run: str) -> dict[str, Any]:
    """Return the tombstone of a forgotten page: of its URL nothing is left."""
    told = {"project": project, "run": run, "page_key": page_key, "verdict": "removed", "reason": "forgotten"}
    return {"dedup": told}


def is_tombstone(item: Any) -> bool:
    """Say whether an item tells of a removed page."""
    report = item.get("dedup") if isinstance(item, dict) else None
    return isinstance(report, dict) and report.get("verdict") == "removed"
