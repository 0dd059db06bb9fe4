"""Work done by several processes, its results in the order in which it was given."""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Final, Self, TypeVar

from scrapy_dedup.core.errors import DedupError

Given = TypeVar("Given")
Result = TypeVar("Result")

_MOST_BYTES_IN_FLIGHT: Final = 16_000_000
_LOTS_A_WORKER: Final = 3


class WorkerError(DedupError):
    """A process died."""


class Workers:
    """So many processes; one: this process itself."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool = (
            # Forked children would share our files and threads.
            ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin) if jobs > 1 else None
        )

    def in_order(self, task: Callable[[Given], Result], lots: Iterable[tuple[int, Given]]) -> Iterator[Result]:
        """Yield what a task gives for each lot, in the order of the lots.

        Args:
            task: a function that other processes can import.
            lots: each with its size in bytes; they are drawn as they are worked on, so that 16 MB of them are in
                flight at most, or one that is larger.

        Raises:
            WorkerError: a process was ended by the system.
        """
        if self._pool is None:
            for _, lot in lots:
                yield task(lot)
            return
        waiting: deque[tuple[int, Future[Result]]] = deque()
        in_flight = 0
        try:
            for size, lot in lots:
                while waiting and (
                    in_flight + size > _MOST_BYTES_IN_FLIGHT or len(waiting) >= _LOTS_A_WORKER * self._jobs
                ):
                    done, future = waiting.popleft()
                    in_flight -= done
                    yield future.result()
                waiting.append((size, self._pool.submit(task, lot)))
                in_flight += size
            while waiting:
                yield waiting.popleft()[1].result()
        except BrokenProcessPool as error:
            raise WorkerError(
                "a worker process was ended by the system, as a rule for want of memory: use fewer --jobs"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    """Prepare a worker: interrupts are for the parent, and it must not outlive that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    # No cleaning up: whoever would read what we are writing is gone.
    os._exit(1)
