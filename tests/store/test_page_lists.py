"""Lists of pages: every page once, newest first, on both databases."""

from scrapy_dedup.store.page_lists import TITLE_CHARS, PageLists, Place
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_document, a_key, a_source, a_time, a_url

OTHER = "other.example"


def urls(store: Store, project: ProjectStore, domain: str | None, at_once: int) -> list[list[str]]:
    """Return the lists, each gone on with from the last page of the one before."""
    found: list[list[str]] = []
    after: Place | None = None
    with store.session(read_only=True) as session:
        lists = PageLists(session, project.id, domain)
        while pages := lists.some(after, at_once):
            found.append([page.url for page in pages])
            after = Place(pages[-1].updated_at, pages[-1].page_key)
    return found


def test_pages_come_newest_first_and_each_once(store: Store, project: ProjectStore) -> None:
    project.write([a_document(hour, updated_at=a_time(hour)) for hour in (3, 1, 2, 5, 4)])

    assert urls(store, project, None, 2) == [[a_url(5), a_url(4)], [a_url(3), a_url(2)], [a_url(1)]]


def test_pages_of_one_instant_come_each_once(store: Store, project: ProjectStore) -> None:
    project.write([a_document(name) for name in range(9)])

    found = [url for some in urls(store, project, None, 2) for url in some]
    assert found == [a_url(name) for name in sorted(range(9), key=a_key, reverse=True)]


def test_a_domain_has_its_pages_alone_and_a_project_only_its_own(store: Store, project: ProjectStore) -> None:
    project.write([a_document(1), a_document(2, domain=OTHER)])
    store.project("another").write([a_document(3)])

    assert urls(store, project, DOMAIN, 5) == [[a_url(1)]]
    assert urls(store, project, OTHER, 5) == [[a_url(2)]]
    assert urls(store, project, "no\0thing \ud800", 5) == []
    assert len(urls(store, project, None, 5)[0]) == 2


def test_a_long_title_is_cut(store: Store, project: ProjectStore) -> None:
    project.write([a_document(1, title="x" * 100_000)])

    with store.session(read_only=True) as session:
        (page,) = PageLists(session, project.id).some(None, 5)
    assert page.title == "x" * TITLE_CHARS


def test_few_pages_are_counted_and_many_are_not(store: Store, project: ProjectStore) -> None:
    project.write([a_document(1), a_document(2)])

    with store.session(read_only=True) as session:
        lists = PageLists(session, project.id, DOMAIN)
        assert (lists.count(2), lists.count(1)) == (2, None)


def test_texts_are_found_by_key_and_cut(store: Store, project: ProjectStore) -> None:
    project.write([a_document(1), a_source(1, cleaned_content="clean text", fetched_at=NOON), a_source(2)])

    with store.session(read_only=True) as session:
        assert PageLists(session, project.id).texts([a_key(1), a_key(2), a_key(3)], 5) == {a_key(1): "clean"}
