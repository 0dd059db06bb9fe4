"""Traps: kinds of URLs of which page after page brings only what is known, told by a page's text and its links.

A crawl explores a site by them: what of it was new, what leads nowhere, which parameters mean nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from hashlib import blake2b
from itertools import islice
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct, field

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.fingerprints import fold
from scrapy_dedup.core.resilience.parameters import Decided, ParameterTrials
from scrapy_dedup.core.urls.normal_form import (
    UrlRules,
    base_of,
    is_token,
    names_in,
    normalize_url,
    pages_linked,
    values_in,
    without,
)
from scrapy_dedup.core.urls.pagination import UrlShape, is_clear_part_name, is_part_name, listing_part, shape_of
from scrapy_dedup.core.urls.seen import Latest

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
        # Numbers mean something by their place, and come again by chance.
        named = [one for one in several if one and not one.isdigit()]
        found += [(_number(f"{parts.netloc}/{section}/{one}"), at - len(several) + 1) for one in named]
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

        *strictly*, where the page was found on pages of its own kind, numbers, dates and its own address say nothing:
        calendars and filters go on for ever.
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

        Words of its own *url* say nothing. *links* are paths (with hosts) of pages that it leads to and that may be
        worth something; *listing*, where it is a part of one, that and what it links to, else an empty name.
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


_MOST_PATTERNS: Final = 20_000
_MOST_SETS: Final = 64
"""Of parameters of one path that are told apart."""
_TESTED: Final = 2
"""Pages after which a parameter without news counts as one that brings none."""
_PROVEN_SHARE: Final = 0.25
"""Of pages with news; beyond it a pattern is asked three times as long before it is given up."""
_PATIENCE: Final = 3
_MOST_NEWS_WEIGHED: Final = 4
_FIRST_RECHECK: Final = 64
_RECHECK_GROWTH: Final = 8
"""After so many dropped requests one is let through, and after so many times as many the next: a wrong decision is
found out, and a right one costs few pages."""
_LET_THROUGH: Final = 10
"""One in so many passes where traps are to be slowed only."""


class TrapKind(StrEnum):
    """By what a pattern holds URLs together."""

    EXACT = "exact"  # one shape of path and one set of parameters
    NAME = "name"  # one shape of path and one parameter, whatever the others
    ANY = "any"  # one shape of path with any parameters
    HOST = "host"  # one parameter, whatever the path
    PREFIX = "prefix"  # all that stands in one folder


class TrapReason(StrEnum):
    """What kind of trap it is."""

    REPEATS = "repeated steps in the path"
    PARAMETERS = "combinations of parameters"
    ENDLESS = "pages without news"


def levels(shape: UrlShape) -> Iterator[tuple[TrapKind, str]]:
    """Yield the patterns that a URL belongs to, the narrowest first."""
    yield TrapKind.EXACT, exact(shape)
    for name in shape.names:
        yield TrapKind.NAME, name_pattern(shape, name)
    if shape.names:
        yield TrapKind.ANY, any_of(shape)
    for name in shape.names:
        if not name.startswith("/") and not is_part_name(name):
            yield TrapKind.HOST, f"{shape.host}/**?*{name}*"
    for prefix in reversed(shape.prefixes):
        yield TrapKind.PREFIX, f"{shape.host}{prefix}**"


def exact(shape: UrlShape) -> str:
    """Return the pattern of one shape of path and one set of parameters."""
    return f"{shape.host}{shape.path}?{'&'.join(shape.names)}" if shape.names else shape.host + shape.path


def any_of(shape: UrlShape) -> str:
    """Return the pattern of one shape of path with any parameters."""
    return f"{shape.host}{shape.path}?*"


def name_pattern(shape: UrlShape, name: str) -> str:
    """Return the pattern of one shape of path and one parameter."""
    return f"{shape.host}{shape.path}?*{name}*"


def reason_of(kind: TrapKind, shape: UrlShape) -> TrapReason:
    """Return what kind of trap a pattern of a URL would be."""
    if shape.repeats:
        return TrapReason.REPEATS
    return TrapReason.PARAMETERS if kind in (TrapKind.NAME, TrapKind.ANY, TrapKind.HOST) else TrapReason.ENDLESS


class Trap(Struct, frozen=True):
    """A pattern whose URLs are not worth asking for."""

    pattern: str
    reason: TrapReason
    pages: int
    news: int
    in_a_row: int

    @property
    def evidence(self) -> str:
        """The counts in words."""
        return f"{self.in_a_row} pages in a row brought only known content; {self.news} of {self.pages} brought news"


class TrapPolicy(Struct, frozen=True):
    """When a pattern is a trap, and what becomes of its requests."""

    pages: int = 8
    action: Literal["off", "slow", "stop"] = "stop"


class TrapAnswer(Struct, frozen=True):
    """What is to become of a request."""

    trap: Trap | None = None
    """It is dropped."""
    waits: str = ""
    """It waits until a page of this pattern has come."""
    is_late: bool = False
    """Others go first."""


PASS: Final = TrapAnswer()
_WIDE: Final = (TrapKind.HOST, TrapKind.PREFIX)


class _Counts(Struct):
    pages: int = 0
    news: int = 0
    in_a_row: int = 0
    """Without news."""
    same_in_a_row: int = 0
    """That said just what another page said."""
    under_way: int = 0
    trap: Trap | None = None
    asked: int = 0
    """Requests since it is a trap."""
    recheck_at: int = _FIRST_RECHECK
    sets: dict[tuple[str, ...], "_Counts"] = field(default_factory=dict)
    """Of a path with any parameters: by set of parameters, the counts of these alone."""

    @property
    def is_barren(self) -> bool:
        """Whether it was tried more than once, and mostly in vain."""
        return self.in_a_row >= _TESTED and self.news <= _PROVEN_SHARE * self.pages


class Traps(Struct):
    """The patterns of one crawl; those that were met longest ago are forgotten when there are too many."""

    policy: TrapPolicy = field(default_factory=TrapPolicy)
    _patterns: Latest[str, _Counts] = field(default_factory=lambda: Latest(_MOST_PATTERNS))

    def ask(self, url: str, *, is_elsewhere: bool = False) -> TrapAnswer:
        """Return what is to become of a request before it is sent; who sends it says `sent`, and then `came`.

        Where pages of another kind lead there, too, it is given up only when many of those were in vain.
        """
        shape = shape_of(url)
        if self.policy.action == "off" or shape is None:
            return PASS
        waits, is_late = "", False
        blameless = self._blameless(shape)
        for kind, pattern in levels(shape):
            counts = self._patterns.get(pattern)
            if counts is None or pattern in blameless:
                continue
            if counts.trap is not None and self._holds(kind, shape):
                if is_elsewhere and self._is_early(kind, counts, shape):
                    is_late = True
                else:
                    return PASS if self._is_let_through(counts) else TrapAnswer(trap=counts.trap)
            is_late = is_late or counts.in_a_row >= _TESTED
            if not waits and self._is_full(kind, counts, shape):
                waits = pattern
        return TrapAnswer(waits=waits, is_late=is_late)

    def _is_early(self, kind: TrapKind, counts: _Counts, shape: UrlShape) -> bool:
        """Say whether more evidence is needed, as pages of another kind lead there, too."""
        needed = self._needed(kind, counts, shape)
        return counts.same_in_a_row < needed and counts.in_a_row < _PATIENCE * needed

    def _is_let_through(self, counts: _Counts) -> bool:
        counts.asked += 1
        if self.policy.action == "slow":
            return counts.asked % _LET_THROUGH == 0
        if counts.asked < counts.recheck_at:
            return False
        counts.recheck_at *= _RECHECK_GROWTH
        return True

    def sent(self, url: str) -> None:
        """Note that a page is asked for."""
        self._add_under_way(url, 1)

    def came(self, url: str) -> None:
        """Note that a request has ended, whatever it brought."""
        self._add_under_way(url, -1)

    def note(self, url: str, *, news: bool, same: bool = False) -> list[Trap]:
        """Note whether a page brought news, or said just what another one did; return the traps that this shows."""
        shape = shape_of(url)
        if shape is None or self.policy.action == "off":
            return []
        found = []
        self._note_set(shape)
        blameless = self._blameless(shape)
        for kind, pattern in levels(shape):
            counts = self._counts(pattern)
            if not news and pattern in blameless:
                continue
            counts.pages += 1
            counts.news += news
            counts.in_a_row = 0 if news else counts.in_a_row + 1
            counts.same_in_a_row = counts.same_in_a_row + 1 if same and not news else 0
            if news:
                counts.trap = None
            elif counts.trap is None and counts.in_a_row >= self._needed(kind, counts, shape):
                counts.trap = Trap(pattern, reason_of(kind, shape), counts.pages, counts.news, counts.in_a_row)
                counts.asked = 0
                found.append(counts.trap)
        return found

    def is_barren(self, url: str) -> bool:
        """Say whether pages like this one have brought nothing lately, so that a link to it is no news."""
        shape = shape_of(url)
        if shape is None:
            return True
        for kind, pattern in levels(shape):
            counts = self._patterns.get(pattern)
            if counts is None or kind in (TrapKind.NAME, TrapKind.ANY, TrapKind.HOST):
                continue
            if counts.trap is not None or (counts.in_a_row > _TESTED and (counts.news == 0 or kind is TrapKind.PREFIX)):
                return True
        return False

    def is_good(self, url: str) -> bool:
        """Say whether pages with the same parameters have brought news lately."""
        shape = shape_of(url)
        counts = self._patterns.get(exact(shape)) if shape is not None and shape.names else None
        return counts is not None and counts.news >= _TESTED and not counts.in_a_row

    def known(self) -> list[Trap]:
        """Return the traps, in the order of their patterns."""
        return [counts.trap for _, counts in sorted(self._patterns.items()) if counts.trap is not None]

    def recall(self, pattern: str, in_a_row: int) -> None:
        """Take over a trap that an earlier part of the crawl found."""
        counts = self._counts(pattern)
        counts.pages = counts.in_a_row = in_a_row
        counts.trap = Trap(pattern, TrapReason.ENDLESS, in_a_row, 0, in_a_row)

    def _holds(self, kind: TrapKind, shape: UrlShape) -> bool:
        """Say whether a trap of a wide pattern holds a URL: not if pages of its own kind brought news."""
        if kind is TrapKind.ANY:
            own, sets = self._patterns.get(exact(shape)), self._patterns[any_of(shape)].sets
            is_combined = any(set(names) < set(shape.names) for names in sets)
            if own is not None and own.news >= _TESTED and own.trap is None and not is_combined:
                return False
            names = [self._patterns.get(name_pattern(shape, name)) for name in shape.names if not is_part_name(name)]
            return any(one is not None and one.is_barren for one in names)
        own = self._patterns.get(exact(shape))
        return kind in (TrapKind.EXACT, TrapKind.NAME) or own is None or not own.news or own.trap is not None

    def _note_set(self, shape: UrlShape) -> None:
        if shape.names:
            sets = self._counts(any_of(shape)).sets
            if shape.names in sets or len(sets) < _MOST_SETS:
                sets[shape.names] = self._counts(exact(shape))

    def _blameless(self, shape: UrlShape) -> frozenset[str]:
        """Return the patterns of parameters that are not to blame where a page brings nothing.

        Pages with these alone bring news, so that it is the others that bring nothing.
        """
        counts = self._patterns.get(any_of(shape))
        if counts is None or len(shape.names) < _TESTED:
            return frozenset()
        good = [names for names, one in counts.sets.items() if one.news and not one.is_barren and one.trap is None]
        found = {name for names in good for name in names}
        return frozenset(name_pattern(shape, name) for name in shape.names if name in found)

    def _is_full(self, kind: TrapKind, counts: _Counts, shape: UrlShape) -> bool:
        """Say whether so many pages are under way that the next could be one too many."""
        if counts.news and (counts.in_a_row < _TESTED or kind in _WIDE):
            return False
        left = self._needed(kind, counts, shape) - counts.in_a_row
        return counts.under_way >= max(1, min(left, self.policy.pages))

    def _needed(self, kind: TrapKind, counts: _Counts, shape: UrlShape) -> int:
        """Return after how many pages in a row without news a pattern is a trap."""
        needed = self.policy.pages
        if kind in _WIDE:
            return needed * (1 + min(counts.news, _MOST_NEWS_WEIGHED))
        if shape.repeats:
            return max(_TESTED + 1, needed // 2)
        if kind is TrapKind.EXACT and counts.same_in_a_row >= needed and any(map(is_clear_part_name, shape.names)):
            # Whatever was there before: these are the parts behind the last.
            return needed
        if kind is not TrapKind.ANY and counts.news > _PROVEN_SHARE * counts.pages:
            return needed * _PATIENCE
        # The first page is always new; months with nothing on may stand between two others.
        return needed * (_PATIENCE if counts.news > 1 and kind is not TrapKind.ANY else 1)

    def _add_under_way(self, url: str, number: int) -> None:
        shape = shape_of(url)
        if shape is not None and self.policy.action != "off":
            for _, pattern in levels(shape):
                counts = self._counts(pattern)
                counts.under_way = max(0, counts.under_way + number)

    def _counts(self, pattern: str) -> _Counts:
        if not self._patterns.meet(pattern):
            self._patterns[pattern] = _Counts()
        return self._patterns[pattern]


_ANCESTORS: Final = 2
_MOST_LINKS: Final = 2_000
_MOST_ELSEWHERE: Final = 500_000
_MOST_CHARS: Final = 200_000
_MOST_LINES: Final = 2_000
_DEEP: Final = 3
"""Steps of a path beyond which links further down are no news by themselves."""


class Lineage(NamedTuple):
    """How a request was found."""

    is_own_kind: bool = False
    """On pages of its own kind: a month of a calendar on another one."""
    hops: int = 0
    """How many pages without news, one behind the other, led to it."""
    kinds: tuple[str, ...] = ()
    """Of the pages that led to it, the last first."""

    def to_json(self) -> list[Any]:
        """Return it in a form that every queue keeps."""
        return [int(self.is_own_kind), self.hops, *self.kinds]

    @classmethod
    def from_json(cls, written: object) -> "Lineage":
        """Return what `to_json` wrote; nothing is known of anything else."""
        match written:
            case [int(own), int(hops), *kinds]:
                return cls(bool(own), hops, tuple(kind for kind in kinds if isinstance(kind, str))[:_ANCESTORS])
        return cls()


def descend(parent_url: str, parent: Lineage, url: str) -> Lineage:
    """Return how a link on a page was found."""
    shape, from_shape = shape_of(url), shape_of(parent_url)
    if shape is None or from_shape is None:
        return Lineage()
    kinds = (f"{from_shape.host}{from_shape.path}?{'&'.join(from_shape.names)}", *parent.kinds)[:_ANCESTORS]
    is_own = shape.repeats or any(_is_same_kind(shape, kind) for kind in kinds)
    # The days of a month that was found on another month; but what a listing lists is of another kind.
    inherits = (
        parent.is_own_kind
        and (shape.host, shape.section) == (from_shape.host, from_shape.section)
        and listing_part(parent_url) is None
    )
    return Lineage(is_own or inherits, kinds=kinds)


def _is_same_kind(shape: UrlShape, kind: str) -> bool:
    place, _, names = kind.partition("?")
    others = set(names.split("&")) - {""}
    own = set(shape.names)
    return place == shape.host + shape.path and (own <= others or others <= own)


class ExploredPage(NamedTuple):
    """What a page came to."""

    is_news: bool
    traps: tuple[Trap, ...] = ()
    decided: tuple[Decided, ...] = ()
    is_same: bool = False
    """It says just what another one said."""


class Explorer(Struct):
    """The state of one crawl."""

    traps: Traps
    rules: UrlRules
    parameters: ParameterTrials | None = None
    novelty: Novelty = field(default_factory=Novelty)
    mixtures: Mixtures = field(default_factory=Mixtures)
    _elsewhere: set[int] = field(default_factory=set)
    _met: set[int] = field(default_factory=set)
    """Pages that were judged."""

    def key(self, url: str) -> int:
        """Return the number that stands for a page here."""
        return _number(normalize_url(url, self.rules))

    def is_elsewhere(self, url: str) -> bool:
        """Say whether pages of another kind lead to a page."""
        return self._loose_key(url) in self._elsewhere

    def pattern_url(self, url: str) -> str:
        """Return the URL by whose pattern a page is judged: steps of a path in any order are like parameters."""
        plain = self.plain(url)
        shape = shape_of(plain)
        is_mixed = shape is not None and not shape.repeats and self.mixtures.is_mixed(plain)
        return self.mixtures.as_parameters(plain) if is_mixed else plain

    def _loose_key(self, url: str) -> int:
        """Return the same for all values that a program made up: what they mean may not be known yet."""
        return self.key(without(url, [name for name in names_in(url) if all(map(is_token, values_in(url, (name,))))]))

    def plain(self, url: str) -> str:
        """Return a URL without what is known to mean nothing."""
        return url if self.rules.ignored is None else self.rules.ignored.without(url)

    def descend(self, parent_url: str, parent: Lineage, url: str, *, from_news: bool) -> Lineage:
        """Return how a link on a page was found, and note that something leads there."""
        plain = self.plain(url)
        lineage = descend(self.plain(parent_url), parent, plain)
        lineage = lineage._replace(hops=0 if from_news else parent.hops + 1)
        self.mixtures.meet(plain)
        if self.mixtures.is_mixed(plain):
            lineage = lineage._replace(is_own_kind=True)
        if not lineage.is_own_kind and len(self._elsewhere) < _MOST_ELSEWHERE:
            self._elsewhere.add(self._loose_key(url))
        return lineage

    def ask(self, url: str) -> TrapAnswer:
        """Return what is to become of a request."""
        return self.traps.ask(self.pattern_url(url), is_elsewhere=self.is_elsewhere(url))

    def saw(self, url: str, base_url: str, page: Page | None, lineage: Lineage) -> ExploredPage:
        """Judge a page that came; None stands for an error page or none at all.

        *url* was asked for, *base_url* answered; *lineage* is how it was found.
        """
        asked, url = url, self.plain(url)
        if page is None:
            return ExploredPage(False, tuple(self.traps.note(self.pattern_url(url), news=False)))
        texts = [block.text for block in page.blocks]
        targets = list(islice(pages_linked(page.links, base_of(base_url, page.base) or base_url), _MOST_LINKS))
        links = self._worth(url, targets, lineage)
        news = self.novelty.meet(texts, url, links, self._listing(url, targets))
        is_news = news.counts(strictly=lineage.is_own_kind and not self.is_elsewhere(url))
        decided = self.parameters.note(asked, texts) if self.parameters is not None else []
        # The page in other words is no evidence against pages of its kind.
        is_first = self._is_met_first(url)
        is_counted = is_news or is_first
        traps = self.traps.note(self.pattern_url(url), news=is_news, same=news.is_same) if is_counted else ()
        return ExploredPage(is_news, tuple(traps), tuple(decided), news.is_same)

    def _is_met_first(self, url: str) -> bool:
        key = self.key(url)
        if key in self._met:
            return False
        if len(self._met) < _MOST_ELSEWHERE:
            self._met.add(key)
        return True

    def saw_other(self, url: str, body: bytes | str, lineage: Lineage) -> ExploredPage:
        """Judge what is no page of HTML: a text by its lines, anything else by its bytes."""
        if isinstance(body, str):
            news = self.novelty.meet(body[:_MOST_CHARS].splitlines()[:_MOST_LINES], self.plain(url), (), ("", ()))
            is_news = news.counts(strictly=lineage.is_own_kind)
        else:
            news = self.novelty.meet([blake2b(body, digest_size=16).hexdigest()], "", (), ("", ()))
            is_news = news.texts > 0
        traps = self.traps.note(self.pattern_url(url), news=is_news, same=news.is_same)
        return ExploredPage(is_news, tuple(traps), is_same=news.is_same)

    def led_to(self, url: str, seen: ExploredPage) -> tuple[Trap, ...]:
        """Note that a URL was redirected to a page that was judged; return the traps that this makes known."""
        return tuple(self.traps.note(self.pattern_url(url), news=seen.is_news, same=seen.is_same))

    def _worth(self, url: str, targets: Iterable[str], lineage: Lineage) -> list[str]:
        """Return the paths that a page leads to, without those of its own kind and of kinds that brought nothing."""
        own = shape_of(url)
        if own is None:
            return []
        path = urlsplit(url).path.rstrip("/") + "/"
        is_deep = lineage.is_own_kind and path.count("/") > _DEEP
        found: dict[str, None] = {}
        for target in map(self.plain, targets):
            shape = shape_of(target)
            if shape is None or shape.host != own.host or shape.path == own.path or shape.repeats:
                continue
            steps = urlsplit(target).path
            if (is_deep and steps.startswith(path)) or self.traps.is_barren(target):
                continue
            normal = normalize_url(target, self.rules)
            found[_place(normal)] = None
            if self.traps.is_good(target):
                found[normal.partition("#")[0]] = None
        return list(found)

    def _listing(self, url: str, targets: Sequence[str]) -> tuple[str, list[str]]:
        """Return the listing that a page is a part of, and what that part lists."""
        part = listing_part(url)
        if part is None or not part.is_clear:
            return "", []
        # Whatever else the query says: filters show the same entries again.
        place = part.place.partition("?")[0]
        own = place.rstrip("/") + "/"
        listed = [one for one in targets if (_place(one).rstrip("/") + "/") != own and not self._is_part(one, place)]
        return place, [normalize_url(one, self.rules) for one in listed if not self.traps.is_barren(one)]

    def _is_part(self, url: str, place: str) -> bool:
        part = listing_part(url)
        return part is not None and part.place.partition("?")[0] == place


def _place(url: str) -> str:
    return url.partition("#")[0].partition("?")[0]
