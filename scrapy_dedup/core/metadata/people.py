"""Who wrote a page: names as pages declare them and as bylines give them."""

import re
from collections.abc import Iterable
from typing import Final

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
