"""Where the pages of a layout show title, date and author: paths that agreed with what the pages declare."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Self

from msgspec import Struct

from scrapy_dedup.core.metadata.dates import written_day
from scrapy_dedup.core.metadata.titles import byline_name, folded, heading
from scrapy_dedup.core.pages.blocks import Page

LONGEST_LINE: Final = 150
"""Characters of a block that may be a byline or a date line."""
LONGEST_TITLE: Final = 500


class Field(StrEnum):
    """What a locator finds."""

    TITLE = "title"
    DATE = "date"
    AUTHOR = "author"


class Clue(Struct, frozen=True):
    """What one page shows of one field."""

    field: Field
    value: str
    """What the page declares, or shows by the strongest visible evidence; folded for comparing."""
    is_declared: bool
    shown: tuple[tuple[str, str], ...]
    """(path, folded value) of the blocks that could be the field, in page order, each once."""


Evidence = tuple[Clue, ...]
"""What is to be learned from one page."""

# A path is taken when it was right on most pages that know the field, and nearly never wrong.
_FEWEST_PAGES: Final = 3
_MOST_PAGES: Final = 0.6
_RIGHT: Final = 0.9


class Locators(Struct, frozen=True):
    """The paths of a layout's fields, sorted by field."""

    paths: tuple[tuple[Field, str], ...] = ()

    def values(self, page: Page) -> dict[Field, str]:
        """Return what a page shows there; a field whose path holds several differing blocks is left out."""
        if not self.paths:
            return {}
        wanted = {path: field for field, path in self.paths}
        found: defaultdict[Field, dict[str, None]] = defaultdict(dict)
        for block in page.blocks:
            field = wanted.get(block.path)
            if field is not None and (value := value_in(field, block.text)):
                found[field][value] = None
        return {field: next(iter(values)) for field, values in found.items() if len(values) == 1}

    def selectors(self) -> dict[str, str]:
        """Return field to CSS selector, for people to read; digits are masked as in paths."""
        return {str(field): path for field, path in self.paths}

    def to_json(self) -> dict[str, str]:
        """Return field to path."""
        return {str(field): path for field, path in self.paths}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned; fields of other versions are passed over."""
        return cls(tuple((field, stored[field]) for field in Field if isinstance(stored.get(field), str)))


def value_in(field: Field, text: str) -> str | None:
    """Return the value of a field that a block shows; None where it shows none."""
    if field is Field.TITLE:
        return heading(text) or None if len(text) <= LONGEST_TITLE else None
    if len(text) > LONGEST_LINE:
        return None
    return written_day(text) if field is Field.DATE else byline_name(text, is_marked=True)


def comparable(field: Field, value: str) -> str:
    """Return a value as two of them are compared: a title's words, a day without its time."""
    return value[:10] if field is Field.DATE else folded(value)


def learn_locators(pages: Sequence[Evidence]) -> Locators:
    """Return the paths that show the fields on most pages of one layout; deterministic in the pages' order."""
    paths = []
    for field in Field:
        clues = [clue for evidence in pages for clue in evidence if clue.field is field]
        declared = [clue for clue in clues if clue.is_declared]
        path = _path_of(field, declared if len(declared) >= _FEWEST_PAGES else clues)
        if path is not None:
            paths.append((field, path))
    return Locators(tuple(paths))


def _path_of(field: Field, clues: Sequence[Clue]) -> str | None:
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    values: defaultdict[str, set[str]] = defaultdict(set)
    for clue in clues:
        shown: defaultdict[str, set[str]] = defaultdict(set)
        for path, value in clue.shown:
            shown[path].add(value)
        for path, found in shown.items():
            agrees = found == {clue.value} or (
                field is Field.AUTHOR and len(found) == 1 and _is_part(found, clue.value)
            )
            (right if agrees else wrong)[path] += 1
            values[path] |= found
    needed = max(_FEWEST_PAGES, _MOST_PAGES * len(clues))
    good = [
        path
        for path, count in right.items()
        if count >= needed
        and count >= _RIGHT * (count + wrong[path])
        # The same title or day on all pages is the site's own, unless it is a person's.
        and (field is Field.AUTHOR or len(values[path]) > 1)
    ]
    return min(good, key=lambda path: (-right[path], wrong[path], len(path), path), default=None)


def _is_part(found: set[str], value: str) -> bool:
    """Tell whether a byline names one of several declared authors, or all of them and their titles."""
    (shown,) = found
    return f" {shown} " in f" {value} " or f" {value} " in f" {shown} "
