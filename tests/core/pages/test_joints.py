"""Which inline elements that touch hold words of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pages.gather import apart
from tests.core.builders import parsed
from tests.core.html_soup import soups
from tests.growth import assert_in_proportion
from tests.tables import table


@table("pages/joints")
def test_words_that_a_style_sheet_holds_apart_are_words(html, text):
    assert [block.text for block in parsed(f"<p>{html}</p>").blocks] == [text]


def test_code_stays_as_it_stands():
    assert parsed('<pre><b class="type">int</b><b class="name">Main</b></pre>').blocks[0].text == "intMain"


@given(st.one_of(soups, st.text("<>/ab1 $€")))
def test_nothing_is_added_but_blanks(source):
    assert apart(source).replace(" ", "") == source.replace(" ", "")


@pytest.mark.parametrize("part", ["<b>Ab</b>", "<b>", "a<b>", "a</b>B", 'a<a href="x">', "a<"])
def test_any_source_takes_time_in_proportion_to_its_length(part):
    assert_in_proportion(apart, lambda size: part * size, 2_000)
