"""What runs found."""

from datetime import timedelta
from typing import Any

from scrapy_dedup.store.stored import StoredRun
from scrapy_dedup.store.stored_visits import RunFigures


def run_answer(figures: RunFigures) -> dict[str, Any]:
    """Return what a run found."""
    run_of_it, took = figures.run, took_of(figures.run)
    return {
        "id": str(run_of_it.id),
        "spider": run_of_it.spider,
        "status": run_of_it.status,
        "reason": run_of_it.reason,
        "started_at": run_of_it.started_at.isoformat(),
        "finished_at": run_of_it.finished_at.isoformat() if run_of_it.finished_at else None,
        "seen_at": run_of_it.seen_at.isoformat() if run_of_it.seen_at else None,
        "so_far": _so_far(run_of_it),
        "seconds": took.total_seconds() if took is not None else None,
        "visits": figures.visits,
        "verdicts": dict(figures.verdicts),
        "callbacks": figures.callbacks,
        "bytes_received": figures.bytes_received,
        "request_seconds": round(figures.seconds, 3),
    }


def _so_far(run_of_it: StoredRun) -> dict[str, int] | None:
    """Return what a run that is under way, or was killed, has counted; None where it never said so."""
    if run_of_it.finished_at is not None or run_of_it.seen_at is None:
        return None
    counted = {"responses": "response_received_count", "items": "item_scraped_count"}
    return {name: int(run_of_it.stats.get(stat, 0)) for name, stat in counted.items()}


def took_of(run_of_it: StoredRun) -> timedelta | None:
    """Return how long a run took; None while it runs, or where it was killed."""
    return run_of_it.finished_at - run_of_it.started_at if run_of_it.finished_at else None
