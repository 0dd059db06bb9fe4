"""Whether a page brings something that the crawl had not seen, told by its text and its links."""

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from scrapy_dedup.core.pages.fingerprints import fold
from scrapy_dedup.core.urls.fields import is_token

_MOST: Final = 200_000
_MOST_MIXED_STEPS: Final = 20
_JOINED: Final = re.compile(r"[+,|&~]|%2[0bc]|%7c", re.IGNORECASE)
"""What stands between several choices in one step of a path."""

_WORDS: Final = re.compile(r"[^\W\d_]+|\d+")
_NAMES: Final = re.compile(r"(?<!\S)[(\"']?([^\W\d_]{3,40})[).,:;!?\"']{0,3}(?!\S)")
"""Words that stand by themselves: no parts of what a program made up."""
_WITH_DIGIT: Final = re.compile(r"(?<!\S)(?=\D{0,40}+\d)\S++")
_NUMBER: Final = re.compile(r"\d+")
_BETWEEN: Final = re.compile("[/?&=;]")
_MOST_URL_CHARS: Final = 4_000
_OF_A_DATE: Final = 2
"""Numbers in a URL that together may be a date, or two things that are compared."""
_LONG_NUMBER: Final = 6
_MOST_STEPS: Final = 40
_TOGETHER: Final = 3
_MOST_WORDS: Final = 20_000
"""Of one page."""
_FEW: Final = 8
"""New runs of words that a page of dates, filters and headings brings; a sentence of twelve words has ten."""
_FEW_SHARE: Final = 0.05
_MOST_SEEN: Final = 500_000
"""Numbers of 64 bits in each of five sets: some 40 MB each. Beyond that every page brings news."""
_SHORTEST: Final = 3


def choices_of(step: str) -> list[str]:
    """Return what a step of a path is made of, mostly itself alone."""
    return _JOINED.split(step)


class Mixtures(Struct):
    """What a crawl knows of the places in which steps of paths stand."""

    most: int = _MOST
    _places: dict[int, int] = field(default_factory=dict)
    """By section and step, where it was met first; -1 if in several places."""

    def meet(self, url: str) -> None:
        """Note the steps of a URL."""
        for key, at in _mixed_steps(url):
            known = self._places.get(key)
            if known is None and len(self._places) < self.most:
                self._places[key] = at
            elif known is not None and known != at:
                self._places[key] = -1

    def is_mixed(self, url: str) -> bool:
        """Say whether a path is made of known steps, of which some stand elsewhere, too."""
        steps = _mixed_steps(url)
        if len(steps) < 2:
            return False
        found = [(self._places.get(key), at) for key, at in steps]
        return all(known is not None for known, _ in found) and any(known != at for known, at in found)

    def as_parameters(self, url: str) -> str:
        """Return a URL with the same steps as parameters, for all of which one pattern holds."""
        parts = urlsplit(url)
        section = parts.path.split("/", 2)[1]
        return f"{parts.scheme}://{parts.netloc}/{section}?(steps)=mixed" + (f"&{parts.query}" if parts.query else "")


def _mixed_steps(url: str) -> list[tuple[int, int]]:
    """Return steps behind the first as numbers, each with its place; those of several choices stand nowhere."""
    parts = urlsplit(url)
    section, *steps = parts.path.strip("/").split("/")[:_MOST_MIXED_STEPS]
    found = []
    for at, step in enumerate(steps):
        several = choices_of(step)
        for one in several if len(several) > 1 else [step]:
            # Numbers mean something by their place, and come again by chance.
            if one and not one.isdigit():
                text = f"{parts.netloc}/{section}/{one}".encode("utf-8", "surrogatepass")
                found.append((int.from_bytes(blake2b(text, digest_size=8).digest(), "big"), at - len(several) + 1))
    return found


class News(Struct, frozen=True):
    """What of a page was not seen before."""

    runs: int = 0
    """Runs of three words, numbers masked."""
    texts: int = 0
    """Blocks, as they are written."""
    words: int = 0
    """Words that no page had."""
    links: int = 0
    """Links to paths with a step that no path had so far: the steps of others in another order lead to nothing new."""
    listed: int = 0
    """Links that no earlier part of the same listing had."""
    enough_runs: bool = False
    is_same: bool = False
    """The page says just what another one said."""

    def counts(self, *, strictly: bool) -> bool:
        """Say whether it is news.

        Args:
            strictly: the page was found on pages of its own kind, so that numbers, dates and its own address say
                nothing: calendars and filters go on for ever.
        """
        return self.enough_runs or self.words + self.links + self.listed > 0 or (not strictly and self.texts > 0)


