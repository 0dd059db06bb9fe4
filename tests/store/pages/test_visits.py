import pytest

from scrapy_dedup.store.records.records import KeepPolicy, ValidatorRecord
from scrapy_dedup.store.records.stored import Run
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, a_document, a_key, a_time, a_visit


def begin(project: ProjectStore, hours: float = 0) -> Run:
    return project.begin_run(spider="site", jobdir=None, started_at=a_time(hours))


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
