from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.novelty import News, Novelty

PROSE = "A concert of the town band will be given in the old hall by the river on a warm evening"
NO_LISTING = ("", ())


def test_text_is_new_once() -> None:
    seen = Novelty()

    first = seen.meet([PROSE], "http://a/1", (), NO_LISTING)
    again = seen.meet([PROSE], "http://a/2", (), NO_LISTING)

    assert first.counts(strictly=True)
    assert again == News()
    assert not again.counts(strictly=False)


def test_number_or_own_address_is_no_news_to_the_strict() -> None:
    seen = Novelty()
    seen.meet(["November 2026", "No events"], "http://a/november/2026", (), NO_LISTING)

    found = seen.meet(["December 2026", "No events"], "http://a/december/2026", (), NO_LISTING)

    assert not found.counts(strictly=True)
    assert found.counts(strictly=False)


def test_link_to_a_path_that_nothing_led_to_is_news() -> None:
    seen = Novelty()
    seen.meet([], "http://a/", ["http://a/known"], NO_LISTING)

    assert seen.meet([], "http://a/", ["http://a/known"], NO_LISTING) == News()
    assert seen.meet([], "http://a/", ["http://a/new"], NO_LISTING).counts(strictly=True)


def test_part_of_a_listing_is_news_by_what_no_earlier_part_lists() -> None:
    seen = Novelty()

    found = [seen.meet([], "http://a/", (), ("list", listed)).listed for listed in (["x", "y"], ["y", "z"], ["x", "z"])]

    assert found == [2, 1, 0]


def test_everything_is_news_when_nothing_more_can_be_remembered() -> None:
    seen = Novelty(most=1)
    seen.meet([PROSE], "http://a/1", (), NO_LISTING)

    assert seen.is_full
    assert seen.meet([PROSE], "http://a/1", (), NO_LISTING).counts(strictly=True)


@given(st.lists(st.text(), max_size=5), st.text())
def test_nothing_is_new_twice(texts: list[str], url: str) -> None:
    seen = Novelty()
    seen.meet(texts, url, texts, (url, texts))

    assert seen.meet(texts, url, texts, (url, texts)) == News()
