"""Dates as pages write them, and where the pages of a layout show title, date and author."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Final, Self

from msgspec import Struct

from scrapy_dedup.core.metadata.titles import byline_name, folded, heading
from scrapy_dedup.core.pages.blocks import Page

_ISO: Final = re.compile(r"\s*(\d{4})-?(\d\d)-?(\d\d)(?!\d)(?:[T ]\d\d:\d\d[^\s]*)?")
_IN_URL: Final = re.compile(r"/((?:19|20)\d\d)[/-](\d\d?)[/-](\d\d?)(?=/|-|\.|$)")

# Twelve months a language: en, de, fr, es, it, pt, nl, ru, pl, sv. The first letters tell them apart.
_MONTHS: Final = (
    "jan january januar jänner janvier enero gennaio janeiro januari января stycznia",
    "feb february februar février febrero febbraio fevereiro februari февраля lutego",
    "mar march märz mars marzo março maart марта marca mrz",
    "apr april avril abril aprile апреля kwietnia",
    "may mai mayo maggio maio mei мая maja maj",
    "jun june juni juin junio giugno junho июня czerwca",
    "jul july juli juillet julio luglio julho июля lipca",
    "aug august août agosto augustus августа sierpnia augusti",
    "sep sept september septembre septiembre settembre setembro сентября września",
    "oct october oktober octobre octubre ottobre outubro октября października okt",
    "nov november novembre noviembre novembro ноября listopada",
    "dec december dezember décembre diciembre dicembre dezembro декабря grudnia dez",
)
_MONTH_OF: Final = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_NAME: Final = rf"(?P<month>{'|'.join(sorted(_MONTH_OF, key=lambda name: (-len(name), name)))})"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
# Minutes of reading in an element of their own often follow without a blank.
_END: Final = r"(?:\b|(?=\d\d? ?min))"
_DAY: Final = r"(?P<day>[0-3]?\d)"
# Numbers with dots have the day first everywhere; with slashes and hyphens it depends, and is told only where one of
# the two is above twelve.
_WRITTEN: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_NAME}\.?\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}{_END}",
        rf"\b{_DAY}(?:st|nd|rd|th|er|º|\.)?\s+(?:de\s+)?{_NAME}\.?,?\s+(?:de\s+)?{_YEAR}{_END}",
        rf"\b{_DAY}-{_NAME}-{_YEAR}\b",
        rf"\b{_YEAR}[-/.](?P<month>[01]?\d)[-/.]{_DAY}\b",
        rf"\b{_YEAR}年\s*(?P<month>[01]?\d)月\s*{_DAY}日",
        rf"\b{_DAY}\.\s?(?P<month>[01]?\d)\.\s?{_YEAR}\b",
        rf"\b(?P<first>[0-3]?\d)([/-])(?P<second>[0-3]?\d)\2{_YEAR}\b",
        r"(?<![\d/])(?P<first>[0-3]?\d)/(?P<second>[0-3]?\d)/(?P<year>[0-3]\d)(?![\d/])",
    )
)
_HAS_YEAR: Final = re.compile(r"(?:19|20)\d\d|\d/\d\d?/\d\d")
_FIRST_YEAR: Final = 1990
_LAST_YEAR: Final = 2099


def declared_day(value: object) -> str | None:
    """Return a declared day, with its time where it has one; None for anything but ISO 8601."""
    found = _ISO.match(value) if isinstance(value, str) and len(value) < 100 else None
    if found is None:
        return written_day(value) if isinstance(value, str) and len(value) < 100 else None
    day = _day(int(found[1]), int(found[2]), int(found[3]))
    if day is None:
        return None
    try:
        return datetime.fromisoformat(found[0].strip()).isoformat() if ":" in found[0] else day
    except ValueError:
        return day


def day_in_url(url: str) -> str | None:
    """Return the day that an address names as year, month and day."""
    found = _IN_URL.search(url)
    return _day(int(found[1]), int(found[2]), int(found[3])) if found else None


def written_day(text: str) -> str | None:
    """Return the first day that is written out in a short text."""
    found = placed_day(text)
    return found[1] if found else None


def placed_day(text: str) -> tuple[int, str] | None:
    """Return where the first day stands that is written out in a short text, and the day."""
    if not _HAS_YEAR.search(text):
        return None
    days = [(found.start(), day) for pattern in _WRITTEN for found in pattern.finditer(text) if (day := _read(found))]
    return min(days, default=None)


def _read(found: re.Match[str]) -> str | None:
    parts = found.groupdict()
    if "first" in parts:
        return _of_two(int(parts["first"]), int(parts["second"]), _full(int(parts["year"])))
    month = parts["month"].lower()
    return _day(int(parts["year"]), _MONTH_OF.get(month) or int(month), int(parts["day"]))


def _full(year: int) -> int:
    return year + 2_000 if year < 100 else year


def _of_two(first: int, second: int, year: int) -> str | None:
    if first > 12:
        return _day(year, second, first)
    return _day(year, first, second) if second > 12 or first == second else None


def _day(year: int, month: int, day: int) -> str | None:
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        return None
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


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
