from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.core.runs import Lead
from scrapy_dedup.store.engine.codec import pack_fingerprints
from scrapy_dedup.store.records.records import GoneRecord, KeepPolicy, Record, ValidatorRecord
from scrapy_dedup.store.records.stored import ChangeChoice, Run
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import (
    DOMAIN,
    NOON,
    a_crawled_url,
    a_decision,
    a_document,
    a_key,
    a_snapshot,
    a_time,
    a_visit,
    document_of,
    state_of,
)

EVER = ChangeChoice(a_time(-1))


def begin(project: ProjectStore, hours: float = 0) -> Run:
    return project.begin_run(spider="site", jobdir=None, started_at=a_time(hours))


@pytest.mark.parametrize("bound", [1, 95])
def test_visits_and_decisions_are_capped_and_the_oldest_go(store, bound):
    project, other = store.project("p", KeepPolicy(visits=bound, decisions=bound)), store.project("other")
    other.write([a_visit("other", at=a_time(-1))])
    begin(project)
    for number in range(0, 200, 5):
        project.write([a_visit(n, at=a_time(n)) for n in range(number, number + 5)])
        project.write([a_decision(n, decided_at=a_time(n)) for n in range(number, number + 5)])

    visits = [change.page_key for change in project.changes(EVER)]
    decisions = [a_key(number) for number in range(200) if project.decisions(a_key(number))]

    for kept in (visits, decisions):
        assert max(1, int(bound * 0.9)) <= len(kept) <= bound
        assert kept == [a_key(number) for number in range(200 - len(kept), 200)]
    assert len(list(other.changes(EVER))) == 1


def test_visits_are_capped_by_the_number_of_pages_where_there_are_more_than_a_few(store):
    project = store.project("p", KeepPolicy(visits=5_000, visits_a_page=4))
    begin(project)

    def kept_after(pages: int, crawls: int) -> int:
        project.write([a_document(n) for n in range(pages)])
        for crawl in range(crawls):
            project.write([a_visit(n, at=a_time(1_000 * pages + crawl)) for n in range(pages)])
        return project.count_changes(EVER)["new"]

    few, more, most = kept_after(10, 110), kept_after(500, 5), kept_after(2_000, 3)

    assert 900 <= few <= 1_000
    assert 1_800 <= more <= 2_000
    assert 4_500 <= most <= 5_000


def test_validators_add_up(store, project):
    project.write([ValidatorRecord(DOMAIN, sent=1), ValidatorRecord(DOMAIN, sent=2, not_modified=1)])
    project.write([ValidatorRecord(DOMAIN, sent=4, useless=2, changed_304=1), ValidatorRecord("other", sent=9)])

    assert project.validator_counts(DOMAIN) == ValidatorRecord(DOMAIN, 7, 1, 2, 1)
    assert project.validator_counts("unknown") == ValidatorRecord("unknown")
    assert store.project("p").validator_counts(DOMAIN) == ValidatorRecord(DOMAIN)


STATE = {
    "verdict": "changed",
    "title": "T",
    "content_hash": a_key("content"),
    "cleaned_hash": a_key("cleaned"),
    "etag": '"1"',
    "last_modified": "Sun, 01 Mar 2026 12:00:00 GMT",
    "validated_at": NOON,
    "first_seen_at": a_time(-9),
    "last_seen_at": a_time(-1),
    "last_changed_at": a_time(-2),
    "blocks": pack_fingerprints([3, 1, 2**64 - 1]),
    "interval_seconds": 3600.5,
    "visits_count": 7,
    "changes_count": 2,
    "missed_runs": 1,
    "gone_at": a_time(-3),
}


class TestPageStates:
    @pytest.mark.parametrize("status", ["processing", "failed"])
    def test_what_was_acknowledged_outlives_a_visit_that_was_not(self, project, status):
        project.write([a_document(**STATE, chars_in=9)])
        before = state_of(project)
        run = begin(project)

        project.write([a_document(status=status, title="other", error="E", updated_at=a_time(9))])

        after = state_of(project)
        assert {name: getattr(after, name) for name in STATE} == {name: getattr(before, name) for name in STATE}
        assert (after.status, after.run_id) == (status, run.id)
        document = document_of(project)
        assert (document.error, document.updated_at, document.chars_in) == ("E", a_time(9), 9)


class TestSeenAgain:
    def test_a_snapshot_changes_the_visit_and_leaves_the_document(self, project):
        project.write([a_document(**STATE, chars_in=9)])
        before = state_of(project)
        run = begin(project)

        project.write([a_snapshot(at=a_time(5), visits_count=8, etag='"2"', interval_seconds=60.0)])

        after = state_of(project)
        assert (after.verdict, after.last_seen_at, after.visits_count) == ("unchanged", a_time(5), 8)
        assert (after.etag, after.last_modified, after.interval_seconds) == ('"2"', None, 60.0)
        assert (after.missed_runs, after.gone_at) == (0, None)
        assert list(project.finished_keys(run.id)) == [a_key()]
        kept = {"title", "content_hash", "validated_at", "blocks", "first_seen_at", "changes_count"}
        assert {name: getattr(after, name) for name in kept} == {name: getattr(before, name) for name in kept}
        assert document_of(project).chars_in == 9

    def test_a_page_that_failed_is_completed_when_it_is_seen(self, project):
        project.write([a_document(**STATE)])
        project.write([a_document(status="failed", error="E"), a_snapshot()])

        assert (state_of(project).status, document_of(project).error) == ("completed", None)