class Novelty(Struct):
    """What one crawl has seen."""

    most: int = _MOST_SEEN
    _runs: set[int] = field(default_factory=set)
    _texts: set[int] = field(default_factory=set)
    _links: set[int] = field(default_factory=set)
    _words: set[int] = field(default_factory=set)
    _pages: set[int] = field(default_factory=set)

    @property
    def is_full(self) -> bool:
        """Whether nothing more can be remembered."""
        return max(map(len, (self._runs, self._texts, self._links, self._words, self._pages))) >= self.most

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
        own = _own_words(url)
        folded = [fold(_without_tokens(text)) for text in texts]
        runs = set(islice((run for text in folded for run in _runs_of(text, own)), _MOST_WORDS))
        new_runs = runs - self._runs
        self._runs |= new_runs
        shown = [text for text in _without_dates(folded, own) if len(text) >= _SHORTEST]
        new_texts = _added(self._texts, shown)
        new_words = _added(self._words, islice(_names_in(folded, own), _MOST_WORDS))
        # A year that leads to its own months leads to nothing new.
        _added(self._links, _steps(url.partition("#")[0].partition("?")[0]))
        new_links = sum(_added(self._links, _steps(link)) > 0 for link in links)
        listed = _added(self._links, (f"{listing[0]}\0{link}" for link in listing[1])) if listing[0] else 0
        is_same = not _added(self._pages, ["\0".join(shown)])
        is_enough = len(new_runs) >= max(_FEW, _FEW_SHARE * len(runs))
        return News(len(new_runs), new_texts, new_words, new_links, listed, is_enough, is_same)


def _own_words(url: str) -> frozenset[str]:
    """Return words and numbers of a URL, without what a program made up: that is equal to others by chance."""
    path = url.partition("//")[2].partition("/")[2]
    pieces = _BETWEEN.split(path[:_MOST_URL_CHARS])
    return frozenset(word for piece in pieces if not is_token(piece) for word in _WORDS.findall(piece.lower()))


def _added(seen: set[int], texts: Iterable[str]) -> int:
    """Add what is not there; return how many that were."""
    before = len(seen)
    seen.update(map(_number, texts))
    return len(seen) - before


def _without_tokens(text: str) -> str:
    """Return a text without what a program made up in it; numbers stay, they may be all that tells two things apart."""
    return _WITH_DIGIT.sub(lambda one: "" if is_token(one[0]) and not one[0].isdigit() else one[0], text)


def _without_dates(texts: Sequence[str], own: frozenset[str]) -> list[str]:
    """Return texts without the numbers of the page's own URL, where these may be a date."""
    numbers = {word.lstrip("0") for word in own if word.isdigit()}
    if len(numbers) < _OF_A_DATE and not any(len(number) >= _LONG_NUMBER for number in numbers):
        return list(texts)
    return [_NUMBER.sub(lambda one: "#" if one[0].lstrip("0") in numbers else one[0], text) for text in texts]


def _names_in(texts: Iterable[str], own: frozenset[str]) -> Iterator[str]:
    return (word for text in texts for word in _NAMES.findall(text) if word not in own)


def _steps(link: str) -> Iterator[str]:
    """Yield the steps of a link, each with the host and the section that it stands in."""
    if "?" in link:
        yield link
        return
    start, *steps = link.partition("//")[2].rstrip("/").split("/")[:_MOST_STEPS]
    section = f"{start}/{steps[0]}" if steps else start
    yield section
    for at, step in enumerate(steps[1:]):
        for one in choices_of(step):
            # Words may stand in any place; numbers mean something by theirs.
            yield f"{section}\0{at if one.isdigit() else ''}\0{one}"


def _runs_of(text: str, own: frozenset[str]) -> Iterable[int]:
    words = ["#" if word.isdigit() else word for word in _WORDS.findall(text) if word not in own]
    if 0 < len(words) < _TOGETHER:
        yield _number(" ".join(words))
    for at in range(len(words) - _TOGETHER + 1):
        yield _number(" ".join(words[at : at + _TOGETHER]))


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
