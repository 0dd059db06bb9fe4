import re

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.report.dashboard_overview import HEIGHT, MOST_COLUMNS, Series, columns_chart

COUNTS = st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), max_size=80)


@given(COUNTS)
def test_columns_stay_in_their_drawing(counts: list[tuple[int, int]]) -> None:
    labels = [f"run {number}" for number in range(len(counts))]
    series = (
        Series("new", "new", [new for new, _ in counts]),
        Series("removed", "removed", [gone for _, gone in counts]),
    )

    html = columns_chart(labels, series, unit="pages")

    found = re.findall(r'x="([0-9.]+)%" y="(-?[0-9.]+)" width="([0-9.]+)%" height="([0-9.]+)"', html)
    for x, y, width, height in ((float(one) for one in each) for each in found):
        assert 0 <= x <= x + width <= 100.01
        assert y >= 0
        assert y + height <= HEIGHT + 12.1
    assert html.count("<g>") == min(len(counts), MOST_COLUMNS)


def test_every_column_says_its_figures() -> None:
    html = columns_chart(
        ["2026-03-01"], [Series("new", "new", [1200]), Series("removed", "removed", [3])], unit="pages"
    )

    assert "<title>2026-03-01: 1,200 new, 3 removed</title>" in html
    assert 'aria-label="pages a run, 1 runs: 1,203"' in html
