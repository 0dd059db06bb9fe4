from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.supervision import STALLED_EXIT_CODE, End, Ending, Restart, SupervisionPolicy, after

POLICY = SupervisionPolicy(restarts=2, window=timedelta(seconds=100))
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("ending", "earlier", "wanted"),
    [
        pytest.param(Ending(0), [], End(0, "it ended by itself"), id="good-end"),
        pytest.param(Ending(1), [], End(1, "it ended by itself"), id="error-of-its-own"),
        pytest.param(Ending(STALLED_EXIT_CODE), [], Restart("it had stalled", SECOND), id="stalled"),
        pytest.param(Ending(-9, hung=True), [], Restart("it hung", SECOND), id="hung"),
        pytest.param(Ending(0, hung=True), [], Restart("it hung", SECOND), id="hung-and-let-itself-be-ended"),
        pytest.param(Ending(-11), [500.0], Restart("it died by signal 11", 2 * SECOND), id="second-time-waits-longer"),
        pytest.param(Ending(-11), [899.0, 950.0], Restart("it died by signal 11", 2 * SECOND), id="long-ago"),
        pytest.param(
            Ending(-11),
            [940.0, 950.0],
            End(139, "it died by signal 11, and was started again 2 times"),
            id="too-often",
        ),
        pytest.param(Ending(-2, asked=True), [], End(130, "it was asked to end"), id="ctrl-c"),
        pytest.param(Ending(0, asked=True), [], End(0, "it was asked to end"), id="ctrl-c-in-good-order"),
        pytest.param(Ending(-9, hung=True, asked=True), [], End(137, "it was asked to end"), id="ctrl-c-and-hung"),
    ],
)
def test_crawl_is_started_again_when_another_process_may_help(
    ending: Ending, earlier: list[float], wanted: Restart | End
) -> None:
    policy = POLICY if 500.0 not in earlier else SupervisionPolicy(window=timedelta(seconds=600))

    assert after(ending, earlier, 1_000.0, policy) == wanted


@given(st.integers(0, 10_000))
def test_pauses_grow_up_to_the_longest(restarts: int) -> None:
    policy = SupervisionPolicy(restarts=10**6)
    answer = after(Ending(STALLED_EXIT_CODE), [0.0] * restarts, 1.0, policy)

    assert isinstance(answer, Restart)
    assert policy.first_pause <= answer.pause <= policy.longest_pause
