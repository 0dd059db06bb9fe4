from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.news import SeenTexts
from tests.tables import table

MENU = ["Home", "All departments of the hospital", "Contact us by telephone or mail"]
STORY = "Boats leave the harbour every day at nine."


def seen() -> SeenTexts:
    texts = SeenTexts()
    texts.is_news([*MENU, STORY, "December 2031", *map(str, range(1, 32))])
    return texts


@table("text/news")
def test_page_is_news_when_it_brings_text_that_was_not_met(texts: list[str], *, news: bool) -> None:
    assert seen().is_news(texts) is news


def test_only_dates_are_passed_over_among_numbers() -> None:
    texts = SeenTexts()
    months = [texts.is_news([f"No appointments are free in week {n} of {2031 + n}"]) for n in range(3)]
    valves = [texts.is_news([f"A valve of brass with a diameter of {n} mm"]) for n in range(3)]

    assert months == [True, False, False]
    assert valves == [True, True, True]


@given(st.lists(st.lists(st.text(max_size=60), max_size=4), max_size=8))
def test_memory_is_bounded_and_no_page_is_news_twice_in_a_row(pages: list[list[str]]) -> None:
    texts = SeenTexts(most=4)
    for page in pages:
        texts.is_news(page)

        assert len(texts) <= 4
        assert not texts.is_news(page)


def test_what_was_forgotten_is_news_again() -> None:
    texts = SeenTexts(most=2)

    assert [texts.is_new_key(key) for key in [b"a", b"b", b"c", b"a"]] == [True] * 4
