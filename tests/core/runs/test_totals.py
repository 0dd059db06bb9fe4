from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.runs.totals import ELAPSED, WorkerPart, seconds_covered, total
from tests.tables import table

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def parts(*stats: dict[str, Any]) -> list[WorkerPart]:
    return [WorkerPart(NOON, each) for each in stats]


@table("core/workers_count_as_one")
def test_workers_count_as_one(first: dict[str, Any], second: dict[str, Any], together: dict[str, Any]) -> None:
    assert total(parts(first, second)) == together


@given(st.lists(st.dictionaries(st.sampled_from(["b/max", "a", "c/min"]), st.integers(0, 99)), max_size=4))
def test_the_order_of_workers_does_not_matter(stats: list[dict[str, Any]]) -> None:
    assert list(total(parts(*stats)).items()) == list(total(parts(*reversed(stats))).items())


@table("core/a_run_takes_the_time_in_which_anybody_works")
def test_a_run_takes_the_time_in_which_anybody_works(spans: list[tuple[int, Any]], seconds: float) -> None:
    workers = [WorkerPart(NOON + timedelta(seconds=start), {ELAPSED: took}) for start, took in spans]

    assert seconds_covered(workers) == seconds
    if all(isinstance(took, float) for _, took in spans):
        assert total(workers).get(ELAPSED, 0) == seconds
