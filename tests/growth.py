"""Work that takes time in proportion to what it is given: CPU time, compared within one process."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

# Four times as much takes four times as long; where each part is looked at once for each other one, sixteen times.
_MORE = 4
_MOST = 9
# What else a machine does lengthens one round, not all.
_ROUNDS = 12


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Leave out what all other tests of the process have left: a long call would look through it, a short one not."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def assert_in_proportion(work: Callable[[T], object], make: Callable[[int], T], size: int) -> None:
    """Fail where four times as much of what is made takes more than nine times as long.

    Args:
        work: is called some times.
        make: what it is given, by size.
        size: the larger one.
    """
    small, large = make(size // _MORE), make(size)
    short = long = float("inf")
    with without_garbage_collection():
        for _ in range(_ROUNDS):
            short = min(short, *(cpu_seconds(lambda: work(small)) for _ in range(2)))
            long = min(long, cpu_seconds(lambda: work(large)))
            if long < _MOST * short:
                return
    raise AssertionError(f"{_MORE} times as much takes {long / short:.1f} times as long: {long:.3f} s")
