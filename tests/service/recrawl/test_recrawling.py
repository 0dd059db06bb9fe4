from typing import Any

import pytest

from scrapy_dedup.service.recrawl.recrawling import NOTHING_KNOWN, AskedPage, KnownPage, look_up, page_state, wire_key
from scrapy_dedup.store.records.records import Record
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


def test_without_its_answer_only_that_a_page_is_gone_is_known(project: ProjectStore) -> None:
    project.write(a_page())
    fine = page_state(known_of(project))
    project.write([a_crawled_url(1, status="failed", http_status=404, last_crawled_at=a_time(1))])
    gone = page_state(known_of(project))

    assert page_state(NOTHING_KNOWN) is None
    assert fine is None
    assert gone is not None
    assert (gone.at, gone.status) == (a_time(1), 404)