STEPS: dict[str, Callable[[str, int], Record]] = {
    "completed": lambda name, n: a_document(name, chars_in=n, etag=str(n), first_seen_at=a_time(n)),
    "begun": lambda name, n: a_document(name, status="processing", error=str(n), title="begun"),
    "seen": lambda name, n: a_snapshot(name, at=a_time(n), visits_count=n),
    "received": lambda name, n: a_snapshot(name, at=a_time(n), visits_count=n, blocks=bytes(8 * n)),
    "url": lambda name, n: a_crawled_url(name, http_status=n),
}
SPLIT = "abc"


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.sampled_from(SPLIT), st.integers(0, 9)), max_size=12),
    st.integers(1, 4),
)
def test_how_records_are_split_into_batches_changes_nothing(lasting, steps, size):
    project = lasting.project("split")

    def final(batches: list[list[Record]]) -> object:
        # Other pages each time: what was first seen stays.
        project.write(GoneRecord(a_key(name), NOON) for name in SPLIT)
        project.write(a_document(name, chars_in=0, first_seen_at=NOON) for name in SPLIT)
        for batch in batches:
            project.write(batch)
        return project.page_states([a_key(name) for name in SPLIT]), [project.page(a_key(name)) for name in SPLIT]

    records = [STEPS[kind](name, number) for kind, name, number in steps]

    at_once = final([records])
    assert final([records[start : start + size] for start in range(0, len(records), size)]) == at_once


class TestMissing:
    @pytest.fixture(autouse=True)
    def pages(self, project) -> None:
        """Four pages of a domain and one of another, seen an hour before the run begins."""
        project.write([a_document(name, updated_at=a_time(-1)) for name in "abcd"])
        project.write([a_document("e", domain="other.example", updated_at=a_time(-1))])

    def missing(self, project: ProjectStore, hours: float = 0) -> dict[bytes, int]:
        """Count what a run misses; return how many runs before it missed it, too."""
        run = begin(project, hours)
        missing = {page.page_key: page.missed_runs for page in project.missing_pages(run.id, [DOMAIN])}
        assert project.count_missed(run.id, list(missing))
        return missing

    def test_pages_that_a_run_did_not_see_are_missing(self, project):
        run = begin(project)
        project.write([a_snapshot("a", at=a_time(0.5)), a_document("b", updated_at=a_time(0.5))])

        found = list(project.missing_pages(run.id, [DOMAIN]))

        assert {page.page_key for page in found} == {a_key("c"), a_key("d")}
        assert found[0].last_seen_at == a_time(-1)
        assert state_of(project, "e").missed_runs == 0

    def test_what_is_known_of_pages_that_led_to_others_is_what_the_run_left(self, project):
        begin(project)
        asked = {"status": "failed", "last_crawled_at": a_time(0.5)}
        project.write([a_snapshot("a", at=a_time(0.5)), GoneRecord(a_key("b"), a_time(0.5))])
        project.write([a_crawled_url("c", http_status=410, **asked), a_crawled_url("tried", http_status=500, **asked)])
        project.write([a_crawled_url("old", last_crawled_at=a_time(-1))])
        keys = [a_key(name) for name in ("a", "b", "c", "d", "tried", "old", "never")]

        assert project.leads(project.run.id, keys) == {
            a_key("a"): Lead.READ,
            a_key("b"): Lead.GONE,
            a_key("c"): Lead.GONE,
            a_key("d"): Lead.UNREAD,
            a_key("tried"): Lead.UNREAD,
        }

    def test_page_that_is_missing_comes_with_what_led_to_it_and_what_it_answered(self, project):
        project.write([a_document("a", updated_at=a_time(-1), parent_key=a_key("list"))])
        project.write([a_document("d", updated_at=a_time(-1), parent_key=a_key("list"))])
        project.write([a_snapshot("d", at=a_time(-1), parent_key=a_key("other list"))])
        begin(project)
        gone = {"status": "failed", "http_status": 404}
        project.write([a_crawled_url("b", last_crawled_at=a_time(0.5), **gone)])
        project.write([a_crawled_url("c", last_crawled_at=a_time(-0.5), **gone)])

        found = {
            page.url[-1]: (page.parent_key, page.asked, page.http_status)
            for page in project.missing_pages(project.run.id, [DOMAIN])
        }
        assert found == {
            "a": (a_key("list"), None, None),
            "b": (None, "failed", 404),
            "c": (None, None, 404),
            "d": (a_key("other list"), None, None),
        }

    def test_pages_of_another_spider_are_not_missing(self, project):
        project.begin_run(spider="other", jobdir=None, started_at=a_time(-2))
        project.write([a_document("a", updated_at=a_time(-1))])

        assert self.missing(project).keys() == {a_key(name) for name in "bcd"}

    def test_pages_without_an_acknowledged_visit_are_not_missing(self, project):
        project.write([a_document("begun", status="processing")])

        assert a_key("begun") not in self.missing(project)

    def test_more_pages_than_are_read_at_once_are_handed_out(self, project):
        project.write(a_document(name, domain="many.example", updated_at=a_time(-1)) for name in range(1_100))
        run = begin(project)

        found = list(project.missing_pages(run.id, ["many.example", DOMAIN]))

        assert len(found) == len({page.page_key for page in found}) == 1_104
