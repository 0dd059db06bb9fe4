from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.runs.supervision import STALLED_EXIT_CODE, End, Restart, RunEnding, SupervisionPolicy, after
from tests.tables import table

POLICY = SupervisionPolicy(restarts=2, window=timedelta(seconds=100))
SECOND = timedelta(seconds=1)


@table("core/crawl_is_started_again_when_another_process_may_help")
def test_crawl_is_started_again_when_another_process_may_help(
    exit_code: int, ending: dict[str, bool], earlier: list[float], ends_with: int | None, why: str, pause: float | None
) -> None:
    policy = POLICY if 500.0 not in earlier else SupervisionPolicy(window=timedelta(seconds=600))

    answer = after(RunEnding(exit_code, **ending), earlier, 1_000.0, policy)

    assert answer == (End(ends_with, why) if ends_with is not None else Restart(why, (pause or 0) * SECOND))


@given(st.integers(0, 10_000))
def test_pauses_grow_up_to_the_longest(restarts: int) -> None:
    policy = SupervisionPolicy(restarts=10**6)
    answer = after(RunEnding(STALLED_EXIT_CODE), [0.0] * restarts, 1.0, policy)

    assert isinstance(answer, Restart)
    assert policy.first_pause <= answer.pause <= policy.longest_pause
