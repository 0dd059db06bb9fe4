"""Selectors that an element's start tag alone answers: the walk through a page knows its tags, no tree is needed."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.places import BODY, Place
from scrapy_dedup.core.pages.tags import LONG_TAG, name_and_attributes

_NAME: Final = r"[A-Za-z_][\w-]*"
_SIMPLE: Final = re.compile(
    rf"""(?:(?P<tag>[a-z][a-z0-9]*)|\.(?P<cls>{_NAME})|#(?P<id>{_NAME})"""
    rf"""|\[(?P<attribute>{_NAME})(?P<ends>\$?)="(?P<value>[^"\\]+)"\])""",
    re.ASCII,
)
# As HTML divides the value of `class`.
_SPACE: Final = re.compile(r"[ \t\n\f\r]+")
_KNOWN: Final = 16_384

Marks = frozenset[int]
_NONE: Final[Marks] = frozenset()


class _Match(NamedTuple):
    marks: Marks
    """Places of the selectors that match."""
    in_doubt: bool
    """Whether a page that is read as those of the nineties are, names in any case, matches more."""


class TagSelectors:
    """Selectors of a tag, a class, an id, or an attribute's value or end; of each of them several, with commas."""

    def __init__(self, selectors: Sequence[str]) -> None:
        """Read selectors.

        Raises:
            ValueError: one needs more than a start tag.
        """
        self._tags: defaultdict[str, set[int]] = defaultdict(set)
        self._names: defaultdict[str, set[int]] = defaultdict(set)
        """By class and id, with "." and "#"."""
        self._values: list[tuple[str, str, bool, int]] = []
        for place, selector in enumerate(selectors):
            for part in selector.split(","):
                self._read(part.strip(), place)
        self._folded: defaultdict[str, set[int]] = defaultdict(set)
        for name, places in self._names.items():
            self._folded[name.lower()] |= places
        self._of_source = lru_cache(maxsize=_KNOWN)(self._match_source)

    def _read(self, part: str, place: int) -> None:
        found = _SIMPLE.fullmatch(part)
        if found is None:
            raise ValueError(f"{part!r} needs more than a start tag")
        if found["tag"]:
            self._tags[found["tag"]].add(place)
        elif found["attribute"]:
            self._values.append((found["attribute"], found["value"], bool(found["ends"]), place))
        else:
            self._names[part].add(place)

    def marks(self, page: Page) -> list[Marks] | None:
        """Return for each block of a page the selectors that match an element around it, by their place.

        None where tags do not tell: the page may be read with names in any case, or not as it came.
        """
        if page.is_redrawn:
            return None
        around = [self._match(name, attributes) for name, attributes in page.around]
        if any(one.in_doubt for one in around):
            return None
        known: dict[Place, Marks] = {BODY: _NONE.union(*(one.marks for one in around))}
        found: list[Marks] = []
        here = BODY
        for step in page.walk.steps:
            if isinstance(step, Place):
                here = step
            elif isinstance(step, int):
                marks = known.get(here)
                if marks is None:
                    marks = self._around(here, known)
                    if marks is None:
                        return None
                found.append(marks)
        return found

    def _around(self, place: Place, known: dict[Place, Marks]) -> Marks | None:
        """Return what matches a place, or what it stands in, and note it of them all; None where that is in doubt."""
        unknown = []
        while place not in known:
            unknown.append(place)
            place = place.outer or BODY
        marks = known[place]
        for inner in reversed(unknown):
            one = self._of_source(inner.source) if len(inner.source) < LONG_TAG else self._match_source(inner.source)
            if one.in_doubt:
                return None
            marks = known[inner] = marks | one.marks if one.marks else marks
        return marks

    def _match_source(self, source: str) -> _Match:
        name, attributes = name_and_attributes(source)
        found = self._match(name, attributes)
        # A name that holds a quote: who reads on from there may read anything.
        is_odd = source.count('"') != 2 * len(attributes)
        return found._replace(in_doubt=True) if is_odd else found

    def _match(self, tag: str, attributes: Mapping[str, str]) -> _Match:
        marks = set(self._tags.get(tag, ()))
        in_doubt = False
        for name in _names(attributes):
            exact = self._names.get(name, set())
            marks |= exact
            in_doubt |= exact != self._folded.get(name.lower(), set())
        for attribute, value, only_end, place in self._values:
            there = attributes.get(attribute)
            if there is not None and (there.endswith(value) if only_end else there == value):
                marks.add(place)
        return _Match(frozenset(marks), in_doubt)


def _names(attributes: Mapping[str, str]) -> Iterator[str]:
    if classes := attributes.get("class"):
        yield from (f".{name}" for name in _SPACE.split(classes) if name)
    if called := attributes.get("id"):
        yield f"#{called}"
