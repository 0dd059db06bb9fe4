"""Lists of pages and searches in them, newest first, a bounded number at a time; whoever goes on from `next` meets all.

A list looks at so many pages and no more, so that one whose filter few pages pass answers as fast as any other. Such a
list may come back short, or empty, and have a `next` all the same: it goes on from there.

There is no full-text table. An index of words is about as large as the texts themselves and is written at random
places of the file with every page, which is what the store avoids (see the top of `store/tables/models.py`); it would
also have to agree on SQLite and PostgreSQL about what a word is. A search reads the newest pages instead, so many and
so long and no more, and says where it stopped: whoever wants to know goes on from there. Naming a domain is what
makes it quick.

Whatever reads or writes the store raises StoreError where that fails.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct

from scrapy_dedup.core.errors import InvalidError
from scrapy_dedup.store.engine.codec import from_cursor, to_cursor
from scrapy_dedup.store.pages.reads import ListedPage, ListPlace, PageLists
from scrapy_dedup.store.records.records import DocumentStatus, Verdict
from scrapy_dedup.store.writer import ProjectStore

MOST_AT_ONCE: Final = 1_000
"""Pages of one list at most."""

LOOKED_AT: Final = 5_000
"""Pages that a list with a filter looks at."""

_COUNTED: Final = 10_000
_READ_AT_ONCE: Final = 500


class PageChoice(Struct, frozen=True):
    """Which pages; None does not limit them.

    Attributes:
        domain: exactly as it is stored.
        limit: 1 to 1,000; what is beyond is taken for the nearest of them.
        after: the `next` of the list before.
    """

    domain: str | None = None
    status: DocumentStatus | None = None
    verdict: Verdict | None = None
    limit: int = 50
    after: str | None = None


class PageList(Struct, frozen=True):
    """A part of a list.

    Attributes:
        next: from where it goes on; None at its end.
        total: how many pages the whole list has; None where they are many, or were chosen by status or verdict.
    """

    pages: tuple[ListedPage, ...]
    next: str | None
    total: int | None


def list_pages(project: ProjectStore, choice: PageChoice) -> PageList:
    """Return the pages that were written last, newest first.

    Raises:
        CursorError: `after` is not the `next` of any list.
    """
    after = from_cursor(choice.after, ListPlace)
    limit = min(max(choice.limit, 1), MOST_AT_ONCE)
    with project.session(read_only=True) as session:
        lists = PageLists(session, project.id, choice.domain)
        is_whole = choice.status is None and choice.verdict is None
        if is_whole:
            found = lists.some(after, limit + 1)
            pages, next_place = found[:limit], (place_after(found[limit - 1]) if len(found) > limit else None)
        else:
            pages, next_place = _filtered(lists, after, limit, choice)
        total = lists.count(_COUNTED) if is_whole else None
    return PageList(tuple(pages), to_cursor(next_place), total)


def _filtered(
    lists: PageLists, after: ListPlace | None, limit: int, choice: PageChoice
) -> tuple[list[ListedPage], ListPlace | None]:
    keys: list[bytes] = []
    for _ in range(LOOKED_AT // _READ_AT_ONCE):
        marks = lists.marks(after, _READ_AT_ONCE)
        for mark in marks:
            after = mark.place
            if choice.status in (None, mark.status) and choice.verdict in (None, mark.verdict):
                keys.append(mark.place.page_key)
                if len(keys) == limit:
                    return lists.pages(keys), after
        if len(marks) < _READ_AT_ONCE:
            return lists.pages(keys), None
    return lists.pages(keys), after


def place_after(page: ListedPage) -> ListPlace:
    """Return the place behind a page."""
    return ListPlace(page.updated_at, page.page_key)


PAGES: Final = 10_000
"""Pages that one search looks at."""

SECONDS: Final = 2.0
"""After so long a search takes no further pages."""

TEXT_CHARS: Final = 100_000
"""Characters of a page's text that are looked at."""

SNIPPET_CHARS: Final = 240
MOST_WORDS: Final = 10
MOST_FOUND: Final = 100
_LONGEST: Final = 400
_SEARCHED_AT_ONCE: Final = 200

Stopped = Literal["pages", "seconds"]


class SearchError(InvalidError):
    """There is nothing to look for."""


class SearchChoice(Struct, frozen=True):
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


class FoundPage(Struct, frozen=True):
    """A page that has all words; found_in says where: url, title, text; the snippet is of the last of these."""

    page: ListedPage
    found_in: tuple[str, ...]
    snippet: str


class SearchResults(Struct, frozen=True):
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
    project: ProjectStore, choice: SearchChoice, clock: Callable[[], float] = time.monotonic
) -> SearchResults:
    """Return the pages that have some words, newest first.

    Raises:
        SearchError: there are no words, or too many.
        CursorError: `after` is not the `next` of any search.
    """
    words, after = words_of(choice.words), from_cursor(choice.after, ListPlace)
    limit = min(max(choice.limit, 1), MOST_FOUND)
    until = clock() + SECONDS
    found: list[FoundPage] = []
    stopped: Stopped | None = None
    looked_at, is_over = 0, True
    with project.session(read_only=True) as session:
        for page, text in _pages(PageLists(session, project.id, choice.domain), after):
            if len(found) == limit:
                is_over = False
                break
            stopped = "pages" if looked_at == PAGES else "seconds" if clock() > until else None
            if stopped is not None:
                is_over = False
                break
            looked_at, after = looked_at + 1, place_after(page)
            match = match_of(page, text, words)
            if match is not None:
                found.append(match)
    return SearchResults(words, tuple(found), looked_at, stopped, None if is_over else to_cursor(after))


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
        pages = lists.some(after, _SEARCHED_AT_ONCE)
        texts = lists.texts([page.page_key for page in pages], TEXT_CHARS)
        for page in pages:
            yield page, texts.get(page.page_key, "")
        if len(pages) < _SEARCHED_AT_ONCE:
            return
        after = place_after(pages[-1])
