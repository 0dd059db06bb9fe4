"""What a supervisor does when its crawl has ended: start it again, or end with it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct

STALLED_EXIT_CODE: Final = 75
"""A crawl ends so when it has stalled and another process may get on (EX_TEMPFAIL of sysexits.h)."""
_SIGNAL_EXIT_CODE: Final = 128


class SupervisionPolicy(Struct, frozen=True):
    """How often, and after what pauses."""

    restarts: int = 5
    window: timedelta = timedelta(hours=1)
    """Restarts that are longer ago do not count."""
    first_pause: timedelta = timedelta(seconds=1)
    """Doubled with each restart."""
    longest_pause: timedelta = timedelta(minutes=1)


class RunEnding(Struct, frozen=True):
    """How one run ended."""

    exit_code: int
    """Below 0: it died by the signal of that number."""
    hung: bool = False
    """It was ended because it had ceased to show that it lives."""
    asked: bool = False
    """Somebody asked the supervisor to end."""


class Restart(Struct, frozen=True):
    """Start it again."""

    cause: str
    pause: timedelta


class End(Struct, frozen=True):
    """End with the last run's exit code."""

    exit_code: int
    reason: str


def after(ending: RunEnding, earlier: Sequence[float], now: float, policy: SupervisionPolicy) -> Restart | End:
    """Return what becomes of a crawl whose run has ended.

    Args:
        ending: of the last run.
        earlier: when it was started again, in seconds of the clock that *now* is of.
        now: that clock.
        policy: how often.
    """
    code = ending.exit_code if ending.exit_code >= 0 else _SIGNAL_EXIT_CODE - ending.exit_code
    if ending.asked:
        return End(code, "it was asked to end")
    cause = _cause(ending)
    if cause is None:
        return End(code, "it ended by itself")
    recent = sum(now - at < policy.window.total_seconds() for at in earlier)
    if recent >= policy.restarts:
        return End(code, f"{cause}, and was started again {recent} times")
    pause = min(policy.first_pause * 2 ** min(recent, 30), policy.longest_pause)
    return Restart(cause, pause)


def _cause(ending: RunEnding) -> str | None:
    if ending.hung:
        return "it hung"
    if ending.exit_code == STALLED_EXIT_CODE:
        return "it had stalled"
    return f"it died by signal {-ending.exit_code}" if ending.exit_code < 0 else None
