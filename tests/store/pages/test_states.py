from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.store.engine.codec import pack_fingerprints
from scrapy_dedup.store.records.records import GoneRecord, Record
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import (
    DOMAIN,
    NOON,
    a_crawled_url,
    a_document,
    a_key,
    a_snapshot,
    a_time,
    document_of,
    state_of,
)

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


def begin(project: ProjectStore, hours: float = 0) -> None:
    project.begin_run(spider="site", jobdir=None, started_at=a_time(hours))


class TestPageStates:
    @pytest.mark.parametrize("status", ["processing", "failed"])
    def test_what_was_acknowledged_outlives_a_visit_that_was_not(self, project: ProjectStore, status: str) -> None:
        project.write([a_document(**STATE, chars_in=9)])
        before = state_of(project)
        begin(project)

        project.write([a_document(status=status, title="other", error="E", updated_at=a_time(9))])

        after = state_of(project)
        assert {name: getattr(after, name) for name in STATE} == {name: getattr(before, name) for name in STATE}
        assert (after.status, after.run_id) == (status, project.run.id if project.run else None)
        document = document_of(project)
        assert (document.error, document.updated_at, document.chars_in) == ("E", a_time(9), 9)


class TestSeenAgain:
    def test_a_snapshot_changes_the_visit_and_leaves_the_document(self, project: ProjectStore) -> None:
        project.write([a_document(**STATE, chars_in=9)])
        before = state_of(project)
        begin(project)

        project.write([a_snapshot(at=a_time(5), visits_count=8, etag='"2"', interval_seconds=60.0)])

        after = state_of(project)
        assert (after.verdict, after.last_seen_at, after.visits_count) == ("unchanged", a_time(5), 8)
        assert (after.etag, after.last_modified, after.interval_seconds) == ('"2"', None, 60.0)
        assert (after.missed_runs, after.gone_at) == (0, None)
        assert project.run is not None
        assert list(project.finished_keys(project.run.id)) == [a_key()]
        kept = {"title", "content_hash", "validated_at", "blocks", "first_seen_at", "changes_count"}
        assert {name: getattr(after, name) for name in kept} == {name: getattr(before, name) for name in kept}
        assert document_of(project).chars_in == 9

    def test_a_page_that_failed_is_completed_when_it_is_seen(self, project: ProjectStore) -> None:
        project.write([a_document(**STATE)])
        project.write([a_document(status="failed", error="E"), a_snapshot()])

        assert (state_of(project).status, document_of(project).error) == ("completed", None)


STEPS: dict[str, Callable[[int], Record]] = {
    "completed": lambda number: a_document(1, chars_in=number, etag=str(number), first_seen_at=a_time(number)),
    "begun": lambda number: a_document(1, status="processing", error=str(number), title="begun"),
    "seen": lambda number: a_snapshot(1, at=a_time(number), visits_count=number),
    "received": lambda number: a_snapshot(1, at=a_time(number), visits_count=number, blocks=bytes(8 * number)),
    "url": lambda number: a_crawled_url(1, http_status=number),
}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(1, 9)), max_size=8), st.integers(1, 4))
def test_how_a_pages_records_are_split_into_batches_changes_nothing(
    lasting: Store, steps: list[tuple[str, int]], size: int
) -> None:
    project = lasting.project("split")

    def final(batches: list[list[Record]]) -> object:
        # Another page each time: what was first seen stays.
        project.write([GoneRecord(a_key(1), NOON)])
        project.write([a_document(1, chars_in=0, first_seen_at=NOON)])
        for batch in batches:
            project.write(batch)
        return project.page_states([a_key(1)]), project.page(a_key(1))

    records = [STEPS[kind](number) for kind, number in steps]

    at_once = final([records])
    assert final([records[start : start + size] for start in range(0, len(records), size)]) == at_once


class TestMissing:
    @pytest.fixture(autouse=True)
    def pages(self, project: ProjectStore) -> None:
        """Four pages of a domain and one of another, seen an hour before the run begins."""
        project.write([a_document(name, updated_at=a_time(-1)) for name in "abcd"])
        project.write([a_document("e", domain="other.example", updated_at=a_time(-1))])

    def missing(self, project: ProjectStore, hours: float = 0) -> dict[bytes, int]:
        """Count what a run misses; return how many runs before it missed it, too."""
        begin(project, hours)
        assert project.run is not None
        missing = {page.page_key: page.missed_runs for page in project.missing_pages(project.run.id, [DOMAIN])}
        assert project.count_missed(project.run.id, list(missing))
        return missing

    def test_pages_that_a_run_did_not_see_are_missing(self, project: ProjectStore) -> None:
        begin(project)
        project.write([a_snapshot("a", at=a_time(0.5)), a_document("b", updated_at=a_time(0.5))])

        assert project.run is not None
        found = list(project.missing_pages(project.run.id, [DOMAIN]))

        assert {page.page_key for page in found} == {a_key("c"), a_key("d")}
        assert found[0].last_seen_at == a_time(-1)
        assert state_of(project, "e").missed_runs == 0

    def test_pages_of_another_spider_are_not_missing(self, project: ProjectStore) -> None:
        project.begin_run(spider="other", jobdir=None, started_at=a_time(-2))
        project.write([a_document("a", updated_at=a_time(-1))])

        assert self.missing(project).keys() == {a_key(name) for name in "bcd"}

    def test_pages_without_an_acknowledged_visit_are_not_missing(self, project: ProjectStore) -> None:
        project.write([a_document("begun", status="processing")])

        assert a_key("begun") not in self.missing(project)

    def test_more_pages_than_are_read_at_once_are_handed_out(self, project: ProjectStore) -> None:
        project.write(a_document(name, domain="many.example", updated_at=a_time(-1)) for name in range(1_100))
        begin(project)
        assert project.run is not None

        found = list(project.missing_pages(project.run.id, ["many.example", DOMAIN]))

        assert len(found) == len({page.page_key for page in found}) == 1_104
