from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.declared import Directives, read_directives
from tests.tables import table

NONE, NOINDEX, NOFOLLOW = Directives(), Directives(noindex=True), Directives(nofollow=True)
BOTH = Directives(noindex=True, nofollow=True)


@table("core/page_says_it_in_its_head")
def test_page_says_it_in_its_head(metas: list[str], names: list[str]) -> None:
    assert read_directives(metas).names == names


@table("core/server_says_it_in_a_header")
def test_server_says_it_in_a_header(headers: list[str], names: list[str]) -> None:
    assert read_directives((), headers).names == names


def test_so_many_words_are_read() -> None:
    assert read_directives(["," * 20_000 + "noindex"]) == NONE


def test_head_and_header_add_up() -> None:
    assert read_directives(["nofollow"], ["noindex"]) == BOTH


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
