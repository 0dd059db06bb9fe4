import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.urls.pagination import PageLinks, listing_part, next_parts
from tests.tables import table

SITE = "http://a.example"


@table("urls/next_parts")
def test_next_part_is_told(path, hrefs, expected):
    assert next_parts(SITE + path, PageLinks(hrefs)) == [SITE + one for one in expected]


@table("urls/named_next_parts")
def test_next_part_is_what_the_page_says(named, expected):
    assert next_parts(f"{SITE}/list", PageLinks(next_href=named)) == [SITE + one for one in expected]


@pytest.mark.parametrize("url", ["mailto:x", f"{SITE}/", f"{SITE}/list?page=x", f"{SITE}/about"])
def test_other_url_is_no_part(url):
    assert listing_part(url) is None


def test_parts_of_one_listing_share_their_place():
    first, second = listing_part(f"{SITE}/list?b=1&page=1&a=2"), listing_part(f"{SITE}/list?a=2&b=1&page=2")

    assert first.place == second.place
    assert (first.number, second.number) == (1, 2)


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_is_taken(text, hrefs):
    for url in (text, f"{SITE}/{text}?page=1", f"{SITE}/{text}/2"):
        assert all(one.startswith("http") for one in next_parts(url, PageLinks(hrefs, text)))
