"""What a crawl does step by step, with parts that take long and that somebody else may run in a thread."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

Steps = Generator[Callable[[], Any], Any, T]
"""Yields its long parts, and goes on with what each returns.

A part changes nothing that others see, and reads nothing that they may change meanwhile; all else is done between.
"""


def done(steps: Steps[T], part: Callable[[], Any]) -> Callable[[], Callable[[], Any]]:
    """Do a part; return what goes on with its steps, to the next part or, by StopIteration, to the end."""
    try:
        return partial(steps.send, part())
    except Exception as error:  # noqa: BLE001 (where it is raised is decided by the steps)
        return partial(steps.throw, error)


def at_once(steps: Steps[T]) -> T:
    """Do all of it here, and return what comes of it."""
    try:
        part = next(steps)
        while True:
            part = done(steps, part)()
    except StopIteration as ended:
        result: T = ended.value
        return result
