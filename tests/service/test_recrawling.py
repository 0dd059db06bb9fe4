from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from scrapy_dedup.core.memo import memo_key
from scrapy_dedup.core.recrawl import Fetch, FetchReason, PageState, Revalidate, Skip
from scrapy_dedup.core.verdicts import Change, Kind, Verdict
from scrapy_dedup.service.recrawling import (
    NOTHING_KNOWN,
    SERVER_SAYS_SO,
    UNKEEPABLE,
    Asked,
    Judgement,
    Known,
    Plan,
    Word,
    is_refreshed,
    look_up,
    page_state,
    plan,
)
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records import ExtractionRecord, GoneRecord, Record, SeenRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import (
    NOON,
    a_crawled_url,
    a_document,
    a_key,
    a_time,
    a_url,
    an_extraction,
)
from tests.tables import table

CONTENT = b"c" * 32
ASKED = Asked(a_key(1), "parse", {}, "")


@pytest.fixture
def project() -> Iterator[ProjectStore]:
    with Store.open("sqlite://") as store:
        yield store.project("shop")


def an_outcome(asked: Asked = ASKED, content: bytes = CONTENT, **fields: Any) -> Record:
    """Return what a callback made of page 1."""
    key = memo_key(asked.page_key, content, asked.callback, asked.cb_kwargs, asked.version)
    return an_extraction(1, content, memo_key=key, content_hash=content, **fields)


def a_page(name: object = 1, **fields: Any) -> list[Record]:
    return [a_document(name, content_hash=CONTENT, last_changed_at=NOON, **fields), a_crawled_url(name)]


def known_of(project: ProjectStore, asked: Asked = ASKED) -> Known:
    return look_up(project, [asked])[asked]


def test_nothing_is_known_of_a_page_that_was_never_seen(project: ProjectStore) -> None:
    assert known_of(project) == NOTHING_KNOWN


def test_page_is_known_with_the_outcome_of_its_content(project: ProjectStore) -> None:
    project.write([*a_page(), an_outcome(items=[{"class": "dict", "fields": {}}])])

    known = known_of(project)

    assert known.state is not None
    assert known.is_done
    assert known.is_kept
    assert known.has_items


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(Asked(a_key(1), "other", {}, ""), id="callback"),
        pytest.param(Asked(a_key(1), "parse", {"page": 2}, ""), id="arguments"),
        pytest.param(Asked(a_key(1), "parse", {}, "2"), id="version"),
    ],
)
def test_outcome_is_of_one_callback_its_arguments_and_its_version(project: ProjectStore, asked: Asked) -> None:
    project.write([*a_page(), an_outcome()])

    known = known_of(project, asked)

    assert known.state is not None
    assert known.extraction is None
    project.write([an_outcome(asked)])
    assert known_of(project, asked).is_kept


def test_outcome_of_another_content_is_none(project: ProjectStore) -> None:
    project.write([*a_page(), an_outcome(content=b"d" * 32)])

    assert known_of(project).extraction is None


def test_outcome_that_could_not_be_kept_says_that_the_callback_was_there(project: ProjectStore) -> None:
    project.write([*a_page(), an_outcome(requests=[{UNKEEPABLE: "Kind"}])])

    known = known_of(project)

    assert (known.is_done, known.is_kept, known.has_items) == (True, False, False)


def test_page_of_the_content_index_is_done_for_every_callback(project: ProjectStore) -> None:
    """Until a callback has an outcome of its own."""
    indexed = an_outcome(Asked(a_key(1), "", {}, ""), requests=[{UNKEEPABLE: "links"}], callback="")
    project.write([*a_page(), indexed])
    before = known_of(project)
    project.write([an_outcome()])

    assert (before.is_done, before.is_kept) == (True, False)
    assert known_of(project).is_kept


def test_damaged_outcome_is_told_and_harms_no_other_page(project: ProjectStore) -> None:
    project.write([*a_page(1), an_outcome(), *a_page(2)])
    with project._database.transaction(write=True) as connection:
        connection.exec_driver_sql("UPDATE extractions SET requests = x'00ff'")
    other = Asked(a_key(2), "parse", {}, "")

    found = look_up(project, [ASKED, other])

    assert (found[ASKED].damaged, found[ASKED].extraction) == (True, None)
    assert found[other].state is not None


def duplicate_of(name: object) -> Record:
    return a_crawled_url(1, status="duplicate", document_key=a_key(name))


def test_duplicate_is_known_while_its_original_stands(project: ProjectStore) -> None:
    project.write([*a_page(), *a_page(2), duplicate_of(2), an_outcome()])

    assert known_of(project).is_kept


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(GoneRecord(a_key(2), a_time(1)), id="gone"),
        pytest.param(a_document(2, content_hash=b"d" * 32, last_changed_at=a_time(1)), id="changed"),
    ],
)
def test_duplicate_stands_for_itself_once_its_original_is_another(project: ProjectStore, event: Record) -> None:
    project.write([*a_page(), *a_page(2), duplicate_of(2), an_outcome(), event])

    assert known_of(project).extraction is None


