"""Which pages were found new, changed or removed."""

from collections.abc import Mapping
from typing import Any

from scrapy_dedup.service.changes import VERDICTS, PageChange, Since


def changes_head(project: str, start: Since, counts: Mapping[str, int]) -> dict[str, Any]:
    """Return what stands before the changes: since when, and how many of each verdict."""
    return {
        "project": project,
        "since": {"at": start.at.isoformat(), "run": str(start.run_id) if start.run_id else None},
        "counts": {verdict: counts.get(verdict, 0) for verdict in VERDICTS},
    }


def change_answer(change: PageChange, *, with_diff: bool) -> dict[str, Any]:
    """Return a page that changed."""
    visit = change.visit
    told = {"diff": change.diff, "no_diff": change.no_diff} if with_diff else {}
    return {
        "verdict": visit.verdict,
        "change_class": visit.change_class,
        "reason": visit.reason,
        "url": change.url,
        "domain": change.domain,
        "page_key": visit.page_key.hex(),
        "at": visit.at.isoformat(),
        "run": str(visit.run_id) if visit.run_id else None,
        "http_status": visit.http_status,
        **told,
    }
