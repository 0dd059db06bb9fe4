"""What several crawls learn, or write without having asked: what is better known stays."""

import pytest

from scrapy_dedup.store.keep_policy import KeepPolicy
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import (
    DOMAIN,
    NOON,
    a_boilerplate,
    a_document,
    a_key,
    a_template,
    a_time,
    an_alarm,
    state_of,
)

ENOUGH = 60


@pytest.fixture
def project(store: Store) -> ProjectStore:
    return store.project("shop", KeepPolicy(enough_pages=ENOUGH))


@pytest.mark.parametrize(
    ("stored", "new", "left"),
    [
        pytest.param(40, 16, 40, id="fewer"),
        pytest.param(16, 40, 40, id="more"),
        pytest.param(40, 40, 40, id="as-many"),
        pytest.param(500, ENOUGH, ENOUGH, id="enough"),
        pytest.param(500, ENOUGH - 1, 500, id="not-enough"),
    ],
)
def test_what_repeats_on_a_domain_is_not_replaced_by_what_fewer_pages_show(
    project: ProjectStore, stored: int, new: int, left: int
) -> None:
    for pages in (stored, new):
        project.write([a_boilerplate(pages_analyzed=pages), a_boilerplate(domain="other.example", pages_analyzed=new)])

    (known,) = project.knowledge(DOMAIN).values()
    assert known.pages_analyzed == left
    assert [one.pages_analyzed for one in project.knowledge("other.example").values()] == [new]


def templates(project: ProjectStore) -> list[tuple[int, int]]:
    return [(one.version, one.pages) for one in project.templates(DOMAIN)]


@pytest.mark.parametrize(("job", "left"), [("night", (1, 40)), ("", (2, 16))], ids=["shared", "alone"])
def test_a_template_is_not_replaced_by_what_another_worker_saw_on_fewer_pages(
    project: ProjectStore, job: str, left: tuple[int, int]
) -> None:
    """Who crawls alone knows what it learned before, and has a reason."""
    project.begin_run(spider="site", jobdir=None, started_at=NOON, job=job)
    project.write([a_template(state="live", pages=40, body={"by": "one"}, created_at=a_time(1))])

    project.write([a_template(state="live", pages=16, body={"by": "other"}, created_at=a_time(2))])

    assert templates(project) == [left]


def test_a_template_of_a_redesigned_domain_is_replaced(project: ProjectStore) -> None:
    project.begin_run(spider="site", jobdir=None, started_at=NOON, job="night")
    project.write([a_template(state="live", pages=40, body={"by": "one"}, created_at=a_time(1))])
    project.write([an_alarm(raised_at=a_time(2))])

    project.write([a_template(state="live", pages=16, body={"by": "other"}, created_at=a_time(3))])

    assert templates(project) == [(2, 16)]


def test_a_template_of_an_earlier_run_is_replaced(project: ProjectStore) -> None:
    project.write([a_template(state="live", pages=40, body={"by": "one"}, created_at=a_time(-9))])
    project.begin_run(spider="site", jobdir=None, started_at=NOON, job="night")

    project.write([a_template(state="live", pages=16, body={"by": "other"}, created_at=a_time(1))])

    assert templates(project) == [(2, 16)]


def test_who_could_not_ask_what_was_known_of_a_page_does_not_destroy_it(project: ProjectStore) -> None:
    project.write([a_document(1, visits_count=7, changes_count=3, first_seen_at=NOON)])

    project.write([a_document(1, visits_count=1, changes_count=0, first_seen_at=a_time(9), updated_at=a_time(9))])

    state = project.page_states([a_key(1)])[a_key(1)]
    assert (state.visits_count, state.changes_count, state.first_seen_at) == (7, 3, NOON)
    assert state_of(project, 1).last_seen_at == a_time(9)
