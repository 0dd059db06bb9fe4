"""What a run comes to: what its workers counted as one, the sums over a domain, and what of it alarms.

Of the pages that it did not find those count as missed of which it read the page that led to them.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self

from msgspec import Struct, ValidationError, convert, field

STAT: Final = "dedup/drop_alarms"
"""Under which a run has its alarms, as plain values."""
LEAST_PAGES: Final = 20
SHARE: Final = 0.1
_MOST_PAIRS: Final = 3
# A run of a million domains keeps those of which most was left out.
_MOST_ALARMS: Final = 100


class DropAlarm(Struct, frozen=True):
    """That a layer left out a tenth of a domain's pages, or more.

    Attributes:
        dropped: pages, each once.
        pages: that came of the domain.
        pairs: URLs of the first that were left out, each with the page that stands for it.
    """

    domain: str
    layer: str
    dropped: int
    pages: int
    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of_run(cls, stats: Mapping[str, Any]) -> tuple[Self, ...]:
        """Return the alarms of a run; what its stats have there that is none is left out."""
        found, told = [], stats.get(STAT)
        for one in told if isinstance(told, list) else ():
            with suppress(ValidationError):
                found.append(convert(one, cls))
        return tuple(found)


class DropWatch(Struct):
    """How many pages of each domain a layer leaves out, and the first of them."""

    _pages: dict[tuple[str, str], int] = field(default_factory=dict)
    _pairs: dict[tuple[str, str], list[tuple[str, bytes]]] = field(default_factory=dict)

    def note(self, domain: str, layer: str, url: str, keeper: bytes) -> None:
        """Count a page, once for all of its items."""
        which = (domain, layer)
        self._pages[which] = self._pages.get(which, 0) + 1
        pairs = self._pairs.setdefault(which, [])
        if len(pairs) < _MOST_PAIRS:
            pairs.append((url, keeper))

    def domains(self) -> set[str]:
        """Return the domains of which something was left out."""
        return {domain for domain, _ in self._pages}

    def alarms(self, pages_of: Mapping[str, int], url_of: Callable[[bytes], str]) -> list[DropAlarm]:
        """Return what to tell, most pages first, given how many pages of a domain came and a page's URL by its key."""
        found: list[DropAlarm] = []
        for (domain, layer), dropped in sorted(self._pages.items(), key=lambda one: (-one[1], one[0])):
            pages = max(pages_of.get(domain, 0), dropped)
            if pages >= LEAST_PAGES and dropped >= SHARE * pages and len(found) < _MOST_ALARMS:
                pairs = tuple((url, url_of(keeper)) for url, keeper in self._pairs[domain, layer])
                found.append(DropAlarm(domain, layer, dropped, pages, pairs))
        return found


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


class Lead(StrEnum):
    """What a run knows of a page that led to others when these were last seen."""

    READ = "read"  # its callback came to its end: what it links to today was found
    GONE = "gone"  # it answers so, or was removed by an earlier run
    UNREAD = "unread"  # it failed, its callback did, it redirects, or nobody came by
    UNKNOWN = "unknown"


class Unfound(Struct, frozen=True):
    """A page that a run did not find."""

    parent: bytes | None = None
    """Key of the page that led to it when it was last seen; None: none did, or it is not known."""
    was_asked: bool = False
    """It answered: that it is gone, or elsewhere."""
    is_gone: bool = False
    """It answered so when it was asked last."""


def missed(unfound: Mapping[bytes, Unfound], leads: Mapping[bytes, Lead]) -> set[bytes]:
    """Return which pages count as missed, by key.

    A page that was asked for speaks for itself. Of the others somebody needs to know that nothing leads to them any
    more: the page that did was read, or is gone, or is missed itself without having been asked for, as all below a
    section that a site gave up.

    Args:
        unfound: by key.
        leads: of those that led to them and are not among them; one that is left out is unknown.
    """
    judged: dict[bytes, bool] = {}
    for key in unfound:
        way = []
        at: bytes | None = key
        counts = True
        while at is not None:
            if at in judged:
                counts = judged[at]
                break
            way.append(at)
            # Where two pages lead to each other, nothing is known.
            judged[at] = True
            counts, at = _step(unfound[at], unfound, leads)
        judged.update(dict.fromkeys(way, counts))
    return {key for key, counts in judged.items() if counts}


def _step(page: Unfound, unfound: Mapping[bytes, Unfound], leads: Mapping[bytes, Lead]) -> tuple[bool, bytes | None]:
    """Return whether a page is missed, or, in the second place, by which other page that is decided."""
    if page.was_asked or page.is_gone or page.parent is None:
        return True, None
    parent = unfound.get(page.parent)
    if parent is None:
        return leads.get(page.parent, Lead.UNKNOWN) is not Lead.UNREAD, None
    if parent.is_gone or parent.was_asked:
        return parent.is_gone, None
    return True, page.parent
