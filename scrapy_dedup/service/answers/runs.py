"""What runs found."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from scrapy_dedup.store.stored import StoredRun, StoredWorker
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
        "workers": [_worker(one) for one in figures.workers],
    }


def _worker(worker: StoredWorker) -> dict[str, Any]:
    """Return how one of the crawlers of a shared run stands."""
    return {
        "name": worker.name,
        "status": worker.status,
        "reason": worker.reason,
        "started_at": worker.started_at.isoformat(),
        "finished_at": worker.finished_at.isoformat() if worker.finished_at else None,
        **_counted(worker.stats),
    }


def _so_far(run_of_it: StoredRun) -> dict[str, int] | None:
    """Return what a run that is under way, or was killed, has counted; None where it never said so."""
    if run_of_it.finished_at is not None or run_of_it.seen_at is None:
        return None
    return _counted(run_of_it.stats)


def _counted(stats: Mapping[str, Any]) -> dict[str, int]:
    counted = {"responses": "response_received_count", "items": "item_scraped_count"}
    return {name: int(stats.get(stat, 0)) for name, stat in counted.items()}


def took_of(run_of_it: StoredRun) -> timedelta | None:
    """Return how long a run took; None while it runs, or where it was killed."""
    return run_of_it.finished_at - run_of_it.started_at if run_of_it.finished_at else None
