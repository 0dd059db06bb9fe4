from datetime import timedelta

import pytest

from scrapy_dedup.report.numbers import count, lasting, percent, short
from tests.tables import table


@table("values/figures")
def test_short_figures(number: int, text: str) -> None:
    assert short(number).replace("\u00a0", " ") == text


@table("values/shares")
def test_shares(part: int, total: int, text: str) -> None:
    assert percent(part, total).replace("\u00a0", " ") == text


def test_one_page_two_pages() -> None:
    assert (count(1, "page"), count(2, "page"), count(1200, "page")) == ("1 page", "2 pages", "1,200 pages")


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
