"""Lists of pages, newest first, a bounded number at a time; whoever goes on from `next` meets every page.

A list looks at so many pages and no more, so that one whose filter few pages pass answers as fast as any other. Such a
list may come back short, or empty, and have a `next` all the same: it goes on from there.
"""

import base64
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.store.pages.page_lists import ListedPage, ListPlace, PageLists
from scrapy_dedup.store.records.records import DocumentStatus, Verdict
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

__all__ = ["MOST_AT_ONCE", "ListPlace", "ListedPage", "PageChoice", "PageCursorError", "PageList", "list_pages"]

MOST_AT_ONCE: Final = 1_000
"""Pages of one list at most."""

LOOKED_AT: Final = 5_000
"""Pages that a list with a filter looks at."""

_COUNTED: Final = 10_000
_READ_AT_ONCE: Final = 500
_LONGEST_CURSOR: Final = 200
_KEY_BYTES: Final = 16


class PageCursorError(DedupError):
    """The text is no place in a list of pages."""


@dataclass(frozen=True, slots=True)
class PageChoice:
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


@dataclass(frozen=True, slots=True)
class PageList:
    """A part of a list.

    Attributes:
        next: from where it goes on; None at its end.
        total: how many pages the whole list has; None where they are many, or were chosen by status or verdict.
    """

    pages: tuple[ListedPage, ...]
    next: str | None
    total: int | None


def list_pages(store: Store, project: ProjectStore, choice: PageChoice) -> PageList:
    """Return the pages that were written last, newest first.

    Raises:
        PageCursorError: `after` is not the `next` of any list.
        StoreError: the store failed.
    """
    after = place_of(choice.after)
    limit = min(max(choice.limit, 1), MOST_AT_ONCE)
    with store.session(read_only=True) as session:
        lists = PageLists(session, project.id, choice.domain)
        is_whole = choice.status is None and choice.verdict is None
        pages, next_place = _whole(lists, after, limit) if is_whole else _filtered(lists, after, limit, choice)
        total = lists.count(_COUNTED) if is_whole else None
    return PageList(tuple(pages), cursor_of(next_place), total)


def _whole(lists: PageLists, after: ListPlace | None, limit: int) -> tuple[list[ListedPage], ListPlace | None]:
    pages = lists.some(after, limit + 1)
    return pages[:limit], (place_after(pages[limit - 1]) if len(pages) > limit else None)


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


def cursor_of(place: ListPlace | None) -> str | None:
    """Return a place as text that can stand in a URL, None of None."""
    if place is None:
        return None
    plain = json.dumps([place.updated_at.isoformat(), place.page_key.hex()])
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def place_of(cursor: str | None) -> ListPlace | None:
    """Return the place that `cursor_of` wrote, None of None.

    Raises:
        PageCursorError: it wrote no such text.
    """
    if cursor is None:
        return None
    place = _read(cursor) if len(cursor) <= _LONGEST_CURSOR else None
    if place is None:
        shown = ascii(cursor[:60])
        raise PageCursorError(f"after={shown}: is not the `next` of a list; leave it out to begin anew")
    return place


def _read(cursor: str) -> ListPlace | None:
    try:
        said, key = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4)))
        place = ListPlace(datetime.fromisoformat(said), bytes.fromhex(key))
    except (ValueError, TypeError, RecursionError):
        return None
    return place if place.updated_at.tzinfo is not None and len(place.page_key) == _KEY_BYTES else None
