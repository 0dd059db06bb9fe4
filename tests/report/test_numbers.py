from scrapy_dedup.report.numbers import count, percent, short
from tests.tables import table


@table("values/figures")
def test_short_figures(number: int, text: str) -> None:
    assert short(number).replace("\u00a0", " ") == text


@table("values/shares")
def test_shares(part: int, total: int, text: str) -> None:
    assert percent(part, total).replace("\u00a0", " ") == text


def test_one_page_two_pages() -> None:
    assert (count(1, "page"), count(2, "page"), count(1200, "page")) == ("1 page", "2 pages", "1,200 pages")
