from datetime import UTC, datetime, timedelta
from typing import Any

from scrapy_dedup.core.runs.totals import ELAPSED, WorkerPart, seconds_covered, total
from tests.tables import table

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def parts(*stats: dict[str, Any]) -> list[WorkerPart]:
    return [WorkerPart(NOON, each) for each in stats]


@table("core/workers_count_as_one")
def test_workers_count_as_one(first: dict[str, Any], second: dict[str, Any], together: dict[str, Any]) -> None:
    assert total(parts(first, second)) == together


@table("core/a_run_takes_the_time_in_which_anybody_works")
def test_a_run_takes_the_time_in_which_anybody_works(spans: list[tuple[int, Any]], seconds: float) -> None:
    workers = [WorkerPart(NOON + timedelta(seconds=start), {ELAPSED: took}) for start, took in spans]

    assert seconds_covered(workers) == seconds
    if all(isinstance(took, float) for _, took in spans):
        assert total(workers).get(ELAPSED, 0) == seconds
