import re

import pytest
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.report.charts import bar, domain_chart, rows
from scrapy_dedup.report.markup import Html
from tests.report.builders import a_domain
from tests.tables import table


def widths(html: str, kind: str) -> list[float]:
    found = [node.attributes["width"] or "" for node in LexborHTMLParser(html).css(f"rect.{kind}")]
    return [float(width.removesuffix("%")) for width in found]


def test_three_hundred_domains_become_the_largest_and_the_rest() -> None:
    domains = [a_domain(f"d{number}.example", pages=2, chars_in=1000 + number, chars_out=1000) for number in range(300)]

    bars = rows(domains)

    assert [each.name for each in bars][:2] == ["d299.example", "d298.example"]
    assert bars[-1].name == "288 other domains"
    assert sum(each.pages for each in bars) == 600
    assert sum(each.chars_in for each in bars) == sum(each.chars_in for each in domains)


@pytest.mark.parametrize(("domains", "bars"), [(0, 0), (1, 1), (12, 12), (13, 13), (14, 13)])
def test_no_row_stands_for_a_single_other_domain(domains: int, bars: int) -> None:
    assert len(rows([a_domain(f"d{number}.example") for number in range(domains)])) == bars


@table("charts/bars_stay_within_their_room")
def test_bars_stay_within_their_room(chars_in: int, chars_out: int) -> None:
    drawn = bar(chars_in, chars_out, chars_in, Html("label"))

    assert float(re.findall(r' x="([\d.]+)%"', drawn)[0]) + widths(drawn, "removed")[0] <= 100.0
    assert (widths(drawn, "kept")[0] > 0) == (chars_out > 0)
    assert (widths(drawn, "removed")[0] > 0) == (chars_in > chars_out)


def test_bar_can_be_read_aloud() -> None:
    chart = domain_chart([a_domain("shop.example", chars_in=1000, chars_out=590)])

    label = LexborHTMLParser(chart).css("svg.bar")[0].attributes["aria-label"]

    assert label == "shop.example: 41\u00a0% of 1.0\u00a0k removed"
