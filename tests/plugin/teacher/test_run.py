"""Which pages are taken for those like one."""

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.plugin.teacher.run import siblings
from tests.tables import table

HERE = "https://shop.example/ropes/blue"


def found(*links: str, base: str = "") -> list[str]:
    html = "".join(f'<p><a href="{link}">Here</a></p>' for link in links)
    page = parse_page(f"<html><head>{base}</head><body>{html}</body></html>")
    assert isinstance(page, Page)
    return list(siblings(HERE, page))


def test_most_similar_addresses_come_first():
    assert found("/about", "/", "/knots/red", "/ropes/red", "/ropes/red/big") == [
        "https://shop.example/ropes/red",
        "https://shop.example/knots/red",
        "https://shop.example/ropes/red/big",
        "https://shop.example/about",
        "https://shop.example/",
    ]


@table("plugin/no_lesson_pages")
def test_what_is_no_page_of_the_host_is_none(link):
    assert found(link) == []


def test_each_is_there_once_and_base_counts():
    assert found("red", "red#a", "red", base='<base href="/knots/">') == ["https://shop.example/knots/red"]
