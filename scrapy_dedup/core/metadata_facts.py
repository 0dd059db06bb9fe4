"""What a page offers to tell its title, day and author from, each part made once."""

import re
from functools import lru_cache
from itertools import islice
from typing import Final

from scrapy_dedup.core.blocks import Block, Page
from scrapy_dedup.core.locators import LONGEST_LINE, Locators
from scrapy_dedup.core.metadata_json_ld import Thing, site_names_of, things_of
from scrapy_dedup.core.metadata_titles import SiteNames, squeezed

_SITE_NAMES: Final = ("og:site_name", "application-name", "apple-mobile-web-app-title")
# A byline stands this near to the title, before or after it.
_BLOCKS_BEFORE: Final = 6
_BLOCKS_AFTER: Final = 14
_MOST_HEADINGS: Final = 20
# Characters that a heading may have more than its words have: marks, quotes.
_TITLE_SLACK: Final = 12
# Words of classes, ids and tags, at the beginning of a word.
_HEADING_STEP: Final = re.compile(r">h[1-4](?:$|[>.#])|[.#_-]title(?:$|[>.#_-])", re.IGNORECASE)
_DATE_STEP: Final = re.compile(
    r"[.#_-](?:date(?:line|time)?|published|posted(?:-on)?|timestamp)(?:$|[.#>_-])", re.IGNORECASE
)
_AUTHOR_STEP: Final = re.compile(
    r"[.#_-](?:[a-z]*author|byline|by-line|written-by|writer|creator|poster|contributor)s?"
    r"(?:$|[.#>_-]|name|info|link)",
    re.IGNORECASE,
)

_CHANGED_STEP: Final = re.compile(
    r"[.#_-](?:last-?)?(?:updated?|modified|edited)(?:-?(?:date|at|on|time))?(?:$|[.#>_-])", re.IGNORECASE
)
# What others say on a page: quotes and comments, with days and names of their own.
_ASIDE_STEP: Final = re.compile(r">(?:blockquote|[^>]*[.#]comments?(?:-[a-z]+)?)(?:$|[.#>])", re.IGNORECASE)


class Facts:
    """A page's declarations, headings and located values."""

    def __init__(self, page: Page, url: str | None, locators: Locators | None) -> None:
        self.page = page
        self.url = url or ""
        self.things: list[Thing] = things_of(page.declared.json_ld)
        self.metas: dict[str, list[str]] = {}
        for name, value in page.declared.metas:
            self.metas.setdefault(name, []).append(value)
        declared = [value for name in _SITE_NAMES for value in self.metas.get(name, ())]
        self.site = SiteNames([*declared, *site_names_of(self.things)], url)
        self.headings = tuple(islice((block for block in page.blocks if _is_in_h1(block.path)), _MOST_HEADINGS))
        self.located = locators.values(page) if locators else {}

    def near(self, title: str | None) -> list[Block]:
        """Return the short blocks after the page's title, then those before it."""
        blocks = self.page.blocks
        at = self._place_of(title)
        if at is None:
            return []
        near = (*blocks[at + 1 : at + 1 + _BLOCKS_AFTER], *blocks[max(0, at - _BLOCKS_BEFORE) : at])
        return [block for block in near if len(block.text) <= LONGEST_LINE]

    def _place_of(self, title: str | None) -> int | None:
        """Return where the title stands: the heading with its words, else any block, else the first heading."""
        wanted = squeezed(title or "")
        most = len(title or "") + _TITLE_SLACK
        same = [
            at
            for at, block in enumerate(self.page.blocks)
            if len(wanted) <= len(block.text) <= most
            and _begins_alike(block.text, wanted)
            and squeezed(block.text) == wanted
        ]
        if same:
            return next((at for at in same if is_heading(self.page.blocks[at].path)), same[0])
        first = self.headings[0] if self.headings else None
        return next((at for at, block in enumerate(self.page.blocks) if block is first), None)


def is_heading(path: str) -> bool:
    """Tell whether a path leads into a heading, or something called a title."""
    return _HEADING_STEP.search(path) is not None


@lru_cache(maxsize=8_192)
def says_author(path: str) -> bool:
    """Tell whether a path has a class or id that is a word for authors."""
    return _AUTHOR_STEP.search(path) is not None


@lru_cache(maxsize=8_192)
def says_date(path: str) -> bool:
    """Tell whether a path has a class or id that is a word for days of publication."""
    return _DATE_STEP.search(path) is not None


@lru_cache(maxsize=8_192)
def says_changed(path: str) -> bool:
    """Tell whether a path has a class or id that is a word for days of change."""
    return _CHANGED_STEP.search(path) is not None


@lru_cache(maxsize=8_192)
def is_aside(path: str) -> bool:
    """Tell whether a path leads into a quote or a comment."""
    return _ASIDE_STEP.search(path) is not None


@lru_cache(maxsize=8_192)
def _is_in_h1(path: str) -> bool:
    return any(step == "h1" or step.startswith(("h1.", "h1#")) for step in path.split(">"))


def _begins_alike(text: str, wanted: str) -> bool:
    """Tell quickly whether a text can have the same words."""
    first = text[0].lower()
    return first == wanted[:1] or not first.isalnum()
