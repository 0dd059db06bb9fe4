from datetime import timedelta

import pytest

from scrapy_dedup.report.numbers import lasting
from tests.report.builders import a_full_report, a_large_report, a_report
from tests.report.reading import read, texts


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (0.4, "0 s"),
        (4, "4 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7_500, "2 h 05 min"),
        (277_140, "3 d 4 h"),
    ],
)
def test_a_time_is_told_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert lasting(timedelta(seconds=seconds)).replace("\u00a0", " ") == text


def test_alarms_come_before_everything_else_and_what_says_nothing_is_left_out() -> None:
    tree = read(a_full_report())

    assert texts(tree, "h2")[:2] == ["1 open alarm", "What the crawl found"]
    assert texts(tree, ".cause") == ["content root lost on 9 of 10 pages since 14:02"]
    assert texts(tree, ".alarms li .meta") == ["shop.example, layout 05b8c1d2e3f40718, raised 2026-03-01 12:00 UTC"]
    assert read(a_report()).css(".alarms, .layout, .shadow") == []


def test_many_layouts_alarms_and_rules_are_cut_and_counted() -> None:
    tree = read(a_large_report())

    assert len(tree.css(".site")) == 12
    assert len(tree.css(".site:first-of-type .layout")) == 12
    assert texts(tree, ".site:first-of-type > .more") == ["… and 78 more layouts"]
    assert texts(tree, ".alarms > .more") == ["… and 20 more alarms"]
    assert "… and 380 more" in texts(tree, ".layout .more")
    assert texts(tree, ".shadowed > .more") == ["… and 30 more pages"]
    assert len(tree.css(".shadowed .sample")) == 10
