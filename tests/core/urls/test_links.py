from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.urls.normal_form import pages_linked, target_of
from tests.tables import table

PAGE = "https://example.com/a/b.html"


@table("urls/links")
def test_target_is_absolute_and_harmless(href: str, target: str | None) -> None:
    assert target_of(href, PAGE) == target


def test_endless_link_has_no_target() -> None:
    assert target_of("x" * 4_001, PAGE) is None


def test_pages_linked_are_pages_each_once_in_order() -> None:
    hrefs = [
        "z",
        "/a",
        "z",
        "https://example.com/a/z",
        "mailto:a@example.com",
        "ftp://x.example/",
        "javascript:1",
        "#x",
    ]

    assert pages_linked(hrefs, PAGE) == ["https://example.com/a/z", "https://example.com/a", f"{PAGE}#x"]


@given(st.lists(st.text(max_size=20), max_size=8))
def test_every_page_that_is_linked_can_be_asked_for(hrefs: list[str]) -> None:
    found = pages_linked(hrefs, PAGE)

    assert all(one.startswith(("http://", "https://")) for one in found)
    assert len(set(found)) == len(found)
