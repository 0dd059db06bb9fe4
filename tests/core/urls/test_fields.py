import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.urls.fields import IgnoredParameters, host_of, is_token, names_in, values_in, without
from scrapy_dedup.core.urls.normal_form import UrlRules, normalize_url, page_key
from tests.tables import table


@pytest.mark.parametrize(
    "value", ["4F2A9C01D3", "S-7F3A9C01B2", "(S4f2a9c01)", "9f86d081884c", "ABCDEFGHIJ", "20231104"]
)
def test_value_that_a_program_made_up_is_told(value: str) -> None:
    assert is_token(value)


@pytest.mark.parametrize(
    "value", ["", "12", "en", "red", "product-17", "hello-world", "mp3tags", "top10-of-2024", "Contents", "a" * 400]
)
def test_value_that_a_person_chose_is_told(value: str) -> None:
    assert not is_token(value)


@table("urls/without_parameters")
def test_parameters_are_left_out(url: str, names: list[str], left: str) -> None:
    assert without(url, names) == left


def test_names_and_values_of_all_kinds_are_found() -> None:
    url = "http://a/4F2A9C01D3/p;sid=1?x=2&&x=3"

    assert names_in(url) == [";sid", "/@0", "x"]
    assert values_in(url, names_in(url)) == ["2", "3", "1", "4F2A9C01D3"]
    assert names_in("http://a") == []


def test_keys_leave_out_what_is_ignored_from_the_moment_on_which_it_is() -> None:
    ignored = IgnoredParameters()
    rules = UrlRules(ignored=ignored)
    before = page_key("http://a/p?sid=1", rules)
    ignored.add("a", "sid")

    assert before == page_key("http://a/p?sid=1")
    assert page_key("http://a/p?sid=1", rules) == page_key("http://a/p")
    assert normalize_url("http://b/p?sid=1", rules) == "http://b/p?sid=1"
    ignored.remove("a", "sid")
    assert page_key("http://a/p?sid=1", rules) == before


@given(st.text(), st.lists(st.text(max_size=4), max_size=3))
def test_any_text_is_taken(url: str, names: list[str]) -> None:
    assert without(without(url, names), names) == without(url, names)
    values_in(url, names_in(url))
    host_of(url)
