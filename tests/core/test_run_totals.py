from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.run_totals import ELAPSED, Part, seconds_covered, total

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def parts(*stats: dict[str, Any]) -> list[Part]:
    return [Part(NOON, each) for each in stats]


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        pytest.param({"dedup/items/in": 3}, {"dedup/items/in": 4}, {"dedup/items/in": 7}, id="counts-add-up"),
        pytest.param({"dedup/url/dropped": 3}, {}, {"dedup/url/dropped": 3}, id="one-has-it"),
        pytest.param({"seconds/cut": 0.5}, {"seconds/cut": 1.25}, {"seconds/cut": 1.75}, id="seconds-add-up"),
        pytest.param({"memusage/max": 5}, {"memusage/max": 9}, {"memusage/max": 9}, id="largest"),
        pytest.param({"request_depth_max": 5}, {"request_depth_max": 2}, {"request_depth_max": 5}, id="deepest"),
        pytest.param({"delay/min": 5.0}, {"delay/min": 2.0}, {"delay/min": 2.0}, id="smallest"),
        pytest.param(
            {"finish_reason": "finished"}, {"finish_reason": "finished"}, {"finish_reason": "finished"}, id="text"
        ),
        pytest.param({"finish_reason": "finished"}, {"finish_reason": "shutdown"}, {}, id="two-texts"),
        pytest.param({"is_on": True}, {"is_on": True}, {"is_on": True}, id="switch"),
        pytest.param({"n": 1}, {"n": "one"}, {}, id="a-number-and-a-text"),
        pytest.param({"domains": ["a"]}, {"domains": ["b"]}, {}, id="lists-are-left-out"),
    ],
)
def test_workers_count_as_one(first: dict[str, Any], second: dict[str, Any], together: dict[str, Any]) -> None:
    assert total(parts(first, second)) == together


@given(st.lists(st.dictionaries(st.sampled_from(["b/max", "a", "c/min"]), st.integers(0, 99)), max_size=4))
def test_the_order_of_workers_does_not_matter(stats: list[dict[str, Any]]) -> None:
    assert list(total(parts(*stats)).items()) == list(total(parts(*reversed(stats))).items())


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [
        pytest.param([(0, 10.0)], 10, id="one"),
        pytest.param([(0, 10.0), (0, 10.0)], 10, id="side-by-side"),
        pytest.param([(0, 10.0), (5, 10.0)], 15, id="overlapping"),
        pytest.param([(20, 10.0), (0, 10.0)], 20, id="one-after-the-other"),
        pytest.param([(0, 30.0), (5, 1.0)], 30, id="one-inside-another"),
        pytest.param([(0, -3.0), (5, "x")], 0, id="nonsense"),
        pytest.param([], 0, id="none"),
    ],
)
def test_a_run_takes_the_time_in_which_anybody_works(spans: list[tuple[int, Any]], seconds: float) -> None:
    workers = [Part(NOON + timedelta(seconds=start), {ELAPSED: took}) for start, took in spans]

    assert seconds_covered(workers) == seconds
    if all(isinstance(took, float) for _, took in spans):
        assert total(workers).get(ELAPSED, 0) == seconds
