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
        "seconds": took.total_seconds() if took is not None else None,
        "visits": figures.visits,
        "verdicts": dict(figures.verdicts),
        "callbacks": figures.callbacks,
        "bytes_received": figures.bytes_received,
        "request_seconds": round(figures.seconds, 3),
    }


def took_of(run_of_it: StoredRun) -> timedelta | None:
    """Return how long a run took; None while it runs, or where it was killed."""
    return run_of_it.finished_at - run_of_it.started_at if run_of_it.finished_at else None
