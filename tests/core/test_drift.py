from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.drift import ENOUGH, WINDOW, Drift, DriftWatch

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LOST = "content root lost"


def noted(watch: DriftWatch, *pages: str, layout: int = 7) -> list[Drift]:
    """Take in pages a minute apart, each given by what does not fit; return the alarms."""
    found = [watch.note(layout, what, NOON + timedelta(minutes=minute)) for minute, what in enumerate(pages)]
    return [drift for drift in found if drift is not None]


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

    def test_it_names_the_most_frequent_cause(self) -> None:
        (alarm,) = noted(DriftWatch(), "unknown paths", LOST, LOST, "unknown paths", LOST)

        assert alarm.what == LOST

    def test_single_odd_pages_raise_none(self) -> None:
        assert noted(DriftWatch(), *[LOST, "", "", ""] * 20) == []


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
