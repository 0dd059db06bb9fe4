"""What several workers of one run counted, as one; and the sums over a domain."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from scrapy_dedup.core.runs.alarms import STAT

ELAPSED: Final = "elapsed_time_seconds"

# Words of Scrapy's names for figures that two workers do not have twice: `memusage/max`, `request_depth_max`.
_LARGEST: Final = frozenset({"max", "startup", "limit"})
_SMALLEST: Final = frozenset({"min"})


class WorkerPart(Struct, frozen=True):
    """What one worker counted, from an instant on."""

    started_at: datetime
    stats: Mapping[str, Any]


def total(parts: Sequence[WorkerPart]) -> dict[str, Any]:
    """Return the stats of a run, in the order of their names.

    Counts and sums of seconds are added, and alarms joined; of maxima and minima there is one; a text or a switch stays
    where all workers that have it say the same, and all else is left out. The time that the run took is that in which
    any worker was at work, by their own clocks.
    """
    found: dict[str, list[Any]] = {}
    for part in parts:
        for name, value in part.stats.items():
            if isinstance(value, int | float | str) or name == STAT:
                found.setdefault(name, []).append(value)
    together = {name: _together(name, values) for name, values in sorted(found.items())}
    if ELAPSED in together:
        together[ELAPSED] = seconds_covered(parts)
    return {name: value for name, value in together.items() if value is not None}


def _together(name: str, values: Sequence[Any]) -> Any:
    """Return one value for all; None where there is none."""
    if name == STAT:
        return [one for value in values if isinstance(value, list) for one in value]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return values[0] if all(value == values[0] for value in values) else None
    words = set(name.replace("/", "_").split("_"))
    if words & _LARGEST:
        return max(values)
    return min(values) if words & _SMALLEST else sum(values)


def seconds_covered(parts: Sequence[WorkerPart]) -> float:
    """Return in how many seconds at least one worker was at work, by the instants at which they began."""
    covered, reached = 0.0, float("-inf")
    spans = ((part.started_at.timestamp(), part.stats.get(ELAPSED, 0.0)) for part in parts)
    for start, seconds in sorted((start, value) for start, value in spans if isinstance(value, int | float)):
        end = start + max(seconds, 0.0)
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


class LedgerDomain(Struct, frozen=True):
    """One domain, as it is stored now.

    Attributes:
        pages: that went out.
        aliases: other addresses of pages, and pages that another one stands for.
        chars_in: characters of visible text of the pages that went out.
        chars_out: of their clean text.
        chunks_in: of their clean texts.
        chunks_out: those that went out.
    """

    domain: str
    pages: int = 0
    aliases: int = 0
    chars_in: int = 0
    chars_out: int = 0
    chunks_in: int = 0
    chunks_out: int = 0
