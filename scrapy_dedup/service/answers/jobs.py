"""Work that takes long."""

from datetime import datetime
from typing import Any

from scrapy_dedup.service.jobs import Job


def job_answer(job: Job) -> dict[str, Any]:
    """Return a job as it stands."""
    return {
        "id": str(job.id),
        "kind": job.kind,
        "project": job.project,
        "state": job.state.value,
        "done": job.done,
        "total": job.total,
        "result": dict(job.result) if job.result is not None else None,
        "error": job.error,
        "created_at": job.created_at.isoformat(),
        "started_at": _time(job.started_at),
        "ended_at": _time(job.ended_at),
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
