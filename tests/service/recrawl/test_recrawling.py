from typing import Any

import pytest

from scrapy_dedup.core.recrawl.plan import Fetch, FetchReason, PageState, Revalidate, Skip
from scrapy_dedup.service.recrawl.recrawling import (
    NOTHING_KNOWN,
    AskedPage,
    FetchPlan,
    KnownPage,
    Word,
    is_refreshed,
    look_up,
    page_state,
    plan,
    wire_key,
)
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import Record, SeenRecord, ValidatedRecord
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import NOON, a_crawled_url, a_document, a_key, a_time, a_url, an_answer, an_extraction

CONTENT = b"c" * 32
WIRE = wire_key(a_url(1))
ASKED = AskedPage(a_key(1), WIRE, a_key("outcome"))


def an_outcome(**fields: Any) -> Record:
    """Return what a callback made of page 1."""
    return an_extraction(1, CONTENT, **{"memo_key": ASKED.outcome_key, "content_hash": CONTENT, **fields})


def a_page(name: object = 1, **fields: Any) -> list[Record]:
    return [a_document(name, content_hash=CONTENT, last_changed_at=NOON, **fields), a_crawled_url(name)]


def known_of(project: ProjectStore, asked: AskedPage = ASKED) -> KnownPage:
    return look_up(project, [asked])[asked]


def test_nothing_is_known_of_a_page_that_was_never_seen(project: ProjectStore) -> None:
    assert known_of(project) == NOTHING_KNOWN


def test_page_is_known_with_its_last_answer_and_its_outcome(project: ProjectStore) -> None:
    project.write([*a_page(), an_answer(wire_key=WIRE), an_outcome()])

    known = known_of(project)

    assert known.state is not None
    assert known.answer is not None
    assert (known.answer.body, known.answer.etag) == (b"<p>Cats", '"1"')
    assert known.outcome is not None
    assert known.damaged == 0


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(AskedPage(a_key(1)), id="nothing-wanted"),
        pytest.param(AskedPage(a_key(1), wire_key(a_url("other")), a_key("other")), id="other-keys"),
    ],
)
def test_answer_and_outcome_are_found_by_their_own_keys_alone(project: ProjectStore, asked: AskedPage) -> None:
    project.write([*a_page(), an_answer(wire_key=WIRE), an_outcome()])

    known = known_of(project, asked)

    assert known.state is not None
    assert (known.answer, known.outcome) == (None, None)


def test_outcome_of_a_run_that_has_not_ended_is_none(project: ProjectStore) -> None:
    project.begin_run(spider="shop", jobdir=None, started_at=NOON)
    project.write([*a_page(), an_outcome()])
    assert project.run is not None
    before = known_of(project).outcome
    project.release_extractions(project.run.id)

    assert before is None
    assert known_of(project).outcome is not None


@pytest.mark.parametrize(
    "damage", ["UPDATE extractions SET requests = x'00ff'", "UPDATE responses SET headers = x'00ff'"]
)
def test_what_is_damaged_is_counted_and_harms_no_other_page(project: ProjectStore, damage: str) -> None:
    project.write([*a_page(1), an_answer(wire_key=WIRE), an_outcome(), *a_page(2)])
    with project._database.transaction(write=True) as connection:
        connection.exec_driver_sql(damage)
    other = AskedPage(a_key(2))

    found = look_up(project, [ASKED, other])

    assert found[ASKED].damaged == 1
    assert (found[ASKED].answer is None) is ("responses" in damage)
    assert (found[ASKED].outcome is None) is ("extractions" in damage)
    assert found[other].state is not None


# What is done about a request.


def state_of(project: ProjectStore, *records: Record) -> PageState | None:
    project.write([*a_page(etag='"1"', validated_at=NOON), an_answer(wire_key=WIRE), *records])
    return page_state(known_of(project))


def test_failed_fetch_makes_a_page_due(project: ProjectStore) -> None:
    """Its status is that of the last attempt; without one, the attempt gave none."""
    fine = state_of(project)
    failed = state_of(project, a_crawled_url(1, status="failed", http_status=503, last_crawled_at=a_time(1)))
    nothing = state_of(project, a_crawled_url(1, status="failed", http_status=None, last_crawled_at=a_time(2)))

    found = [(state.at, state.status) for state in (fine, failed, nothing) if state]
    assert found == [(NOON, 200), (a_time(1), 503), (a_time(2), 0)]


def test_without_its_answer_only_that_a_page_is_gone_is_known(project: ProjectStore) -> None:
    project.write(a_page())
    fine = page_state(known_of(project))
    project.write([a_crawled_url(1, status="failed", http_status=404, last_crawled_at=a_time(1))])
    gone = page_state(known_of(project))

    assert page_state(NOTHING_KNOWN) is None
    assert fine is None
    assert gone is not None
    assert (gone.at, gone.status) == (a_time(1), 404)


def planned(project: ProjectStore, word: Word | None = None, hours: float = 1, **settings: Any) -> FetchPlan:
    return plan(a_url(1), known_of(project), Settings(**settings), a_time(hours), word or Word())


def test_page_is_asked_after_where_its_answer_is_held(project: ProjectStore) -> None:
    state_of(project)

    assert planned(project).decision == Revalidate('"1"', None)
    assert planned(project, unchanged="skip").decision == Revalidate('"1"', None)
    assert planned(project, Word(trusts_validators=False)).decision == Fetch(FetchReason.DISTRUSTED)
    assert isinstance(planned(project, keep_pages="none").decision, Fetch)


def test_page_whose_answer_is_not_held_is_fetched(project: ProjectStore) -> None:
    project.write(a_page(etag='"1"', validated_at=NOON))

    assert isinstance(planned(project).decision, Fetch)


def test_dates_and_refreshes_are_part_of_the_plan(project: ProjectStore) -> None:
    state_of(project)
    dated = planned(project, Word(lastmod=a_time(-9), trusts_lastmod=True))
    refreshed = planned(project, refresh=(a_url(1),))

    assert isinstance(dated.decision, Skip)
    assert (dated.lastmod, dated.is_refresh) == (a_time(-9), False)
    assert (refreshed.decision, refreshed.is_refresh) == (Fetch(FetchReason.REFRESH), True)


@pytest.mark.parametrize(
    ("patterns", "wanted"),
    [
        ((), False),
        (("*",), True),
        ((a_url(1),), True),
        ((a_url(11),), False),
        (("example.com",), True),
        (("*/1",), True),
        (("*/2", "example.org"), False),
    ],
)
def test_user_names_pages_by_url_domain_or_pattern(patterns: tuple[str, ...], *, wanted: bool) -> None:
    assert is_refreshed(a_url(1), Settings(refresh=patterns)) is wanted


def test_answer_that_still_holds_makes_a_page_younger(project: ProjectStore) -> None:
    before = state_of(project)
    seen = SeenRecord(a_key(1), a_time(5), 2)
    after = state_of(project, seen, ValidatedRecord(WIRE, a_time(5)), a_crawled_url(1, last_crawled_at=a_time(5)))

    assert before is not None
    assert after is not None
    assert (before.at, after.at, after.validated_at) == (NOON, a_time(5), NOON)
