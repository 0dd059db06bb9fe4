"""Pages that have some words in their URL, title or clean text, those that were written last first.

There is no full-text table. An index of words is about as large as the texts themselves and is written at random
places of the file with every page, which is what the store avoids (see the top of `store/tables/models.py`); it would
also have to agree on SQLite and PostgreSQL about what a word is. A search reads the newest pages instead, so many and
so long and no more, and says where it stopped: whoever wants to know goes on from there. Naming a domain is what
makes it quick.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service.views.page_lists import ListedPage, ListPlace, cursor_of, place_after, place_of
from scrapy_dedup.store.pages.page_lists import PageLists
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

PAGES: Final = 10_000
"""Pages that one search looks at."""

SECONDS: Final = 2.0
"""After so long a search takes no further pages."""

TEXT_CHARS: Final = 100_000
"""Characters of a page's text that are looked at."""

SNIPPET_CHARS: Final = 240
MOST_WORDS: Final = 10
MOST_AT_ONCE: Final = 100
_LONGEST: Final = 400
_READ_AT_ONCE: Final = 200

Stopped = Literal["pages", "seconds"]


class SearchError(DedupError):
    """There is nothing to look for."""


@dataclass(frozen=True, slots=True)
class SearchChoice:
    """Which pages.

    Attributes:
        words: each of them must be there, as a part of a word or whole, in large or small letters.
        domain: only pages of this one.
        limit: 1 to 100; what is beyond is taken for the nearest of them.
        after: the `next` of the search before.
    """

    words: str
    domain: str | None = None
    limit: int = 20
    after: str | None = None


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that has all words; found_in says where: url, title, text; the snippet is of the last of these."""

    page: ListedPage
    found_in: tuple[str, ...]
    snippet: str


@dataclass(frozen=True, slots=True)
class SearchResults:
    """A part of a search.

    Attributes:
        words: what was looked for, in small letters.
        looked_at: how many pages were.
        stopped: by which bound it ended before the pages did, and before `limit` were found.
        next: from where it goes on; None when all pages were looked at.
    """

    words: tuple[str, ...]
    found: tuple[FoundPage, ...]
    looked_at: int
    stopped: Stopped | None
    next: str | None


def search_pages(
    store: Store, project: ProjectStore, choice: SearchChoice, clock: Callable[[], float] = time.monotonic
) -> SearchResults:
    """Return the pages that have some words, newest first.

    Raises:
        SearchError: there are no words, or too many.
        PageCursorError: `after` is not the `next` of any search.
        StoreError: the store failed.
    """
    words, after = words_of(choice.words), place_of(choice.after)
    limit = min(max(choice.limit, 1), MOST_AT_ONCE)
    until = clock() + SECONDS
    found: list[FoundPage] = []
    looked_at, stopped, is_over = 0, None, True
    with store.session(read_only=True) as session:
        for page, text in _pages(PageLists(session, project.id, choice.domain), after):
            if len(found) == limit:
                is_over = False
                break
            stopped = _bound(looked_at, clock() - until)
            if stopped is not None:
                is_over = False
                break
            looked_at, after = looked_at + 1, place_after(page)
            match = match_of(page, text, words)
            if match is not None:
                found.append(match)
    return SearchResults(words, tuple(found), looked_at, stopped, None if is_over else cursor_of(after))


def words_of(said: str) -> tuple[str, ...]:
    """Return the different words of a text, in small letters, in their order.

    Raises:
        SearchError: there is none, or there are too many.
    """
    if len(said) > _LONGEST:
        raise SearchError(f"the words have {len(said)} characters: give {_LONGEST} at most")
    words = tuple(dict.fromkeys(said.casefold().split()))
    if not words:
        raise SearchError("there is nothing to look for: give a word of the page's URL, title or text")
    if len(words) > MOST_WORDS:
        raise SearchError(f"these are {len(words)} words: give {MOST_WORDS} at most")
    return words


def match_of(page: ListedPage, text: str, words: Sequence[str]) -> FoundPage | None:
    """Return the page with where the words are, None where one of them is missing."""
    places = {"url": page.url, "title": page.title or "", "text": text}
    folded = {name: place.casefold() for name, place in places.items()}
    if not all(any(word in place for place in folded.values()) for word in words):
        return None
    found_in = tuple(name for name, place in folded.items() if any(word in place for word in words))
    return FoundPage(page, found_in, snippet(places[found_in[-1]], words))


def snippet(text: str, words: Sequence[str]) -> str:
    """Return at most 240 characters of a text around the first of the words that it has, on one line."""
    any_word = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    match = any_word.search(text)
    # Some letters are several in small letters (ẞ, İ): then the beginning has to do.
    start = max(0, match.start() - SNIPPET_CHARS // 3) if match else 0
    return " ".join(text[start : start + SNIPPET_CHARS].split())


def _pages(lists: PageLists, after: ListPlace | None) -> Iterator[tuple[ListedPage, str]]:
    while True:
        pages = lists.some(after, _READ_AT_ONCE)
        texts = lists.texts([page.page_key for page in pages], TEXT_CHARS)
        for page in pages:
            yield page, texts.get(page.page_key, "")
        if len(pages) < _READ_AT_ONCE:
            return
        after = place_after(pages[-1])


def _bound(looked_at: int, seconds_over: float) -> Stopped | None:
    if looked_at == PAGES:
        return "pages"
    return "seconds" if seconds_over > 0 else None
