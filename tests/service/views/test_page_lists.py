"""Lists of pages: what a reader who follows `next` meets."""

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.service.views.page_lists import (
    LOOKED_AT,
    PageChoice,
    PageCursorError,
    cursor_of,
    list_pages,
    place_of,
)
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, a_document, a_key, a_time, a_url


def followed(store: Store, project: ProjectStore, **choice: Any) -> list[str]:
    """Return the URLs of a list to its end."""
    found: list[str] = []
    after = None
    while True:
        part = list_pages(store, project, PageChoice(**choice, after=after))
        found += [page.url for page in part.pages]
        if part.next is None:
            return found
        after = part.next


def test_pages_are_chosen_by_status_and_verdict(store: Store, project: ProjectStore) -> None:
    project.write(
        [
            a_document(1, verdict="new"),
            a_document(2, verdict="changed"),
            a_document(3, status="failed"),
            a_document(4, verdict="changed", domain="other.example"),
        ]
    )

    assert followed(store, project, verdict="changed", domain=DOMAIN) == [a_url(2)]
    assert followed(store, project, status="failed", limit=1) == [a_url(3)]
    assert sorted(followed(store, project, status="completed", limit=1)) == [a_url(1), a_url(2), a_url(4)]


def test_a_filter_that_few_pages_pass_looks_at_a_bounded_number(store: Store, project: ProjectStore) -> None:
    project.write([a_document(number) for number in range(LOOKED_AT + 10)])
    project.write([a_document("rare", status="failed", updated_at=a_time(-1))])

    first = list_pages(store, project, PageChoice(status="failed"))
    assert (first.pages, first.next is None) == ((), False)
    assert followed(store, project, status="failed") == [a_url("rare")]


@given(st.text(max_size=300))
def test_any_text_is_a_place_or_is_refused(text: str) -> None:
    with suppress(PageCursorError):
        place = place_of(text)
        assert place_of(cursor_of(place)) == place


def test_a_page_that_is_written_again_while_a_list_is_followed_hides_no_other(store: Store, project: ProjectStore):
    project.write([a_document(hour, updated_at=a_time(hour)) for hour in range(6)])
    first = list_pages(store, project, PageChoice(limit=3))

    project.write([a_document(1, updated_at=a_time(99))])
    rest = list_pages(store, project, PageChoice(limit=99, after=first.next))

    assert [page.url for page in rest.pages] == [a_url(2), a_url(0)]
    assert a_key(1) == list_pages(store, project, PageChoice(limit=1)).pages[0].page_key
