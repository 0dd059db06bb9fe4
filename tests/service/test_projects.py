import pytest

from scrapy_dedup.service.projects import UnknownProjectError, delete_project, find_project, list_projects
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import NOON, put_html


def test_projects_are_listed_by_name(store: Store) -> None:
    put_html(store.project("shop"), range(3))
    store.project("blog").begin_run(spider="site", jobdir=None, started_at=NOON)

    assert [(each.name, each.pages, each.runs) for each in list_projects(store)] == [("blog", 0, 1), ("shop", 3, 0)]


def test_a_dry_run_counts_what_a_deletion_deletes(store: Store, project: ProjectStore) -> None:
    put_html(project, range(3))
    put_html(store.project("other"), range(2))

    planned = delete_project(store, "shop", dry_run=True)
    assert len(list_projects(store)) == 2
    done = delete_project(store, "shop", dry_run=False)

    assert (planned.rows, planned.deleted) == ({"crawled_urls": 3, "documents": 3, "projects": 1, "sources": 3}, False)
    assert (done.rows, done.deleted, done.total) == (planned.rows, True, 10)
    assert [(each.name, each.pages) for each in list_projects(store)] == [("other", 2)]


@pytest.mark.usefixtures("project")
def test_an_unknown_project_is_told_with_those_that_there_are(store: Store) -> None:
    with pytest.raises(UnknownProjectError, match=r"no project 'shap' in the store.*there is 'shop'"):
        delete_project(store, "shap", dry_run=False)


def test_an_empty_store_is_told_as_such(store: Store) -> None:
    with pytest.raises(UnknownProjectError, match="the store is empty: run a crawl first"):
        find_project(store, "shop")
