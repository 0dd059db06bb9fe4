"""Parameters of URLs (see `core.urls.normal_form`) that never change the content, found by comparing pages."""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from msgspec import Struct, field

from scrapy_dedup.core.pages.fingerprints import fold
from scrapy_dedup.core.urls.normal_form import IgnoredParameters, host_of, is_token, names_in, values_in, without
from scrapy_dedup.core.urls.pagination import is_part_name

_HAS_DIGIT: Final = re.compile("[0-9]")
_CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?")
# Named so, a parameter selects what is shown, on whatever site: no evidence is enough.
_SELECTING: Final = frozenset(
    ["id", "lang", "language", "locale", "hl", "q", "query", "search", "s", "pid", "tid", "aid", "article", "cat"]
)
_MOST_NAMES: Final = 64
"""Of one domain; hostile links have as many as they like."""
_MOST_PAGES: Final = 100_000
_SHORTEST_TEXT: Final = 40
"""Characters without which two pages are equal by chance: both empty."""
_ENOUGH_TOKENS: Final = 3
_ENOUGH_WORDS: Final = 5
_ENOUGH_PAGES: Final = 2
_MOST_FAILED: Final = 2
_RECHECKS: Final = (100, 1_000)
"""After so many dropped requests one is let through."""


class Decided(NamedTuple):
    """What was found out of a parameter."""

    domain: str
    name: str
    same: int
    different: int
    is_ignored: bool

    @property
    def evidence(self) -> str:
        """The counts in words."""
        return f"{self.same} pages were the same with another value or without it, {self.different} were not"


class _Name(Struct):
    """What is known of one parameter of one host."""

    same: int = 0
    different: int = 0
    pages: set[str] = field(default_factory=set)
    """Where it made no difference; a few, for then it is decided."""
    values_are_tokens: bool = True
    is_ignored: bool = False
    under_way: int = 0
    dropped: int = 0
    failed: int = 0
    """Pages that were not the same although it is ignored."""
    is_changed: bool = False
    """Since it was stored."""

    @property
    def is_open(self) -> bool:
        """Whether pages are compared to find out."""
        return not self.different and not self.is_ignored


