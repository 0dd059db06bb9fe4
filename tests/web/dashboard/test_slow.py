"""Answers that take long never hold a reader up, and are not made more often than they may cost."""

import threading

import pytest

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.web.dashboard.slow import Slow

LONG = 60.0


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


def test_quick_answer_is_made_anew_each_time() -> None:
    made = iter(range(10))
    slow = Slow[str, int](Clock())

    assert [slow.page("a", lambda: next(made), wait_seconds=LONG) for _ in range(3)] == [0, 1, 2]


def test_dear_answer_is_kept_for_twenty_times_its_price() -> None:
    clock, made = Clock(), iter(range(10))

    def dear() -> int:
        clock.at += 2.0
        return next(made)

    slow = Slow[str, int](clock)
    assert slow.page("a", dear, wait_seconds=LONG) == 0
    clock.at += 39.9
    assert slow.page("a", dear, wait_seconds=LONG) == 0
    clock.at += 0.2
    assert slow.page("a", dear, wait_seconds=LONG) == 1


def test_nobody_waits_for_what_is_known_to_be_slow() -> None:
    clock, go, done = Clock(), threading.Event(), threading.Event()

    def slow_one() -> str:
        clock.at += 10
        return "old"

    def slower() -> str:
        go.wait(LONG)
        done.set()
        return "new"

    slow = Slow[str, str](clock)
    assert slow.page("a", slow_one, wait_seconds=LONG) == "old"
    clock.at += 1_000

    assert slow.page("a", slower, wait_seconds=1.0) == "old"
    assert slow.page("a", slower, wait_seconds=1.0) == "old"
    go.set()
    assert done.wait(LONG)


def test_first_answer_that_takes_long_is_none_until_it_is_there() -> None:
    go = threading.Event()

    def slower() -> str:
        go.wait(LONG)
        return "there"

    slow = Slow[str, str](Clock())
    assert slow.page("a", slower, wait_seconds=0.01) is None
    go.set()
    assert slow.page("a", slower, wait_seconds=LONG) == "there"


def test_error_is_told_once_and_the_next_reader_asks_again() -> None:
    answers = iter([DedupError("broken"), None])

    def failing() -> str:
        error = next(answers)
        if error is not None:
            raise error
        return "well"

    slow = Slow[str, str](Clock())
    with pytest.raises(DedupError, match="broken"):
        slow.page("a", failing, wait_seconds=LONG)
    assert slow.page("a", failing, wait_seconds=LONG) == "well"
