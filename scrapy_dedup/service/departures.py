"""Which pages are removed: missed by enough complete runs, and not too many at once."""

from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records import GoneRecord, Record, VisitRecord
from scrapy_dedup.store.stored_visits import MissedPage
from scrapy_dedup.store.writer import ProjectStore


@dataclass(frozen=True, slots=True)
class Departed:
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
    missed: list[bytes] = []
    due: list[MissedPage] = []
    for page in store.missing_pages(run_id, domains):
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


def is_tombstone(item: Any) -> bool:
    """Say whether an item tells of a removed page."""
    report = item.get("dedup") if isinstance(item, dict) else None
    return isinstance(report, dict) and report.get("verdict") == "removed"
