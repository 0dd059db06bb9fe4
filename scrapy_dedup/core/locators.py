"""Titles, names and days as pages write them, and where the pages of a layout show them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from itertools import islice
from typing import Any, Final, Self
from urllib.parse import urlsplit

from msgspec import Struct

from scrapy_dedup.core.pages.blocks import Page

_ADDRESS: Final = re.compile(r"https?://|^@|\S+@\S+|^www\.")
# One word may stand before "by" (Posted by, Text by), but not one that names another's work, or an order of things.
_BY: Final = re.compile(
    r"^(?:(?:(?!(?:photo|image|picture|video|edited|updated|reviewed|powered|sponsored|photograph|illustration|sort"
    r"|sorted|filter|shop|browse|search|refine|group|order|view|show|rank|listed|list)s?\b)"
    r"(?:[a-z]+\s+)?by|von|par|por|di|door|av|auteur|автор|autore?|authors?|thread starter)(?:\s*:\s*|\s+)"
    # The name in an element of its own may follow without a blank.
    r"|(?-i:By(?=[A-Z][a-z])))(?=\S)",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(
    r"^(?:(?:written|posted|published)\s+by|by|authors?|autore?|auteur|автор)\s*:?$", re.IGNORECASE
)
# Behind a name in the same line: a day, a role, a count of minutes.
_BEHIND: Final = re.compile(
    r"\s+(?:[|·•»⋅\u2013\u2014]|-|\b(?:on|in|at|am|le)\b)\s+.*|\s*[|·•⋅(].*|,?\s+\d.*"
    r"|[.,]?\s+(?:published|updated|posted|reviewed|last|modified)\b.*",
    re.DOTALL | re.IGNORECASE,
)
_NO_NAME: Final = re.compile(
    r"^(?:(?:updated|published|posted|last|topic|written)\b.*|(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)\.?"
    r"|january|february|march|july|september|october|november|december|admin|administrator|unknown|anonymous|guest|null|none|undefined|author|staff|editor|user|n/a)$",
    re.IGNORECASE,
)
_LONGEST: Final = 60
_LONGEST_RAW: Final = 1_000
_MOST_WORDS: Final = 6


def declared_names(names: Iterable[str]) -> str | None:
    """Return declared names, joined by commas; addresses and placeholders are none."""
    good = (name for raw in names if (name := _cleaned(raw)))
    return ", ".join(dict.fromkeys(good)) or None


def byline_name(text: str, *, is_marked: bool) -> str | None:
    """Return the name in a byline; it must begin with "by" unless its place is marked as an author's."""
    text = " ".join(text.split())
    if len(text) > 2 * _LONGEST:
        return None
    begin = _BY.match(text)
    if begin is None and not is_marked:
        return None
    name = _cleaned(_BEHIND.sub("", text[begin.end() :] if begin else text))
    if name is None or len(name.split()) > _MOST_WORDS or not name[0].isalpha():
        return None
    if not is_marked and not _looks_like_a_name(name):
        return None
    return name


def is_label(text: str) -> bool:
    """Tell whether a text says that a name follows."""
    return len(text) < _LONGEST and _LABEL.match(text.strip()) is not None


def is_byline(text: str) -> bool:
    """Tell whether a text begins as bylines begin."""
    return _BY.match(text) is not None


def _looks_like_a_name(name: str) -> bool:
    """By itself "by" begins many sentences; a name's words begin with capitals, most of them."""
    words = name.split()
    return sum(word[0].isupper() for word in words) * 2 > len(words)


def _cleaned(raw: str) -> str | None:
    if len(raw) > _LONGEST_RAW:
        return None
    name = " ".join(raw.split()).strip(" ,;:|·•-\u2013\u2014")
    begin = _BY.match(name)
    name = name[begin.end() :] if begin else name
    if not name or len(name) > _LONGEST * 2 or _ADDRESS.search(name) or _NO_NAME.match(name):
        return None
    return name


_WORD: Final = re.compile(r"[^\W_]+")
# Signs between a title and a site's name stand alone; a hyphen within a word does not.
_SEPARATOR: Final = re.compile(r"\s+(?:[|·•»«/~]|--?|[\u2013\u2014]|::)\s+|\s*[|»]\s*")
_SHORTEST_NAME: Final = 4
_LONGEST_NAME: Final = 100
_MOST_NAMES: Final = 20
# What themes put behind headings as a link to them.
_HEADING_MARKS: Final = " \t¶#§🔗"


def folded(text: str) -> str:
    """Return a text's words, for comparing."""
    return " ".join(_WORD.findall(text.lower()))


def squeezed(text: str) -> str:
    """Return a text's words without what is between them: `the-news.example` names "The News"."""
    return "".join(_WORD.findall(text.lower()))


def heading(text: str) -> str:
    """Return a heading's text without the mark of its link."""
    return " ".join(text.split()).strip(_HEADING_MARKS)


class SiteNames:
    """By what names a page's site is called, told from what it declares and from its host."""

    def __init__(self, declared: Iterable[str], url: str | None) -> None:
        names = [squeezed(name[:_LONGEST_NAME]) for name in islice(declared, _MOST_NAMES)]
        self.host = ""
        try:
            host = (urlsplit(url or "").hostname or "").removeprefix("www.")
        except ValueError:
            host = ""
        if host:
            self.host = squeezed(host)
            labels = host.split(".")
            names += [self.host, squeezed(labels[-2] if len(labels) > 1 else host), squeezed(".".join(labels[-2:]))]
        self.names = tuple(dict.fromkeys(name for name in names if name))

    def has(self, text: str) -> bool:
        """Tell whether a text is one of the names, or one with a few letters more or less."""
        word = squeezed(text)
        if not word:
            return False
        if word in self.names:
            return True
        return (len(word) >= _SHORTEST_NAME and word in self.host) or any(
            len(name) >= _SHORTEST_NAME and name in word and 2 * len(name) >= len(word) for name in self.names
        )

    def cut_off(self, title: str) -> str:
        """Return a title without the parts at its ends that name the site."""
        title = " ".join(title.split())
        rest = title
        while cuts := list(_SEPARATOR.finditer(rest)):
            if self.has(rest[cuts[-1].end() :]):
                rest = rest[: cuts[-1].start()]
            elif self.has(rest[: cuts[0].start()]):
                rest = rest[cuts[0].end() :]
            else:
                break
        if rest == title and cuts and "|" in cuts[-1][0]:
            # A bar stands before a site's name even where nothing else tells that it is one.
            rest = rest[: cuts[-1].start()]
        return rest or title


def part_with(title: str, text: str) -> tuple[str, bool] | None:
    """Return the part of a title in which a text stands, and whether it is the last of several; None where none."""
    wanted = f" {folded(text)} "
    if len(wanted) < 3:
        return None
    parts = [part for part in _SEPARATOR.split(title) if part.strip()]
    for index, part in enumerate(parts):
        if wanted in f" {folded(part)} ":
            return part, 0 < index == len(parts) - 1
    return (title, False) if wanted in f" {folded(title)} " else None


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
