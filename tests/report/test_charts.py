import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.report.charts import HEIGHT, MOST_COLUMNS, Series, bars, columns
from scrapy_dedup.report.drawing import render_report
from tests.report.builders import a_domain, a_report
from tests.tables import table


def test_three_hundred_domains_become_the_largest_and_the_rest() -> None:
    domains = [a_domain(f"d{number}.example", pages=2, chars_in=1000 + number, chars_out=1000) for number in range(300)]

    found = bars(domains)

    assert [each.name for each in found][:2] == ["d299.example", "d298.example"]
    assert found[-1].name == "288 other domains"
    assert sum(each.pages for each in found) == 600
    assert sum(each.chars_in for each in found) == sum(each.chars_in for each in domains)


@pytest.mark.parametrize(("domains", "rows"), [(0, 0), (1, 1), (12, 12), (13, 13), (14, 13)])
def test_no_row_stands_for_a_single_other_domain(domains: int, rows: int) -> None:
    assert len(bars([a_domain(f"d{number}.example") for number in range(domains)])) == rows


@table("charts/bars_stay_within_their_room")
def test_bars_stay_within_their_room(chars_in: int, chars_out: int) -> None:
    bar = LexborHTMLParser(render_report(a_report(domains=(a_domain(chars_in=chars_in, chars_out=chars_out),)))).css(
        ".chart .bar"
    )[0]

    kept, removed = bar.css("rect.kept")[0].attributes, bar.css("rect.removed")[0].attributes
    numbers = [float((value or "").removesuffix("%")) for value in (kept["width"], removed["x"], removed["width"])]
    assert numbers[1] + numbers[2] <= 100.0
    assert (numbers[0] > 0) == (chars_out > 0)
    assert (numbers[2] > 0) == (chars_in > chars_out)


def test_bar_can_be_read_aloud() -> None:
    chart = render_report(a_report(domains=(a_domain("shop.example", chars_in=1000, chars_out=590),)))

    label = LexborHTMLParser(chart).css(".chart svg.bar")[0].attributes["aria-label"]

    assert label == "shop.example: 41\u00a0% of 1.0\u00a0k removed"


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
