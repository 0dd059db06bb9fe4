"""The words of a text are the same, whatever its form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.duplicates import words
from scrapy_dedup.core.pages.render import Output, plain
from tests.tables import table


@table("text/plain")
def test_words_are_those_that_a_reader_sees(content: str, output: Output, found: str) -> None:
    assert words(plain(content, output)) == found.lower().split()


@pytest.mark.parametrize("output", ["markdown", "html", "text"])
@given(content=st.text(alphabet='[]()<>"&;! \nab#', max_size=60))
def test_any_text_has_words(output: Output, content: str) -> None:
    assert isinstance(plain(content, output), str)


@pytest.mark.parametrize(
    "content", ["](" * 50_000, "](((" * 50_000, '](a "' * 50_000, "](a(a)" * 40_000, "<" * 200_000]
)
@pytest.mark.parametrize("output", ["markdown", "html"])
def test_hostile_text_takes_no_long_time(content: str, output: Output) -> None:
    assert plain(content, output)
