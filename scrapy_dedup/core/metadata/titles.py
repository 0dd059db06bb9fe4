"""A page's title without the name of its site."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

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
