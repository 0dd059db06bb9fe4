"""A page's title without the name of its site."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

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
    """Return the name in a byline.

    Args:
        text: a short block.
        is_marked: whether its place says that it names an author; else it must begin with "by".
    """
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
