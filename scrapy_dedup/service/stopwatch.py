"""How long each layer took: seconds of this thread's CPU time, for the ledger."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch(dict[str, float]):
    """The seconds, by the names of stats without `dedup/`; each thread has its own, or one waits for the other."""

    @contextmanager
    def on(self, layer: str) -> Iterator[None]:
        """Count what is done meanwhile for a layer."""
        name, began = f"seconds/{layer}", time.thread_time()
        try:
            yield
        finally:
            self[name] = self.get(name, 0.0) + time.thread_time() - began
