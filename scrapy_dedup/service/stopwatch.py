"""How long each layer took: seconds of this thread's CPU time, for the ledger."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class Stopwatch:
    """Adds up; each thread has its own, or one waits for the other."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def on(self, layer: str) -> Iterator[None]:
        """Count what is done meanwhile for a layer."""
        began = time.thread_time()
        try:
            yield
        finally:
            self._seconds[layer] += time.thread_time() - began

    def counts(self) -> Mapping[str, float]:
        """Return the seconds, by the names of stats without `dedup/`."""
        return {f"seconds/{layer}": seconds for layer, seconds in self._seconds.items()}
