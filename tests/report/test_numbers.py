from datetime import timedelta

import pytest

from scrapy_dedup.report.numbers import lasting


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
def test_a_time_is_told_in_its_two_largest_units(seconds, text):
    assert lasting(timedelta(seconds=seconds)).replace("\u00a0", " ") == text
