import uuid
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.service.domains.registry import DomainService
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains import registry as domains
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.records.records import ConfidenceRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_document, a_time
from tests.tables import table

OTHER = "other.example.com"
SCORES = st.floats(0, 1, allow_nan=False).map(lambda score: round(score, 2))


def a_confidence(score: float, domain: str = DOMAIN, **fields: Any) -> ConfidenceRecord:
    is_high = score >= 0.6
    return ConfidenceRecord(
        **{
            "domain": domain,
            "high": int(is_high),
            "low": int(not is_high),
            "total": score,
            "best": score,
            "at": NOON,
            **fields,
        }
    )


def registered(project: ProjectStore, name: str = DOMAIN) -> StoredDomain:
    return project.registered_domains([name])[name]


def settle(project: ProjectStore, *names: str) -> set[str]:
    return project.settle_domains(names or (DOMAIN,), a_time(1), high_quality=0.6)


class TestConfidences:
    @given(batches=st.lists(st.lists(SCORES, max_size=4), max_size=4))
    def test_counts_best_and_mean_are_those_of_all_items_however_they_were_written(self, lasting, batches):
        project = lasting.project(str(uuid.uuid4()))
        for batch in batches:
            project.write([a_confidence(score) for score in batch])

        scores = [score for batch in batches for score in batch]
        found = project.registered_domains([DOMAIN]).get(DOMAIN)
        if not scores:
            assert found is None
            return
        high = sum(score >= 0.6 for score in scores)
        assert (found.high_quality_candidate_count, found.low_quality_candidate_count) == (high, len(scores) - high)
        assert found.best_confidence_score == max(scores)
        assert found.mean_confidence_score == pytest.approx(sum(scores) / len(scores), abs=1e-9)

    def test_joined_twin_gives_its_items_to_the_one_that_stands_for_both(self, store, project):
        service = DomainService(project, Settings())
        bare, www = "example.com", "www.example.com"
        service.register_domains([bare, www], NOON)
        joined(store, project, www, bare)

        project.write([a_confidence(0.9, www), a_confidence(0.5, bare)])

        assert registered(project, www).best_confidence_score is None
        found = registered(project, bare)
        assert (found.high_quality_candidate_count, found.low_quality_candidate_count) == (1, 1)
        assert found.mean_confidence_score == pytest.approx(0.7)


def joined(store: Store, project: ProjectStore, name: str, to: str) -> None:
    row = registered(project, name)
    with store.session() as session:
        domains.change(session.connection(), {row.domain_id: {"joined_to": to}}, NOON)
        session.commit()


class TestSettling:
    def test_second_time_changes_nothing(self, project):
        project.write([a_document(1, chars_in=10, chars_out=5), a_confidence(0.7)])
        settle(project)
        first = registered(project)

        assert settle(project) == set()
        assert registered(project) == first


class TestAsking:
    @pytest.mark.parametrize(
        ("heard", "ended", "counts"),
        [
            pytest.param(None, False, True, id="killed-before-it-said-anything"),
            pytest.param(timedelta(minutes=10), False, True, id="killed"),
            pytest.param(timedelta(seconds=2), False, False, id="under-way"),
            pytest.param(timedelta(minutes=10), True, False, id="ended"),
        ],
    )
    def test_domains_of_killed_runs_are_made_up_for(self, project, heard, *, ended, counts):
        earlier = project.begin_run(spider="s", jobdir=None, started_at=NOON)
        project.write([a_document(1, domain=OTHER)])
        if heard is not None:
            project.report_run(earlier.id, {}, a_time(1) - heard)
        if ended:
            project.end_run(earlier.id, status="stopped", reason=None, stats={}, finished_at=NOON)
        run = project.begin_run(spider="s", jobdir=None, started_at=NOON)
        project.write([a_document(2)])

        assert project.domains_of_run(run.id, a_time(1)) == ({DOMAIN, OTHER} if counts else {DOMAIN})


class TestRunUnderWay:
    def test_report_that_comes_late_changes_nothing(self, project):
        run = project.begin_run(spider="s", jobdir=None, started_at=NOON)
        project.end_run(run.id, status="finished", reason="finished", stats={"pages": 4}, finished_at=a_time(1))
        project.report_run(run.id, {"pages": 3}, a_time(2))

        (found,) = project.last_runs()
        assert (found.status, found.stats, found.seen_at) == ("finished", {"pages": 4}, a_time(1))

    @table("store/run_that_is_not_heard_was_killed")
    def test_run_that_is_not_heard_was_killed(self, project, status, seconds, *, is_silent):
        run = project.begin_run(spider="s", jobdir=None, started_at=a_time(-1))
        project.report_run(run.id, {}, NOON)
        if status == "finished":
            project.end_run(run.id, status=status, reason=None, stats={}, finished_at=NOON)

        (found,) = project.last_runs()
        assert (found.silence(NOON + timedelta(seconds=seconds)) is not None) is is_silent
