import itertools
from collections.abc import Iterator
from datetime import timedelta

import pytest

from scrapy_dedup.core.urls import page_key
from scrapy_dedup.service.cache_stats import CacheStats, cache_stats
from scrapy_dedup.store.records import CrawledUrlRecord, Fetched, ValidatorRecord, Verdict, VisitRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.databases import Server, postgresql
from tests.service.cached import a_domain, a_page
from tests.service.stored_pages import DOMAIN, NOON, a_url

__all__ = ["postgresql"]

NEXT_DAY = NOON + timedelta(days=1)
numbers = itertools.count()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "sqlite":
        with Store.open("sqlite://") as opened:
            yield opened
        return
    server: Server = request.getfixturevalue("postgresql")
    with server.new_store() as url, Store.open(url) as opened:
        yield opened


def a_visit(
    name: object, fetched: Fetched, verdict: Verdict | None = "unchanged", size: int = 0, *, ran: bool = False
) -> VisitRecord:
    at = NEXT_DAY + timedelta(seconds=next(numbers))
    seconds = 0.1 if fetched != "skip" else 0.0
    return VisitRecord(
        page_key(a_url(name)), at, fetched, verdict, "why", bytes_received=size, seconds=seconds, callback_run=ran
    )


@pytest.fixture
def crawled(project: ProjectStore) -> ProjectStore:
    """Two runs: the first extracted six pages of 1,000 bytes, each in half a second."""
    project.begin_run(spider="site", jobdir=None, started_at=NOON)
    project.write(record for name in range(6) for record in a_page(name))
    project.begin_run(spider="site", jobdir=None, started_at=NEXT_DAY)
    project.write(
        [
            a_visit(0, "304", size=10),
            a_visit(1, "304"),
            a_visit(2, "get", size=1200),
            a_visit(3, "skip"),
            a_visit(4, "get", "changed", 800, ran=True),
            # Unchanged, but with a new link: its callback ran.
            a_visit(5, "get", size=1000, ran=True),
            a_visit(0, "get", None),
            a_visit(1, "get", "removed"),
        ]
    )
    return project


def only(stats: CacheStats) -> tuple[str, ...]:
    return tuple(domain.domain for domain in stats.domains)


def test_of_the_last_run(store: Store, crawled: ProjectStore) -> None:
    stats = cache_stats(store, crawled, price=0.25)

    (domain,) = stats.domains
    assert (domain.domain, domain.visits, domain.callbacks_run, domain.bytes_received) == (DOMAIN, 8, 2, 3010)
    assert {way: answered.pages for way, answered in domain.ways.items()} == {"304": 2, "text": 1, "skip": 1}
    assert domain.hit_rate == 4 / 8
    assert stats.money_saved == 1.0
    assert stats.run is not None
    assert stats.run.started_at == NEXT_DAY
    assert domain.extractions == 6
    assert domain.packed_bytes > 0


def test_bytes_saved_are_what_the_page_weighed_last(store: Store, crawled: ProjectStore) -> None:
    (domain,) = cache_stats(store, crawled).domains

    assert {way: answered.bytes_saved for way, answered in domain.ways.items()} == {
        "304": 1990,
        "text": 0,
        "skip": 1000,
    }


def test_a_page_of_unknown_weight_counts_as_the_average(store: Store, project: ProjectStore) -> None:
    project.write([record for name in range(2) for record in a_page(name)])
    url = CrawledUrlRecord(page_key(a_url("early")), a_url("early"), DOMAIN, "crawled", NOON)
    project.write([url, a_visit("early", "304")])

    (domain,) = cache_stats(store, project, all_runs=True).domains

    answered = domain.ways["304"]
    assert (answered.pages, answered.bytes_saved) == (1, 1000)
    assert answered.seconds_saved == pytest.approx(0.4)


def test_seconds_saved_are_against_visits_with_a_callback(store: Store, crawled: ProjectStore) -> None:
    """Six of 0.5 s and two of 0.1 s: 0.4 s on average."""
    (domain,) = cache_stats(store, crawled).domains

    assert domain.saved.seconds_saved == pytest.approx(4 * 0.4 - 3 * 0.1)


def test_of_all_visits_that_are_kept(store: Store, crawled: ProjectStore) -> None:
    stats = cache_stats(store, crawled, all_runs=True)

    assert (stats.run, stats.total.visits, stats.total.callbacks_run, stats.money_saved) == (None, 14, 8, None)


def test_domains_are_apart_and_add_up(store: Store, crawled: ProjectStore) -> None:
    other = "https://a.example/1"
    crawled.write(a_page(1, url=other))
    crawled.write([ValidatorRecord("b.example", sent=30, not_modified=0, useless=30)])

    stats = cache_stats(store, crawled)

    assert only(stats) == ("a.example", "b.example", DOMAIN)
    assert stats.total.visits == 9
    assert [domain.extractions for domain in stats.domains] == [1, 0, 6]
    assert stats.total.extractions == 7


def test_a_visit_of_a_page_that_nobody_knows_any_more_counts(store: Store, project: ProjectStore) -> None:
    project.write([a_visit("deleted", "get", "removed")])

    assert only(cache_stats(store, project)) == ("",)


@pytest.mark.parametrize(
    ("counts", "trusted"),
    [
        pytest.param(ValidatorRecord(DOMAIN, sent=30, not_modified=28, useless=2), True, id="useful"),
        pytest.param(ValidatorRecord(DOMAIN, sent=30, useless=30), False, id="useless"),
        pytest.param(ValidatorRecord(DOMAIN, sent=30, not_modified=20, changed_304=5), False, id="false"),
        pytest.param(ValidatorRecord(DOMAIN), None, id="never-sent"),
    ],
)
def test_trust_is_told_with_its_counts(
    store: Store, project: ProjectStore, counts: ValidatorRecord, *, trusted: bool | None
) -> None:
    project.write([counts])

    (domain,) = cache_stats(store, project).domains

    assert (domain.trust and domain.trust.trusted) is trusted
    assert domain.validators == counts


def test_trust_in_sitemaps_is_told(store: Store, project: ProjectStore) -> None:
    project.write([ValidatorRecord(DOMAIN, lastmod_right=40, lastmod_wrong=0)])

    (domain,) = cache_stats(store, project).domains

    assert domain.lastmod_trust is not None
    assert domain.lastmod_trust.trusted


def test_nothing_is_nothing(store: Store, project: ProjectStore) -> None:
    stats = cache_stats(store, project, price=1)

    assert (stats.domains, stats.total.hit_rate, stats.money_saved) == ((), 0.0, 0.0)


def test_other_projects_do_not_count(store: Store, crawled: ProjectStore) -> None:
    before = cache_stats(store, crawled)
    other = store.project("other")
    other.write([*a_page(0), *a_domain(), a_visit(0, "304")])

    assert cache_stats(store, crawled) == before
