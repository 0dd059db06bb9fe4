import pytest

from scrapy_dedup.report.numbers import count, percent, short


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0 k"),
        (12_345, "12.3 k"),
        (123_456, "123 k"),
        (999_499, "999 k"),
        (999_999, "1.0 M"),
        (36_100_000, "36.1 M"),
        (7_000_000_000_000, "7000 G"),
    ],
)
def test_short_figures(number: int, text: str) -> None:
    assert short(number).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("part", "total", "text"),
    [
        pytest.param(0, 0, "0 %", id="nothing-of-nothing"),
        pytest.param(41, 100, "41 %", id="whole"),
        pytest.param(4, 1000, "0.4 %", id="small-gets-a-decimal"),
        pytest.param(1, 1_000_000, "<0.1 %", id="something-is-never-zero"),
        pytest.param(999_999, 1_000_000, ">99.9 %", id="not-quite-all-is-never-all"),
        pytest.param(995, 1000, "99.5 %", id="near-all-gets-a-decimal"),
        pytest.param(7, 7, "100 %", id="all"),
    ],
)
def test_shares(part: int, total: int, text: str) -> None:
    assert percent(part, total).replace("\u00a0", " ") == text


def test_one_page_two_pages() -> None:
    assert (count(1, "page"), count(2, "page"), count(1200, "page")) == ("1 page", "2 pages", "1,200 pages")
