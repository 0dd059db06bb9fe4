import uuid
from dataclasses import fields

import pytest

from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.records.keep_policy import KeepPolicy
from scrapy_dedup.store.records.records import ValidatorRecord
from scrapy_dedup.store.records.stored import Run
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_document, a_key, a_time, a_url, a_visit


def begin(project: ProjectStore, hours: float = 0) -> Run:
    return project.begin_run(spider="site", jobdir=None, started_at=a_time(hours))


def test_a_visit_is_read_back(project: ProjectStore) -> None:
    run = begin(project)
    written = a_visit(
        change_class="boilerplate_only", bytes_received=2**40, seconds=0.25, callback_run=True, fetched="304"
    )

    project.write([written])

    (visit,) = project.visits_of_run(run.id)
    assert visit.run_id == run.id
    assert {f.name: getattr(visit, f.name) for f in fields(written)} == {
        f.name: getattr(written, f.name) for f in fields(written)
    }


@pytest.mark.parametrize("in_run", [True, False])
def test_a_visit_written_twice_is_one_visit(store: Store, project: ProjectStore, *, in_run: bool) -> None:
    if in_run:
        begin(project)
    project.write([a_visit(1), a_visit(1)])
    project.write([a_visit(1), a_visit(1, at=a_time(1)), a_visit(2)])

    found = [(change.visit.page_key, change.visit.at) for change in project.changes(NOON)]
    assert sorted(found) == sorted([(a_key(1), NOON), (a_key(2), NOON), (a_key(1), a_time(1))])
    assert all((change.visit.run_id is not None) is in_run for change in project.changes(NOON))


def test_visits_of_a_run_come_in_the_order_of_time(project: ProjectStore) -> None:
    """More of them than are read at once."""
    before = begin(project)
    project.write([a_visit("before")])
    run = begin(project, 1)
    project.write([a_visit(name, at=a_time(name % 4)) for name in range(5_100)])

    found = [(visit.at, visit.page_key) for visit in project.visits_of_run(run.id)]

    assert found == sorted((a_time(name % 4), a_key(name)) for name in range(5_100))
    assert [visit.page_key for visit in project.visits_of_run(before.id)] == [a_key("before")]
    assert list(project.visits_of_run(uuid.uuid4())) == []


class TestChanges:
    @pytest.fixture(autouse=True)
    def runs(self, project: ProjectStore) -> list[Run]:
        project.write([a_document(name) for name in "abc"])
        first = begin(project, 0)
        project.write([a_visit(name, at=a_time(1)) for name in "abc"])
        second = begin(project, 2)
        project.write(
            [
                a_visit("a", at=a_time(3), verdict="changed", change_class="title"),
                a_visit("b", at=a_time(3), verdict="unchanged"),
                a_visit("c", at=a_time(4), verdict="removed", http_status=410),
                a_visit("d", at=a_time(5), verdict=None, http_status=503),
                a_visit("e", at=a_time(5), verdict="new"),
            ]
        )
        return [first, second]

    def test_since_an_instant(self, project: ProjectStore) -> None:
        found = [(change.visit.page_key, change.visit.verdict) for change in project.changes(a_time(3))]

        assert found == [(a_key("a"), "changed"), (a_key("c"), "removed"), (a_key("e"), "new")]

    def test_since_a_run_began(self, project: ProjectStore, runs: list[Run]) -> None:
        assert len(list(project.changes(runs[0].id))) == 6
        assert len(list(project.changes(runs[1].id))) == 3

    def test_a_change_names_its_page(self, project: ProjectStore) -> None:
        first, *_, last = project.changes(a_time(3))

        assert (first.url, first.domain, first.visit.change_class) == (a_url("a"), DOMAIN, "title")
        assert (last.url, last.domain) == (None, None)

    def test_an_unknown_run_is_an_error(self, store: Store, runs: list[Run]) -> None:
        with pytest.raises(StoreError, match=r"no run .* in project 'other'"):
            store.project("other").changes(runs[0].id)


def test_runs_come_with_what_their_visits_add_up_to(project: ProjectStore) -> None:
    begin(project)
    spent = {"bytes_received": 100, "seconds": 0.5, "callback_run": True}
    project.write([a_visit(1, **spent), a_visit(2, **spent), a_visit(3, verdict=None, bytes_received=7)])
    begin(project, 1)

    second, first = project.runs()

    assert (second.verdicts, second.visits, second.callbacks, second.bytes_received) == ({}, 0, 0, 0)
    assert (first.verdicts, first.visits, first.callbacks) == ({"new": 2}, 3, 2)
    assert (first.bytes_received, first.seconds) == (207, 1.0)
    assert [run.run.started_at for run in project.runs(1)] == [a_time(1)]


@pytest.mark.parametrize("bound", [1, 95])
def test_visits_are_capped_and_the_oldest_go(store: Store, bound: int) -> None:
    project, other = store.project("p", KeepPolicy(visits=bound)), store.project("other")
    other.write([a_visit("other", at=a_time(-1))])
    run = begin(project)
    for number in range(0, 200, 5):
        project.write([a_visit(n, at=a_time(n)) for n in range(number, number + 5)])

    kept = [visit.page_key for visit in project.visits_of_run(run.id)]

    assert max(1, int(bound * 0.9)) <= len(kept) <= bound
    assert kept == [a_key(number) for number in range(200 - len(kept), 200)]
    assert len(list(other.changes(a_time(-1)))) == 1


def test_visits_are_capped_by_the_number_of_pages_where_there_are_more_than_a_few(store: Store) -> None:
    project = store.project("p", KeepPolicy(visits=5_000, visits_a_page=4))
    run = begin(project)

    def kept_after(pages: int, crawls: int) -> int:
        project.write([a_document(n) for n in range(pages)])
        for crawl in range(crawls):
            project.write([a_visit(n, at=a_time(1_000 * pages + crawl)) for n in range(pages)])
        return sum(1 for _ in project.visits_of_run(run.id))

    few, more, most = kept_after(10, 110), kept_after(500, 5), kept_after(2_000, 3)

    assert 900 <= few <= 1_000
    assert 1_800 <= more <= 2_000
    assert 4_500 <= most <= 5_000


def test_validators_add_up(store: Store, project: ProjectStore) -> None:
    project.write([ValidatorRecord(DOMAIN, sent=1), ValidatorRecord(DOMAIN, sent=2, not_modified=1)])
    project.write([ValidatorRecord(DOMAIN, sent=4, useless=2, changed_304=1), ValidatorRecord("other", sent=9)])

    assert project.validator_counts(DOMAIN) == ValidatorRecord(DOMAIN, 7, 1, 2, 1)
    assert project.validator_counts("unknown") == ValidatorRecord("unknown")
    assert store.project("p").validator_counts(DOMAIN) == ValidatorRecord(DOMAIN)


def test_changes_are_counted_by_verdict(project: ProjectStore) -> None:
    verdicts = ["new", "changed", "unchanged", "new", "removed", None]
    project.write([a_document(name) for name in range(5)])
    project.write([a_visit(name, at=a_time(name), verdict=verdict) for name, verdict in enumerate(verdicts)])

    assert project.count_changes(NOON) == {"new": 2, "changed": 1, "removed": 1}
    assert project.count_changes(a_time(1), verdict="new", domain=DOMAIN) == {"new": 1}
    assert project.count_changes(NOON, domain="other.example") == {}
    assert [change.visit.verdict for change in project.changes(NOON, verdict="new", domain=DOMAIN)] == ["new", "new"]
