from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from scrapy_dedup.core.resilience.stalls import STALLED_EXIT_CODE, End, Restart, RunEnding, SupervisionPolicy, after
from scrapy_dedup.core.runs import (
    ELAPSED,
    STAT,
    DropAlarm,
    DropWatch,
    Lead,
    Unfound,
    WorkerPart,
    missed,
    seconds_covered,
    total,
)
from tests.tables import table

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def parts(*stats: dict[str, Any]) -> list[WorkerPart]:
    return [WorkerPart(NOON, each) for each in stats]


@table("core/workers_count_as_one")
def test_workers_count_as_one(first, second, together):
    assert total(parts(first, second)) == together


@table("core/a_run_takes_the_time_in_which_anybody_works")
def test_a_run_takes_the_time_in_which_anybody_works(spans, seconds):
    workers = [WorkerPart(NOON + timedelta(seconds=start), {ELAPSED: took}) for start, took in spans]

    assert seconds_covered(workers) == seconds
    if all(isinstance(took, float) for _, took in spans):
        assert total(workers).get(ELAPSED, 0) == seconds


ALARM = DropAlarm("tea.example", "title", 2, 20, (("https://tea.example/a", "https://tea.example/b"),))


def told(pages: dict[str, int], *dropped: tuple[str, str, int]) -> list[DropAlarm]:
    watch = DropWatch()
    for domain, layer, times in dropped:
        for number in range(times):
            watch.note(domain, layer, f"https://{domain}/{number}", bytes([number]))
    assert watch.domains() == {domain for domain, _, times in dropped if times}
    return watch.alarms(pages, lambda key: key.hex())


@pytest.mark.parametrize(
    ("pages", "dropped", "is_told"), [(20, 2, True), (20, 1, False), (19, 19, False), (0, 20, True)]
)
def test_a_layer_that_leaves_out_a_tenth_of_twenty_pages_is_told(pages, dropped, is_told):
    found = told({"tea.example": pages}, ("tea.example", "title", dropped))

    assert [(one.dropped, one.pages) for one in found] == [(dropped, max(pages, dropped))] * is_told


def test_what_was_left_out_most_comes_first_each_with_its_first_three_pages():
    found = told({"a.example": 50, "b.example": 50}, ("a.example", "title", 5), ("b.example", "duplicate", 6))

    assert [(one.domain, one.layer) for one in found] == [("b.example", "duplicate"), ("a.example", "title")]
    assert found[1].pairs == tuple((f"https://a.example/{number}", f"0{number}") for number in range(3))


def test_of_a_run_of_many_domains_the_hundred_with_most_are_told():
    found = told({}, *((f"d{number}.example", "title", 20 + number) for number in range(101)))

    assert [one.dropped for one in found] == list(range(120, 20, -1))


@pytest.mark.parametrize("damaged", [None, "x", {}, [None, 1, {"domain": 1}, {"domain": "tea.example"}]])
def test_alarms_are_read_from_stats_whatever_else_stands_there(damaged):
    whole = [to_builtins(ALARM), *(damaged if isinstance(damaged, list) else ())]

    assert DropAlarm.of_run({STAT: damaged}) == DropAlarm.of_run({}) == ()
    assert DropAlarm.of_run({STAT: whole}) == (ALARM,)


POLICY = SupervisionPolicy(restarts=2, window=timedelta(seconds=100))
SECOND = timedelta(seconds=1)


@table("core/crawl_is_started_again_when_another_process_may_help")
def test_crawl_is_started_again_when_another_process_may_help(exit_code, ending, earlier, ends_with, why, pause):
    policy = POLICY if 500.0 not in earlier else SupervisionPolicy(window=timedelta(seconds=600))

    answer = after(RunEnding(exit_code, **ending), earlier, 1_000.0, policy)

    assert answer == (End(ends_with, why) if ends_with is not None else Restart(why, (pause or 0) * SECOND))


@given(st.integers(0, 10_000))
def test_pauses_grow_up_to_the_longest(restarts):
    policy = SupervisionPolicy(restarts=10**6)
    answer = after(RunEnding(STALLED_EXIT_CODE), [0.0] * restarts, 1.0, policy)

    assert isinstance(answer, Restart)
    assert policy.first_pause <= answer.pause <= policy.longest_pause


ALONE = Unfound()
GONE = Unfound(was_asked=True, is_gone=True)
ELSEWHERE = Unfound(was_asked=True)


def by(parent: str) -> Unfound:
    return Unfound(parent.encode())


@pytest.mark.parametrize(
    ("unfound", "leads", "expected"),
    [
        pytest.param({"page": ALONE}, {}, "page", id="nothing-led-to-it"),
        pytest.param({"page": by("list")}, {"list": Lead.READ}, "page", id="its-list-was-read"),
        pytest.param({"page": by("list")}, {"list": Lead.GONE}, "page", id="its-list-is-gone"),
        pytest.param({"page": by("list")}, {}, "page", id="nothing-is-known-of-its-list"),
        pytest.param({"page": by("list")}, {"list": Lead.UNREAD}, "", id="its-list-failed"),
        pytest.param({"page": by("list"), "list": GONE}, {}, "list page", id="its-list-says-that-it-is-gone"),
        pytest.param({"page": by("list"), "list": ELSEWHERE}, {}, "list", id="its-list-redirects"),
        pytest.param(
            {"page": by("list"), "list": Unfound(is_gone=True)}, {}, "list page", id="its-list-is-left-gone-unasked"
        ),
        pytest.param(
            {"page": Unfound(b"list", was_asked=True, is_gone=True)}, {"list": Lead.UNREAD}, "page", id="gone-itself"
        ),
        pytest.param(
            {"page": by("list"), "list": by("section"), "section": by("home")},
            {"home": Lead.READ},
            "list page section",
            id="its-section-was-given-up",
        ),
        pytest.param(
            {"page": by("list"), "list": by("section")}, {"section": Lead.UNREAD}, "", id="its-section-failed"
        ),
        pytest.param({"a": by("b"), "b": by("a")}, {}, "a b", id="each-led-to-the-other"),
    ],
)
def test_page_counts_as_missed_where_somebody_knows_that_nothing_leads_to_it(unfound, leads, expected):
    found = missed(
        {key.encode(): page for key, page in unfound.items()}, {key.encode(): one for key, one in leads.items()}
    )

    assert found == set(expected.encode().split())


keys = st.sampled_from([bytes([number]) for number in range(8)])
pages = st.builds(Unfound, st.none() | keys, was_asked=st.booleans(), is_gone=st.booleans())


@given(st.dictionaries(keys, pages), st.dictionaries(keys, st.sampled_from(Lead)))
def test_order_of_pages_does_not_matter_and_more_reading_misses_no_fewer(unfound, leads):
    found = missed(unfound, leads)

    assert missed(dict(sorted(unfound.items(), reverse=True)), leads) == found
    assert found <= missed(unfound, dict.fromkeys(leads, Lead.READ)) <= unfound.keys()
