import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.directives import Directives, read_directives

NONE, NOINDEX, NOFOLLOW = Directives(), Directives(noindex=True), Directives(nofollow=True)
BOTH = Directives(noindex=True, nofollow=True)


@pytest.mark.parametrize(
    ("metas", "expected"),
    [
        pytest.param([], NONE, id="nothing"),
        pytest.param(["index, follow"], NONE, id="what-holds-anyway"),
        pytest.param(["noindex"], NOINDEX, id="noindex"),
        pytest.param([" NoIndex ,  NOFOLLOW"], BOTH, id="case-and-space"),
        pytest.param(["none"], BOTH, id="none-is-both"),
        pytest.param(["noindex", "nofollow"], BOTH, id="several"),
        pytest.param(["index", "noindex"], NOINDEX, id="the-strictest-counts"),
        pytest.param(["noindexed, nofollower, max-snippet:0"], NONE, id="other-words"),
        pytest.param(["noindex, unavailable_after: 2030-01-01"], NOINDEX, id="with-a-value"),
        pytest.param(["," * 20_000 + "noindex"], NONE, id="bounded"),
    ],
)
def test_page_says_it_in_its_head(metas: list[str], expected: Directives) -> None:
    assert read_directives(metas) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param(["noindex"], NOINDEX, id="noindex"),
        pytest.param(["noindex, nofollow"], BOTH, id="both"),
        pytest.param(["noindex", "nofollow"], BOTH, id="two-headers"),
        pytest.param(["googlebot: noindex, nofollow"], NONE, id="for-one-crawler"),
        pytest.param(["googlebot: nofollow", "noindex"], NOINDEX, id="for-one-and-for-all"),
        pytest.param(["unavailable_after: 25 Jun 2030 15:00:00 PST"], NONE, id="a-value-is-no-crawler"),
        pytest.param(["unavailable_after: 25 Jun 2030, noindex"], NOINDEX, id="after-a-value"),
        pytest.param(["noindex, unavailable_after: 25 Jun 2030 15:00:00 PST"], NOINDEX, id="before-a-value"),
        pytest.param(["max-snippet: 20, nofollow"], NOFOLLOW, id="after-a-number"),
        pytest.param([": noindex"], NONE, id="crawler-without-a-name"),
        pytest.param([""], NONE, id="empty"),
    ],
)
def test_server_says_it_in_a_header(headers: list[str], expected: Directives) -> None:
    assert read_directives((), headers) == expected


def test_head_and_header_add_up() -> None:
    assert read_directives(["nofollow"], ["noindex"]) == BOTH


def test_names_are_those_that_are_set() -> None:
    assert [one.names for one in (NONE, NOINDEX, BOTH)] == [[], ["noindex"], ["noindex", "nofollow"]]


@given(st.lists(st.text()), st.lists(st.text()))
def test_any_text_is_read(metas: list[str], headers: list[str]) -> None:
    assert read_directives(metas, headers) == read_directives(metas[::-1], headers[::-1])


def test_page_has_its_robots_metas_in_order_and_those_of_one_crawler_are_not_among_them() -> None:
    page = parse_page(
        "<meta name=robots content=noindex><meta name=' ROBOTS ' content='nofollow'><meta name=robots>"
        "<meta name=googlebot content=none><body><meta name=robots content=none>"
    )

    assert isinstance(page, Page)
    assert page.robots == ("noindex", "nofollow", "")
