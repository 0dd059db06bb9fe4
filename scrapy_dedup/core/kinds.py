"""What a cluster of pages is called, with the reason; for people, never for a decision."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Final

from scrapy_dedup.core.urls import LOOSE_RULES, normalize_url, split_url

_ERROR_TITLE: Final = re.compile(r"\b(?:40[0-9]|410|50[0-4])\b|\b(?:page )?not found\b", re.IGNORECASE)
# A paragraph of prose, and a text worth the name.
_PARAGRAPH: Final = 120
_TEXT: Final = 600
_MOST_LINKS: Final = 0.5
_FEW_LINKS: Final = 0.35
_ITEMS: Final = 5


class Kind(StrEnum):
    """Names of clusters."""

    ERROR = "error page"
    HOME = "home page"
    LISTING = "listing"
    ARTICLE = "article"
    PAGE = "page"
    """Nothing speaks for one of the others."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name and why it was given."""

    name: Kind
    reason: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one page shows of its kind; of its own text only, without what repeats on the domain."""

    url: str
    title: str
    status: int
    chars: int
    link_chars: int
    items: int
    """Blocks with links that stand in one place: the entries of its longest list."""
    headings: int
    """Headings that are links: titles of entries, each with its text."""
    longest: int
    """Characters outside links of its longest block."""


def name_kind(pages: Sequence[Evidence]) -> Named:
    """Return what pages of one layout are called; "page" where the evidence is weak.

    Args:
        pages: all of the layout; at least one.
    """
    error = _error(pages)
    if error is not None:
        return error
    if all(_is_home(page.url) for page in pages):
        return Named(Kind.HOME, "it is the root of the site")
    chars = median(page.chars for page in pages)
    links = sum(page.link_chars for page in pages) / max(1, sum(page.chars for page in pages))
    items = median(page.items for page in pages)
    headings = median(page.headings for page in pages)
    longest = median(page.longest for page in pages)
    if headings >= _ITEMS:
        return Named(Kind.LISTING, f"{headings:.0f} of its headings are links")
    if items >= _ITEMS and (links >= _MOST_LINKS or longest < _PARAGRAPH):
        return Named(Kind.LISTING, f"lists {items:.0f} linked entries; {links:.2f} of its own text are links")
    if chars >= _TEXT and longest >= _PARAGRAPH and links < _FEW_LINKS:
        return Named(Kind.ARTICLE, f"{chars:.0f} characters of its own text, {links:.2f} of it links")
    return Named(Kind.PAGE, f"{chars:.0f} characters of its own text, {links:.2f} of it links: nothing speaks clearly")


def _error(pages: Sequence[Evidence]) -> Named | None:
    total = len(pages)
    failed = sum(1 for page in pages if page.status >= 400)
    if 2 * failed > total:
        return Named(Kind.ERROR, f"{failed} of {total} came with an error status")
    # "Not found" heads a text about it, too: an error page says little.
    titled = sum(1 for page in pages if page.chars < _TEXT and _ERROR_TITLE.search(page.title))
    return Named(Kind.ERROR, f"{titled} of {total} titles speak of an error") if 2 * titled > total else None


def _is_home(url: str) -> bool:
    parts = split_url(normalize_url(url, LOOSE_RULES))
    return parts is not None and parts.path == "/" and not parts.query
