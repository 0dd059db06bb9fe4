"""Several processes on one store, forked from one that has imported what they need."""

import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from typing import TypeVar

from sqlalchemy import URL

T = TypeVar("T")

_PRELOADED = [f"tests.store.{name}" for name in ("test_claims", "test_processes", "test_workers", "writing_at_random")]
_barriers: list[Barrier] = []


def at_once(count: int, work: Callable[[str, int], T], url: URL) -> list[T]:
    """Return what each of so many processes makes of a store's URL and its number; the first waits for the last."""
    context = get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    with ProcessPoolExecutor(count, context, _begin, (context.Barrier(count),)) as pool:
        return list(pool.map(partial(_worked, work, url.render_as_string(hide_password=False)), range(count)))


def _begin(barrier: Barrier) -> None:
    warnings.simplefilter("error")
    _barriers.append(barrier)


def _worked(work: Callable[[str, int], T], url: str, number: int) -> T:
    _barriers[0].wait(60)
    return work(url, number)
