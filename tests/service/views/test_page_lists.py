"""Lists of pages: what a reader who follows `next` meets."""

from contextlib import suppress
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.service.views.page_lists import LOOKED_AT, PAGES, PageChoice, SearchChoice, list_pages, search_pages
from scrapy_dedup.store.engine.codec import CursorError, from_cursor, to_cursor
from scrapy_dedup.store.pages.reads import ListPlace
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, a_document, a_key, a_source, a_time, a_url


def followed(project: ProjectStore, **choice: Any) -> list[str]:
    """Return the URLs of a list to its end."""
    found: list[str] = []
    after = None
    while True:
        part = list_pages(project, PageChoice(**choice, after=after))
        found += [page.url for page in part.pages]
        if part.next is None:
            return found
        after = part.next


def test_pages_are_chosen_by_status_and_verdict(project):
    project.write(
        [
            a_document(1, verdict="new"),
            a_document(2, verdict="changed"),
            a_document(3, status="failed"),
            a_document(4, verdict="changed", domain="other.example"),
        ]
    )

    assert followed(project, verdict="changed", domain=DOMAIN) == [a_url(2)]
    assert followed(project, status="failed", limit=1) == [a_url(3)]
    assert sorted(followed(project, status="completed", limit=1)) == [a_url(1), a_url(2), a_url(4)]


def test_a_filter_that_few_pages_pass_looks_at_a_bounded_number(project):
    project.write([a_document(number) for number in range(LOOKED_AT + 10)])
    project.write([a_document("rare", status="failed", updated_at=a_time(-1))])

    first = list_pages(project, PageChoice(status="failed"))
    assert (first.pages, first.next is None) == ((), False)
    assert followed(project, status="failed") == [a_url("rare")]


@given(st.text(max_size=300))
def test_any_text_is_a_place_or_is_refused(text):
    with suppress(CursorError):
        place = from_cursor(text, ListPlace)
        assert from_cursor(to_cursor(place), ListPlace) == place


def test_a_page_that_is_written_again_while_a_list_is_followed_hides_no_other(project):
    project.write([a_document(hour, updated_at=a_time(hour)) for hour in range(6)])
    first = list_pages(project, PageChoice(limit=3))

    project.write([a_document(1, updated_at=a_time(99))])
    rest = list_pages(project, PageChoice(limit=99, after=first.next))

    assert [page.url for page in rest.pages] == [a_url(2), a_url(0)]
    assert a_key(1) == list_pages(project, PageChoice(limit=1)).pages[0].page_key


def put(project: ProjectStore, name: object, title: str, text: str | None, hour: float = 0) -> None:
    project.write([a_document(name, title=title, updated_at=a_time(hour)), a_source(name, cleaned_content=text)])


def found(project: ProjectStore, words: str) -> list[str]:
    return [each.page.url for each in search_pages(project, SearchChoice(words)).found]


def test_words_are_found_in_url_title_and_text_in_any_letters(project):
    put(project, "rope", "A title", "Some text.", 3)
    put(project, 2, "All about ROPE", "Some text.", 2)
    put(project, 3, "A title", "Ropes are sold here.", 1)
    put(project, 4, "A title", "Nothing of it.", 0)

    assert found(project, "Rope") == [a_url("rope"), a_url(2), a_url(3)]
    results = search_pages(project, SearchChoice("rope"))
    assert [each.found_in for each in results.found] == [("url",), ("title",), ("text",)]
    assert (results.looked_at, results.stopped, results.next) == (4, None, None)
    assert search_pages(project, SearchChoice("rope", domain="other.example")).found == ()


def test_all_words_must_be_there_wherever(project):
    put(project, 1, "Rope", "Sold by the metre.")
    put(project, 2, "Rope", "Sold by weight.")

    assert found(project, "metre ROPE") == [a_url(1)]


def test_hostile_words_are_plain_text(project):
    put(project, 1, "Rope", "Sold by the metre.")

    for words in (*"%_(\\\0*\ud800\u202e", "r%e", "' OR 1=1 --", "ro.e", ".*", "[a-z", '"rope"'):
        assert found(project, words) == []


def test_who_goes_on_finds_each_page_once(project):
    for hour in range(7):
        put(project, hour, "Rope" if hour % 2 else "String", None, hour)

    pages, after = [], None
    for _ in range(10):
        results = search_pages(project, SearchChoice("rope", limit=1, after=after))
        pages += [each.page.url for each in results.found]
        after = results.next
        if after is None:
            break
    assert pages == [a_url(5), a_url(3), a_url(1)]


def test_a_search_stops_after_so_many_pages_and_goes_on(project):
    project.write([a_document(number, title="String") for number in range(PAGES + 5)])
    project.write([a_document("rope", title="Rope", updated_at=a_time(-1))])

    forever = lambda: 0.0  # noqa: E731 (a clock that stands)
    first = search_pages(project, SearchChoice("rope"), forever)
    assert (first.found, first.looked_at, first.stopped) == ((), PAGES, "pages")
    second = search_pages(project, SearchChoice("rope", after=first.next), forever)
    assert ([each.page.url for each in second.found], second.stopped, second.next) == ([a_url("rope")], None, None)


def test_a_search_stops_after_so_long_and_goes_on(project):
    for hour in range(6):
        put(project, hour, "Rope", None, hour)
    a_second_each_time = count()

    first = search_pages(project, SearchChoice("rope"), lambda: float(next(a_second_each_time)))
    assert (len(first.found), first.looked_at, first.stopped) == (2, 2, "seconds")
    assert len(search_pages(project, SearchChoice("rope", after=first.next)).found) == 4
