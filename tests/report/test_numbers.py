from datetime import timedelta

from scrapy_dedup.report.numbers import lasting
from tests.tables import table


@table("report/a_time_is_told_in_its_two_largest_units")
def test_a_time_is_told_in_its_two_largest_units(seconds, text):
    assert lasting(timedelta(seconds=seconds)).replace("\u00a0", " ") == text
