"""Days as pages write them, as ISO 8601; nothing where a day cannot be told."""

import re
from datetime import date, datetime
from typing import Final

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