def test_duplicate_of_a_page_that_nobody_knows_stands_for_itself(project: ProjectStore) -> None:
    project.write([*a_page(), duplicate_of("never seen"), an_outcome()])

    assert known_of(project).extraction is None


# What is done about a request.


def state_of(project: ProjectStore, *records: Record) -> PageState | None:
    project.write([*a_page(etag='"1"', validated_at=NOON), *records])
    return page_state(known_of(project).state)


def test_failed_fetch_makes_a_page_due(project: ProjectStore) -> None:
    """Its status is that of the last attempt; without one, the attempt gave none."""
    fine = state_of(project)
    failed = state_of(project, a_crawled_url(1, status="failed", http_status=503, last_crawled_at=a_time(1)))
    nothing = state_of(project, a_crawled_url(1, status="failed", http_status=None, last_crawled_at=a_time(2)))

    found = [(state.at, state.status) for state in (fine, failed, nothing) if state]
    assert found == [(NOON, 200), (a_time(1), 503), (a_time(2), 0)]
    assert page_state(None) is None


def test_page_from_elsewhere_has_no_status_and_is_fine(project: ProjectStore) -> None:
    project.write([a_document(1, content_hash=CONTENT)])

    state = page_state(known_of(project).state)

    assert state is not None
    assert (state.at, state.status) == (NOON, 200)


def planned(project: ProjectStore, word: Word | None = None, hours: float = 1, **settings: Any) -> Plan:
    return plan(a_url(1), known_of(project), Settings(**settings), a_time(hours), word or Word())


def test_page_is_asked_after_where_its_outcome_stands(project: ProjectStore) -> None:
    state_of(project, an_outcome(items=[]))

    assert planned(project).decision == Revalidate('"1"', None)
    assert planned(project, unchanged="replay").decision == Revalidate('"1"', None)
    assert planned(project, Word(trusts_validators=False)).decision == Fetch(FetchReason.DISTRUSTED)


@pytest.mark.parametrize(
    ("outcome", "settings"),
    [
        pytest.param({}, {"unchanged": "replay"}, id="items-were-not-kept"),
        pytest.param({"items": []}, {"unchanged": "mark"}, id="mark"),
        pytest.param({"items": [], "requests": [{UNKEEPABLE: "x"}]}, {}, id="requests-were-not-kept"),
        pytest.param({"items": []}, {"cache_max_age": timedelta(hours=1)}, id="too-old"),
    ],
)
def test_page_is_fetched_where_nothing_can_stand_for_it(
    project: ProjectStore, outcome: dict[str, Any], settings: dict[str, Any]
) -> None:
    state_of(project, an_outcome(**{"created_at": NOON, **outcome}))

    assert planned(project, **settings).decision == Fetch(FetchReason.NO_OUTCOME)


def test_dates_and_refreshes_are_part_of_the_plan(project: ProjectStore) -> None:
    state_of(project, an_outcome(items=[]))
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


# What takes the place of the callback.

CHANGED = Verdict(Kind.CHANGED, Change.CONTENT, "differs")
FULL: dict[str, Any] = {"items": []}


def judgement(outcome: dict[str, Any] | None, verdict: Verdict = SERVER_SAYS_SO) -> Judgement:
    fields: dict[str, Any] = dict.fromkeys(ExtractionRecord.__dataclass_fields__)
    extraction = None if outcome is None else ExtractionRecord(**{**fields, "requests": [], **outcome})
    return Judgement(Known(None, extraction), verdict)


@table("service/what_is_held_takes_the_place_of_the_callback")
def test_what_is_held_takes_the_place_of_the_callback(
    mode: Any, outcome: dict[str, Any] | None, expected: list[str], *, links_known: bool
) -> None:
    judged = judgement(outcome)

    judged.treat(Settings(unchanged=mode), links_known=links_known, usable=True)

    assert [name for name in ("gives_stored", "links_only", "replays") if getattr(judged, name)] == expected


@pytest.mark.parametrize(("verdict", "usable"), [(CHANGED, True), (SERVER_SAYS_SO, False)], ids=["changed", "too-old"])
def test_callback_runs_where_there_is_a_reason_to(verdict: Verdict, *, usable: bool) -> None:
    judged = judgement(FULL, verdict)

    judged.treat(Settings(unchanged="replay"), links_known=True, usable=usable)

    assert (judged.replays, judged.links_only, judged.gives_stored) == (False, False, False)


def test_seeing_a_page_again_makes_it_younger(project: ProjectStore) -> None:
    before = state_of(project, an_outcome())
    project.write([SeenRecord(a_key(1), a_time(5), 2), a_crawled_url(1, last_crawled_at=a_time(5))])
    after = page_state(known_of(project).state)

    assert before is not None
    assert after is not None
    assert (before.at, after.at, after.seen_at) == (NOON, a_time(5), NOON)