class ParameterTrials(Struct):
    """What a crawl finds out about parameters, by host."""

    ignored: IgnoredParameters = field(default_factory=IgnoredParameters)
    most: int = _MOST_PAGES
    _names: dict[tuple[str, str], _Name] = field(default_factory=dict)
    _of_host: dict[str, int] = field(default_factory=dict)
    _pages: dict[tuple[str, ...], tuple[str, bytes | None]] = field(default_factory=dict)
    """(hypothesis, URL without it) to the URL that has it, and the hash of its text once it has come."""

    def recall(self, stored: Iterable[Decided]) -> None:
        """Take over what earlier crawls found out."""
        for one in stored:
            self._names[one.domain, one.name] = _Name(
                one.same, one.different, values_are_tokens=False, is_ignored=one.is_ignored
            )
            if one.is_ignored:
                self.ignored.add(one.domain, one.name)

    def tests(self, url: str) -> tuple[str, ...]:
        """Return the parameters that a fetch of this URL would tell more of, because a page is known without them."""
        url = self.ignored.without(url)
        host = host_of(url)
        return tuple(
            "&".join(names)
            for names in _hypotheses(url)
            if self._is_open(host, names)
            and (known := self._pages.get((*names, without(url, names)))) is not None
            and known[0] != url
        )

    def is_full(self, url: str, tests: Sequence[str]) -> bool:
        """Say whether another page is under way that may tell whether this one is worth it."""
        host = host_of(url)
        return any(self._name(host, name).under_way > 0 for test in tests for name in test.split("&"))

    def sent(self, url: str, tests: Sequence[str]) -> None:
        """Note that a URL is asked for."""
        url = self.ignored.without(url)
        host = host_of(url)
        for test in tests:
            for name in test.split("&"):
                self._name(host, name).under_way += 1
        for names in _hypotheses(url):
            if len(self._pages) < self.most and self._is_open(host, names):
                self._pages.setdefault((*names, without(url, names)), (url, None))

    def came(self, url: str, tests: Sequence[str]) -> None:
        """Note that a request has ended, whatever it brought."""
        host = host_of(url)
        for test in tests:
            for name in test.split("&"):
                one = self._name(host, name)
                one.under_way = max(0, one.under_way - 1)

    def note(self, url: str, texts: Sequence[str]) -> list[Decided]:
        """Note what a page shows that was asked for by a URL; return what this decides.

        *texts* are those of its blocks; none of an error page, which would be equal to every other.
        """
        if sum(map(len, texts)) < _SHORTEST_TEXT:
            return []
        host = host_of(url)
        decided = self._recheck(url, texts) if self.ignored.of(host) else []
        url = self.ignored.without(url)
        shown = _shown(texts)
        for names in _hypotheses(url):
            if not self._is_open(host, names):
                continue
            key = (*names, without(url, names))
            known = self._pages.get(key)
            if known is None or known[0] == url or known[1] is None:
                if known is not None or len(self._pages) < self.most:
                    self._pages[key] = (url, shown)
                continue
            is_same, alone = known[1] == shown, len(names) == 1
            found = [self._compare(host, name, key[-1], url, is_same=is_same, alone=alone) for name in names]
            decided += [one for one in found if one is not None]
        return decided

    def dropped(self, url: str) -> bool:
        """Note that a request was left out because of what it carries; say whether this one is to be tried."""
        is_due = False
        host = host_of(url)
        names = self.ignored.of(host)
        for name in names_in(url) if names else ():
            if name in names:
                one = self._name(host, name)
                one.dropped += 1
                is_due = is_due or one.dropped in _RECHECKS
        return is_due

    def _recheck(self, url: str, texts: Sequence[str]) -> list[Decided]:
        """Compare two texts of a page, with other values of its ignored parameters; return what is ignored no more."""
        host, page = host_of(url), self.ignored.without(url)
        ignored = self.ignored.of(host)
        names = [name for name in names_in(url) if name in ignored]
        shown = _shown(texts)
        known = self._pages.get((page,))
        if known is None:
            if len(self._pages) < self.most:
                self._pages[page,] = (url, shown)
            return []
        if known[0] == url:
            return []
        decided = []
        for name in names:
            one = self._name(host, name)
            one.is_changed = True
            if known[1] == shown:
                one.same += 1
                continue
            one.failed += 1
            one.different += 1
            # One page may have changed by itself.
            if one.failed >= _MOST_FAILED:
                one.is_ignored = False
                self.ignored.remove(host, name)
                decided.append(Decided(host, name, one.same, one.different, is_ignored=False))
        return decided

    def take_changed(self) -> list[Decided]:
        """Return what is worth storing and was found out since the last call, in order."""
        found = []
        for (host, name), one in sorted(self._names.items()):
            if one.is_changed:
                one.is_changed = False
                found.append(Decided(host, name, one.same, one.different, one.is_ignored))
        return found

    def _compare(self, host: str, name: str, page: str, url: str, *, is_same: bool, alone: bool) -> Decided | None:
        one = self._name(host, name)
        if not is_same:
            # Of several together nobody knows which one it was.
            one.different += alone
            one.is_changed = one.is_changed or alone
            return None
        one.same += 1
        one.is_changed = True
        one.values_are_tokens = one.values_are_tokens and all(map(is_token, values_in(url, (name,))))
        one.pages.add(page)
        enough = _ENOUGH_TOKENS if one.values_are_tokens else _ENOUGH_WORDS
        if one.same < enough or len(one.pages) < _ENOUGH_PAGES or one.is_ignored:
            return None
        one.is_ignored = True
        self.ignored.add(host, name)
        return Decided(host, name, one.same, one.different, is_ignored=True)

    def _is_open(self, host: str, names: Sequence[str]) -> bool:
        return all(self._name(host, name).is_open for name in names)

    def _name(self, host: str, name: str) -> _Name:
        one = self._names.get((host, name))
        if one is None:
            one = _Name()
            if self._of_host.get(host, 0) < _MOST_NAMES:
                self._of_host[host] = self._of_host.get(host, 0) + 1
                self._names[host, name] = one
            else:
                one.different = 1
        return one


def _hypotheses(url: str) -> list[tuple[str, ...]]:
    """Return the parameters one by one, and together those whose values look made up: each may be new in every link."""
    names = [name for name in names_in(url) if not (name.lower() in _SELECTING or is_part_name(name))]
    singles: list[tuple[str, ...]] = [(name,) for name in names]
    made_up = tuple(name for name in names if all(map(is_token, values_in(url, (name,)))))
    return [*singles, made_up] if len(made_up) > 1 else singles


def _shown(texts: Sequence[str]) -> bytes:
    """Return what stands for a page's text, whatever the time is and whatever session it shows.

    Numbers count: they may be all that tells two products apart.
    """
    words = (word for text in texts for word in text.split())
    said = " ".join(word for word in words if not (_HAS_DIGIT.search(word) and is_token(word) and not word.isdigit()))
    return blake2b(_CLOCK.sub(":", fold(said)).encode("utf-8", "surrogatepass"), digest_size=16).digest()
