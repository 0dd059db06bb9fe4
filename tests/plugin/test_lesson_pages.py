"""Which pages are taken for those like one."""

import pytest

from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.plugin.lesson_pages import siblings

HERE = "https://shop.example/ropes/blue"


def found(*links: str, base: str = "") -> list[str]:
    html = "".join(f'<p><a href="{link}">Here</a></p>' for link in links)
    page = parse_page(f"<html><head>{base}</head><body>{html}</body></html>")
    assert isinstance(page, Page)
    return list(siblings(HERE, page))


def test_most_similar_addresses_come_first() -> None:
    assert found("/about", "/", "/knots/red", "/ropes/red", "/ropes/red/big") == [
        "https://shop.example/ropes/red",
        "https://shop.example/knots/red",
        "https://shop.example/ropes/red/big",
        "https://shop.example/about",
        "https://shop.example/",
    ]


@pytest.mark.parametrize(
    "link",
    [
        pytest.param("https://other.example/ropes/red", id="other-host"),
        pytest.param("http://shop.example/ropes/red", id="other-scheme"),
        pytest.param("https://shop.example:8443/ropes/red", id="other-port"),
        pytest.param("#top", id="itself"),
        pytest.param("mailto:a@shop.example", id="mail"),
        pytest.param("javascript:void(0)", id="script"),
        pytest.param("https://[broken/", id="broken"),
    ],
)
def test_what_is_no_page_of_the_host_is_none(link: str) -> None:
    assert found(link) == []


def test_each_is_there_once_and_base_counts() -> None:
    assert found("red", "red#a", "red", base='<base href="/knots/">') == ["https://shop.example/knots/red"]
