import time
from collections.abc import Callable

PATIENCE_SECONDS = 30


def wait_for(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    """Return once something is so; fail after some time."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
