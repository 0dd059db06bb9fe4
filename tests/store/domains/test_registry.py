"""The registry's rows and lists, on both databases."""

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_dedup.store.domains import lists as domain_lists
from scrapy_dedup.store.domains import registry as domains
from scrapy_dedup.store.domains.lists import SORTS, DomainChoice, DomainSort
from scrapy_dedup.store.engine.codec import CursorError
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import NOON, a_time

NAMES = ["example.org", "[::1]:8000", "a-b.example", "aa.example", "a_b.example", "127.0.0.1:99", "xn--bcher-kva.de"]


@pytest.fixture
def project(lasting, request) -> ProjectStore:
    """A project of its own in one store for all tests."""
    return lasting.project(request.node.name)


def register(project: ProjectStore, *names: str) -> set[str]:
    with project.transaction(write=True) as connection:
        return domains.register(connection, project.id, names, NOON)


def change(project: ProjectStore, values: dict[str, dict[str, Any]]) -> None:
    with project.transaction(write=True) as connection:
        rows = domains.find(connection, project.id, values)
        for name, each in values.items():
            domains.change(connection, {rows[name].domain_id: each}, NOON)


def find(project: ProjectStore, *names: str) -> dict[str, domains.StoredDomain]:
    with project.transaction() as connection:
        return domains.find(connection, project.id, names)


def listed(project: ProjectStore, choice: DomainChoice) -> domain_lists.DomainList:
    with project.transaction() as connection:
        return domain_lists.list_domains(connection, project.id, choice)


def all_pages(project: ProjectStore, sort: DomainSort, limit: int, **choice: Any) -> list[str]:
    names: list[str] = []
    after = None
    while True:
        found = listed(project, DomainChoice(sort=sort, limit=limit, after=after, **choice))
        names += [each.domain_name for each in found.domains]
        after = found.next
        if after is None:
            return names


def test_more_names_than_one_statement_takes(project):
    names = [f"{number}.example" for number in range(1_203)]

    assert register(project, *names) == set(names)
    assert find(project, *names).keys() == set(names)


def test_twins_know_of_each_other_whichever_came_first(project):
    register(project, "example.org", "www.shop.example")
    register(project, "www.example.org", "shop.example", "alone.example")

    twins = {name: row.twin for name, row in find(project, "example.org", "www.example.org", "shop.example").items()}
    assert twins == {
        "example.org": "www.example.org",
        "www.example.org": "example.org",
        "shop.example": "www.shop.example",
    }
    assert find(project, "alone.example")["alone.example"].twin is None


VALUES: list[dict[str, Any]] = [
    {"pages": 3, "best_confidence_score": 0.5, "boilerplate_share": 0.25, "last_crawled_at": a_time(3)},
    {"pages": 3, "best_confidence_score": None, "boilerplate_share": 0.25, "last_crawled_at": None},
    {"pages": 1, "best_confidence_score": 0.1, "boilerplate_share": 1 / 3, "last_crawled_at": a_time(1 / 7)},
    {"pages": 0, "best_confidence_score": None, "boilerplate_share": 0.0, "last_crawled_at": a_time(3)},
    {"pages": 7, "best_confidence_score": 0.5, "boilerplate_share": 0.9, "last_crawled_at": None},
    {"pages": 3, "best_confidence_score": 1.0, "boilerplate_share": 0.1, "last_crawled_at": a_time(9)},
    {"pages": 0, "best_confidence_score": 0.0, "boilerplate_share": 0.0, "last_crawled_at": None},
]
COLUMNS = {
    "pages": "pages",
    "confidence": "best_confidence_score",
    "boilerplate": "boilerplate_share",
    "crawled": "last_crawled_at",
}


@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("sort", SORTS)
def test_a_list_has_each_domain_once_in_one_order_however_long_its_pages_are(project, sort, descending):
    register(project, *NAMES)
    change(project, dict(zip(NAMES, VALUES, strict=True)))

    whole = all_pages(project, sort, 100, descending=descending)

    def value(name: str) -> Any:
        return VALUES[NAMES.index(name)][COLUMNS[sort]] if sort in COLUMNS else 0

    known = sorted((name for name in NAMES if value(name) is not None), key=lambda name: (value(name), name))
    unknown = sorted(name for name in NAMES if value(name) is None)
    assert whole == known[::-1] + unknown[::-1] if descending else known + unknown
    for limit in (1, 2, 3):
        assert all_pages(project, sort, limit, descending=descending) == whole


def test_a_cursor_belongs_to_its_order(project):
    register(project, *NAMES)
    after = listed(project, DomainChoice(limit=1)).next

    with pytest.raises(CursorError, match="first page"):
        listed(project, DomainChoice(sort="pages", after=after))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_whatever_a_cursor_holds_is_refused_or_read(lasting, data):

    sort = data.draw(st.sampled_from(SORTS))
    odd = ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-03-01T12:00:00", 2**63, -(2**31), 1e308]
    value = data.draw(st.sampled_from(odd) | st.none() | st.integers() | st.floats() | st.text() | st.booleans())
    inner = json.dumps([sort, data.draw(st.booleans()), value, data.draw(st.text() | st.none())])
    cursor = data.draw(st.text() | st.just(base64.urlsafe_b64encode(inner.encode()).decode()))

    try:
        found = listed(lasting.project("none"), DomainChoice(sort=sort, after=cursor))
    except CursorError:
        return
    assert found.domains == ()
