"""Lists of pages: every page once, newest first, on both databases."""

from scrapy_dedup.store.pages.page_lists import TITLE_CHARS, ListPlace, PageLists
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_document, a_key, a_source, a_time, a_url

OTHER = "other.example"


def urls(store: Store, project: ProjectStore, domain: str | None, at_once: int) -> list[list[str]]:
    """Return the lists, each gone on with from the last page of the one before."""
    found: list[list[str]] = []
    after: ListPlace | None = None
    with store.session(read_only=True) as session:
        lists = PageLists(session, project.id, domain)
        while pages := lists.some(after, at_once):
            found.append([page.url for page in pages])
            after = ListPlace(pages[-1].updated_at, pages[-1].page_key)
    return found


def test_pages_come_newest_first_and_each_once_by_domain_and_project(store: Store, project: ProjectStore) -> None:
    project.write([a_document(hour, updated_at=a_time(hour)) for hour in (3, 1, 2, 5, 4)])
    project.write([a_document(name, domain=OTHER) for name in range(10, 19)])
    store.project("another").write([a_document(3)])

    assert urls(store, project, DOMAIN, 2) == [[a_url(5), a_url(4)], [a_url(3), a_url(2)], [a_url(1)]]
    of_one_instant = [url for some in urls(store, project, OTHER, 2) for url in some]
    assert of_one_instant == [a_url(name) for name in sorted(range(10, 19), key=a_key, reverse=True)]
    assert urls(store, project, "no\0thing \ud800", 5) == []
    assert len(urls(store, project, None, 50)[0]) == 14


def test_titles_and_texts_are_cut_and_few_pages_are_counted(store: Store, project: ProjectStore) -> None:
    project.write([a_document(1, title="x" * 100_000), a_document(2)])
    project.write([a_source(1, cleaned_content="clean text", fetched_at=NOON), a_source(2)])

    with store.session(read_only=True) as session:
        lists = PageLists(session, project.id, DOMAIN)
        assert sorted(page.title or "" for page in lists.some(None, 5)) == ["", "x" * TITLE_CHARS]
        assert (lists.count(2), lists.count(1)) == (2, None)
        assert lists.texts([a_key(1), a_key(2), a_key(3)], 5) == {a_key(1): "clean"}
