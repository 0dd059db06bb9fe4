from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.templates.templates import ENOUGH, WINDOW, Drift, DriftWatch, Look

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LOST = "content root lost"


def look(number: int, what: str = "", *, layout: int = 7) -> Look:
    """Return how a page was found in a minute that is its number."""
    return Look(number.to_bytes(16, "big"), layout, what, NOON + timedelta(minutes=number))


def noted(watch: DriftWatch, *pages: str | Look, layout: int = 7) -> list[Drift]:
    """Take in pages a minute apart, each given by what does not fit; return the alarms."""
    looks = (page if isinstance(page, Look) else look(place, page, layout=layout) for place, page in enumerate(pages))
    return [drift for one in looks if (drift := watch.note(one)) is not None]


class TestAlarm:
    def test_a_redesign_is_noticed_within_ten_pages(self) -> None:
        watch = DriftWatch()
        noted(watch, *[""] * 50)

        alarms = noted(watch, *[LOST] * WINDOW)

        assert len(alarms) == 1
        assert alarms[0].failed == ENOUGH

    def test_it_names_cause_figures_and_time(self) -> None:
        (alarm,) = noted(DriftWatch(), "", "", LOST, LOST, "", LOST, LOST, LOST)

        assert alarm.cause == "content root lost on 5 of 8 pages since 12:02"
        assert alarm.layout == 7

    def test_one_page_that_comes_again_and_again_is_none(self) -> None:
        assert noted(DriftWatch(), *[look(1), look(1, LOST)] * 10) == []

    def test_it_retires_the_layouts_of_which_no_page_fits(self) -> None:
        fits = [look(place, layout=8) for place in range(2)]
        odd = [look(place, LOST, layout=7 + place % 2) for place in range(2, 2 + ENOUGH)]

        (alarm,) = noted(DriftWatch(), *fits, *odd)

        assert alarm.retired == {7}


@pytest.mark.parametrize(
    ("pages", "judging"),
    [
        pytest.param([""] * 20, "-" * 20, id="all fit"),
        pytest.param([LOST, "", "", "", "", "", "", ""], "??????--", id="one is odd"),
        pytest.param([LOST] * 8, "????----", id="redesign"),
        pytest.param([LOST, ""] * 6, "????????----", id="redesign of every other page"),
        pytest.param([LOST, "", "", LOST, "", "", LOST, "", "", "", ""], "????????---", id="three are odd"),
    ],
)
def test_question_is_open_until_it_is_answered(pages: list[str], judging: str) -> None:
    """While it is, pages wait: never more than ten."""
    watch = DriftWatch()
    found = ""

    for number, page in enumerate(pages):
        noted(watch, look(number, page))
        found += "?" if watch.is_judging else "-"

    assert found == judging


class TestEnd:
    def test_an_alarm_is_over_once_pages_fit_again(self) -> None:
        watch = DriftWatch()
        noted(watch, *[LOST] * ENOUGH)
        watch.relearned()

        assert not watch.cleared()
        noted(watch, *[""] * ENOUGH)
        assert watch.cleared()
        assert not watch.cleared()

    @given(st.lists(st.sampled_from(["", LOST])))
    def test_alarms_and_ends_alternate(self, pages: list[str]) -> None:
        watch = DriftWatch()
        events = []

        for page in pages:
            events += ["raised"] * len(noted(watch, page))
            events += ["over"] * watch.cleared()

        assert events == [("raised", "over")[number % 2] for number in range(len(events))]
