from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.report.charts import HEIGHT, MOST_COLUMNS, Series, columns

COUNTS = st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), max_size=80)


@given(COUNTS)
def test_columns_stay_in_their_drawing(counts: list[tuple[int, int]]) -> None:
    labels = [f"run {number}" for number in range(len(counts))]
    series = (
        Series("new", "new", [new for new, _ in counts]),
        Series("removed", "removed", [gone for _, gone in counts]),
    )

    found = columns(labels, series, unit="pages").columns

    for column in found:
        assert 0 <= column.x <= column.x + column.width <= 100.01
        assert all(part.y >= 0 and part.y + part.height <= HEIGHT + 12.1 for part in column.parts)
    assert len(found) == min(len(counts), MOST_COLUMNS)


def test_every_column_says_its_figures() -> None:
    drawn = columns(["2026-03-01"], [Series("new", "new", [1200]), Series("removed", "removed", [3])], unit="pages")

    assert drawn.columns[0].said == "2026-03-01: 1,200 new, 3 removed"
    assert drawn.label == "pages a run, 1 runs: 1,203"
