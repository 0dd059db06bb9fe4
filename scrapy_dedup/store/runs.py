import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from scrapy_dedup.store.codec import column_text, optional_text
from scrapy_dedup.store.models import CrawlRun
from scrapy_dedup.store.records import RunStatus
from scrapy_dedup.store.stored import Run


def begin(
    connection: Connection, project_id: uuid.UUID, *, spider: str, jobdir: str | None, started_at: datetime
) -> Run:
    """Return a new run, or the one that the JOBDIR did not finish: stopped, or killed and still said to be running."""
    spider, jobdir = column_text(spider), optional_text(jobdir)
    if jobdir is not None:
        last = (
            select(CrawlRun.id, CrawlRun.status)
            .where(CrawlRun.project_id == project_id, CrawlRun.spider == spider, CrawlRun.jobdir == jobdir)
            .order_by(CrawlRun.started_at.desc(), CrawlRun.id.desc())
            .limit(1)
        )
        found = connection.execute(last).first()
        if found and found.status != "finished":
            again = {"status": "running", "reason": None, "finished_at": None, "seen_at": started_at}
            connection.execute(update(CrawlRun).where(CrawlRun.id == found.id).values(again))
            return Run(found.id, resumed=True, killed=found.status in {"running", "killed"})
    run = Run(uuid.uuid4())
    row = {
        "id": run.id,
        "project_id": project_id,
        "spider": spider,
        "jobdir": jobdir,
        "status": "running",
        "started_at": started_at,
        "stats": {},
    }
    connection.execute(insert(CrawlRun), row)
    return run


def report(connection: Connection, run_id: uuid.UUID, stats: Mapping[str, Any], at: datetime) -> None:
    """Note how a run that is under way stands."""
    under_way = update(CrawlRun).where(CrawlRun.id == run_id, CrawlRun.status == "running")
    connection.execute(under_way.values(stats={str(name): value for name, value in stats.items()}, seen_at=at))


def end(
    connection: Connection,
    run_id: uuid.UUID,
    *,
    status: RunStatus,
    reason: str | None,
    stats: Mapping[str, Any],
    finished_at: datetime,
) -> None:
    """Note how a run ended; what JSON does not know among its stats becomes its `str`."""
    ended = {
        "status": status,
        "reason": optional_text(reason),
        "stats": {str(name): value for name, value in stats.items()},
        "finished_at": finished_at,
        "seen_at": finished_at,
    }
    connection.execute(update(CrawlRun).where(CrawlRun.id == run_id).values(ended))
