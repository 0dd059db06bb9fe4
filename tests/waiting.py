import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_SECONDS = 30


def wait_for(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    """Return once something is so; fail after some time."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Say whether a process is there that is no zombie: one that nobody has waited for stays as a name."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
