"""How the time of a function grows with its input: a ratio of CPU times, so that a slow machine changes nothing."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

LINEAR = 10
"""Of a growth: 4 is in proportion to the length, 16 to its square."""
_LEAST_SECONDS = 0.02
"""Shorter times say nothing: what the interpreter does beside them weighs as much."""


Given = TypeVar("Given", str, bytes, list[Any])


def growth(work: Callable[[Given], object], given: Given) -> float:
    """Return how many times longer all of what is given takes than its first quarter."""
    part = given[: len(given) // 4]
    work(part)  # what is loaded by the first call counts for neither
    least = max(_LEAST_SECONDS, cpu_seconds(work, part))
    grown = cpu_seconds(work, given) / least
    # Once more, for a machine that had other work at that moment.
    return grown if grown < LINEAR else min(grown, cpu_seconds(work, given) / least)


def cpu_seconds(work: Callable[[Given], object], given: Given) -> float:
    """Return the CPU time of one call."""
    began = time.process_time()
    work(given)
    return time.process_time() - began
