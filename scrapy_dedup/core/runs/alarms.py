"""Layers that left out so much of a domain in one run that somebody should look."""

from collections.abc import Callable, Mapping
from contextlib import suppress
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
        """Return what to tell, most pages first.

        Args:
            pages_of: how many pages of a domain came.
            url_of: the URL of a page, by its key.
        """
        found: list[DropAlarm] = []
        for (domain, layer), dropped in sorted(self._pages.items(), key=lambda one: (-one[1], one[0])):
            pages = max(pages_of.get(domain, 0), dropped)
            if pages >= LEAST_PAGES and dropped >= SHARE * pages and len(found) < _MOST_ALARMS:
                pairs = tuple((url, url_of(keeper)) for url, keeper in self._pairs[domain, layer])
                found.append(DropAlarm(domain, layer, dropped, pages, pairs))
        return found
