"""What a crawl does step by step, with parts that take long and that somebody else may run in a thread."""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")

Steps = Generator[Callable[[], Any], Any, T]
"""Yields its long parts, and goes on with what each returns.

A part changes nothing that others see, and reads nothing that they may change meanwhile; all else is done between.
"""


def at_once(steps: Steps[T]) -> T:
    """Do all of it here, and return what comes of it."""
    try:
        part = next(steps)
        while True:
            try:
                found = part()
            except Exception as error:  # noqa: BLE001 (where it is raised is decided by the steps)
                part = steps.throw(error)
            else:
                part = steps.send(found)
    except StopIteration as ended:
        result: T = ended.value
        return result
