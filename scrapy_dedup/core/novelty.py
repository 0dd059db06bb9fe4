"""Whether a page brings something that the crawl had not seen, told by its text and its links."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import Final

from scrapy_dedup.core.fingerprints import fold

_WORDS: Final = re.compile(r"[^\W\d_]+|\d+")
_TOGETHER: Final = 3
_MOST_WORDS: Final = 20_000
"""Of one page."""
_FEW: Final = 8
"""New runs of words that a page of dates, filters and headings brings; a sentence of twelve words has ten."""
_FEW_SHARE: Final = 0.05
_MOST_SEEN: Final = 500_000
"""Numbers of 64 bits in each of three sets: some 40 MB each. Beyond that every page brings news."""
_SHORTEST: Final = 3


@dataclass(frozen=True, slots=True)
class News:
    """What of a page was not seen before."""

    runs: int = 0
    """Runs of three words, numbers masked."""
    texts: int = 0
    """Blocks, as they are written."""
    links: int = 0
    """Links to paths that nothing led to so far."""
    listed: int = 0
    """Links that no earlier part of the same listing had."""
    enough_runs: bool = False

    def counts(self, *, strictly: bool) -> bool:
        """Say whether it is news.

        Args:
            strictly: the page was found on pages of its own kind, so that numbers, dates and its own address say
                nothing: calendars and filters go on for ever.
        """
        return self.enough_runs or self.links > 0 or self.listed > 0 or (not strictly and self.texts > 0)


@dataclass(slots=True)
class Novelty:
    """What one crawl has seen."""

    most: int = _MOST_SEEN
    _runs: set[int] = field(default_factory=set)
    _texts: set[int] = field(default_factory=set)
    _links: set[int] = field(default_factory=set)

    @property
    def is_full(self) -> bool:
        """Whether nothing more can be remembered."""
        return max(len(self._runs), len(self._texts), len(self._links)) >= self.most

    def meet(self, texts: Sequence[str], url: str, links: Iterable[str], listing: tuple[str, Iterable[str]]) -> News:
        """Return what is new of a page, and remember it.

        Args:
            texts: of its blocks.
            url: its own; words of it say nothing.
            links: paths (with hosts) of pages that it leads to and that may be worth something.
            listing: where it is a part of one, the listing and what it links to; else an empty name.
        """
        if self.is_full:
            return News(enough_runs=True)
        own = frozenset(_WORDS.findall(url.lower()))
        folded = [fold(text) for text in texts]
        runs = set(islice((run for text in folded for run in _runs_of(text, own)), _MOST_WORDS))
        new_runs = runs - self._runs
        self._runs |= new_runs
        new_texts = {_number(text) for text in folded if len(text) >= _SHORTEST} - self._texts
        self._texts |= new_texts
        new_links = self._new_links("", links)
        listed = self._new_links(*listing) if listing[0] else 0
        is_enough = len(new_runs) >= max(_FEW, _FEW_SHARE * len(runs))
        return News(len(new_runs), len(new_texts), new_links, listed, is_enough)

    def _new_links(self, listing: str, links: Iterable[str]) -> int:
        found = {_number(f"{listing}\0{link}") for link in links} - self._links
        self._links |= found
        return len(found)


def _runs_of(text: str, own: frozenset[str]) -> Iterable[int]:
    words = ["#" if word.isdigit() else word for word in _WORDS.findall(text) if word not in own]
    if 0 < len(words) < _TOGETHER:
        yield _number(" ".join(words))
    for at in range(len(words) - _TOGETHER + 1):
        yield _number(" ".join(words[at : at + _TOGETHER]))


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
