import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.store.layout_models import REST
from scrapy_dedup.store.layout_records import from_digits, to_digits
from scrapy_dedup.store.layouts import ALARMS_KEPT, RUN_COUNTS_KEPT, SIGNATURES_KEPT
from scrapy_dedup.store.stored_layouts import LayoutFigures, StoredSignature
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_layout_count, a_signature, a_template, a_time, a_url, an_alarm

MOST, LEAST = 2**63 - 1, -(2**63)


@given(st.integers(LEAST, MOST))
def test_a_signature_is_read_back_from_its_digits(signature: int) -> None:
    assert from_digits(to_digits(signature)) == signature
    assert len(to_digits(signature)) == 16


@pytest.mark.parametrize("digits", ["", "x", "-1", "+1", "0x1", "1" * 17, "1_0", "\u0661"])
def test_what_is_no_signature_is_refused(digits: str) -> None:
    with pytest.raises(ValueError, match="needs 1 to 16 hexadecimal digits"):
        from_digits(digits)


class TestSignatures:
    def test_counts_add_up_and_times_widen(self, project: ProjectStore) -> None:
        project.write([a_signature(seen=2, at=a_time(2)), a_signature(seen=3, at=a_time(1))])
        project.write([a_signature(seen=4, at=a_time(5)), a_signature(seen=1, at=a_time(3), algorithm_version=2)])

        assert project.signatures(DOMAIN) == [StoredSignature(DOMAIN, 7, 1, 7, 10, a_time(1), a_time(5), 2)]

    @pytest.mark.parametrize("at_once", [True, False])
    def test_one_that_belongs_to_a_layout_stays_with_it(self, project: ProjectStore, *, at_once: bool) -> None:
        records = [a_signature(layout=None), a_signature(layout=9), a_signature(layout=None)]
        for some in [records] if at_once else [[record] for record in records]:
            project.write(some)

        assert [(one.layout, one.seen_count) for one in project.signatures(DOMAIN)] == [(9, 3)]

    def test_the_least_recently_seen_are_forgotten(self, project: ProjectStore) -> None:
        most = SIGNATURES_KEPT
        project.write(a_signature(number, at=a_time(number)) for number in range(most))
        project.write([a_signature(0, at=a_time(2 * most)), *(a_signature(number, level=2) for number in range(most))])
        assert len(project.signatures(DOMAIN)) == 2 * most

        project.write([a_signature(most, at=a_time(most))])

        kept = [one.signature_hash for one in project.signatures(DOMAIN) if one.level == 1]
        assert most * 0.8 < len(kept) < most
        assert kept == [0, *range(most + 2 - len(kept), most + 1)]
        assert len(project.signatures(DOMAIN)) == len(kept) + most


class TestFigures:
    def test_a_layout_has_the_sums_of_its_signatures(self, project: ProjectStore) -> None:
        project.write([a_signature(7, seen=3), a_signature(8, seen=2, at=a_time(4)), a_signature(7, level=2)])
        project.write(
            [a_signature(9, layout=None, seen=2), a_signature(10, layout=None), a_signature(7, domain="a.example")]
        )

        first, *of_domain = project.layouts()

        assert (first.domain, first.pages) == ("a.example", 1)
        assert [(one.layout, one.signatures, one.pages) for one in of_domain] == [(7, 2, 5), (REST, 2, 3)]
        assert (of_domain[0].first_seen_at, of_domain[0].last_seen_at) == (NOON, a_time(4))
        assert project.layouts(DOMAIN) == of_domain

    def test_counts_of_runs_come_in_the_order_in_which_these_began(self, project: ProjectStore) -> None:
        runs = []
        for day in (1, 0):
            runs.append(project.begin_run(spider="site", jobdir=None, started_at=a_time(24 * day)).id)
            project.write([a_layout_count(pages=10 + day, url=a_url(day)), a_layout_count(layout=8)])
            project.write([a_layout_count(pages=5, url=a_url("later")), a_layout_count(pages=1)])

        layouts = {one.layout: one for one in project.layouts(DOMAIN)}

        assert [(count.run_id, count.started_at, count.pages) for count in layouts[7].runs] == [
            (runs[1], NOON, 16),
            (runs[0], a_time(24), 17),
        ]
        assert layouts[7].example_url == a_url(1)
        assert [count.pages for count in layouts[8].runs] == [1, 1]

    @pytest.mark.parametrize(
        ("states", "version"),
        [(["probation"], 1), (["live", "probation"], 1), (["live", "live", "probation"], 2), (["retired"] * 2, 2)],
    )
    def test_a_layout_shows_its_live_template_or_the_newest(
        self, project: ProjectStore, states: list[str], version: int
    ) -> None:
        project.write(a_template(state=state, body={"n": number}) for number, state in enumerate(states))

        (layout,) = project.layouts()

        assert layout.template is not None
        assert layout.template.version == version
        assert layout == LayoutFigures(DOMAIN, 7, 0, 0, None, None, (), None, layout.template)

    def test_the_oldest_counts_are_forgotten(self, project: ProjectStore) -> None:
        most = RUN_COUNTS_KEPT
        project.write([a_layout_count(domain="other", layout=number) for number in range(2)])
        project.write([a_layout_count(layout=number) for number in range(most)])
        assert len(project.layouts(DOMAIN)) == most

        project.write([a_layout_count(layout=most)])

        kept = [one.layout for one in project.layouts(DOMAIN)]
        assert most * 0.8 < len(kept) < most
        assert kept == list(range(most + 1 - len(kept), most + 1))
        assert len(project.layouts("other")) == 2


class TestAlarms:
    def test_an_alarm_of_a_layout_is_one_with_new_figures_until_it_is_cleared(self, project: ProjectStore) -> None:
        cleared = an_alarm(raised_at=None, cleared_at=a_time(1))
        again = an_alarm(raised_at=a_time(0.5), pages_failed=9, pages_looked=10)
        batch = [cleared, an_alarm(), again, cleared, an_alarm(raised_at=a_time(2)), an_alarm(layout=8)]
        project.write(batch)

        newest, first, other = project.alarms()

        assert (newest.raised_at, newest.cleared_at, newest.cause) == (a_time(2), None, "content root lost")
        assert (other.layout, other.raised_at, other.cleared_at) == (8, NOON, None)
        assert (first.raised_at, first.cleared_at, first.pages_failed) == (NOON, a_time(1), 9)
        assert [one.raised_at for one in project.alarms(open_only=True)] == [a_time(2), NOON]
        assert project.alarms("other") == []

    def test_what_is_written_twice_equals_once(self, project: ProjectStore) -> None:
        batch = [an_alarm(), an_alarm(raised_at=None, cleared_at=a_time(1))]
        project.write(batch)
        once = project.alarms()

        project.write(batch)

        assert project.alarms() == once

    def test_the_oldest_are_forgotten(self, project: ProjectStore) -> None:
        project.write(an_alarm(layout=number, raised_at=a_time(number)) for number in range(ALARMS_KEPT + 1))

        kept = [one.layout for one in project.alarms()]
        assert kept[0] == ALARMS_KEPT
        assert kept == list(range(ALARMS_KEPT, ALARMS_KEPT - len(kept), -1))
        assert ALARMS_KEPT * 0.8 < len(kept) < ALARMS_KEPT


def test_some_domains_with_layouts_are_named(project: ProjectStore) -> None:
    names = ["b-b.example", "bb.example", "a.example", "c.example"]
    project.write([a_signature(number, domain=name) for number, name in enumerate([*names, *names])])

    assert project.some_domains_with_layouts(3) == ["a.example", "b-b.example", "bb.example"]
