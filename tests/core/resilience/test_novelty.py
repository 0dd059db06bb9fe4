from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.resilience.traps import Mixtures, News, Novelty

PROSE = "A concert of the town band will be given in the old hall by the river on a warm evening"
NO_LISTING = ("", ())

SITE = "http://a.example"


def test_number_or_own_address_is_no_news_to_the_strict() -> None:
    seen = Novelty()
    seen.meet(["November 2026", "No events"], "http://a/november/2026", (), NO_LISTING)

    found = seen.meet(["December 2026", "No events"], "http://a/december/2026", (), NO_LISTING)

    assert not found.counts(strictly=True)
    assert found.counts(strictly=False)


def test_link_to_a_path_that_nothing_led_to_is_news() -> None:
    seen = Novelty()
    seen.meet([], "http://a/", ["http://a/known"], NO_LISTING)

    assert seen.meet([], "http://a/", ["http://a/known"], NO_LISTING) == News(is_same=True)
    assert seen.meet([], "http://a/", ["http://a/new"], NO_LISTING).counts(strictly=True)
    assert seen.meet([], "http://a/", ["http://a/known?part=2"], NO_LISTING).counts(strictly=True)


def test_part_of_a_listing_is_news_by_what_no_earlier_part_lists() -> None:
    seen = Novelty()

    found = [seen.meet([], "http://a/", (), ("list", listed)).listed for listed in (["x", "y"], ["y", "z"], ["x", "z"])]

    assert found == [2, 1, 0]


def test_everything_is_news_when_nothing_more_can_be_remembered() -> None:
    seen = Novelty(most=1)
    seen.meet([PROSE], "http://a/1", (), NO_LISTING)

    assert seen.is_full
    assert seen.meet([PROSE], "http://a/1", (), NO_LISTING).counts(strictly=True)


def test_date_of_its_own_address_is_no_news_but_a_price_is() -> None:
    seen = Novelty()
    seen.meet(["Nothing on 2026-11-22"], "http://a/day/2026/11/22", (), NO_LISTING)
    seen.meet(["Screw", "Price 5.20"], "http://a/?id=1", (), NO_LISTING)

    day = seen.meet(["Nothing on 2026-11-23"], "http://a/day/2026/11/23", (), NO_LISTING)

    assert (day.texts, seen.meet(["Screw", "Price 5.30"], "http://a/?id=2", (), NO_LISTING).texts) == (0, 1)


def met(*paths: str) -> Mixtures:
    mixtures = Mixtures()
    for path in paths:
        mixtures.meet(SITE + path)
    return mixtures


def test_mixtures_of_a_section_are_one_kind() -> None:
    mixtures = Mixtures()

    assert mixtures.as_parameters(f"{SITE}/shop/red/wood/?a=1") == f"{SITE}/shop?(steps)=mixed&a=1"
    assert mixtures.as_parameters(f"{SITE}/shop/wood/red/") == f"{SITE}/shop?(steps)=mixed"


def test_no_more_is_remembered_than_the_most() -> None:
    mixtures = Mixtures(most=1)
    for path in ("/shop/red/", "/shop/wood/", "/shop/red/wood/"):
        mixtures.meet(SITE + path)

    assert not mixtures.is_mixed(f"{SITE}/shop/red/wood/")


@given(st.text())
def test_any_path_is_judged(path: str) -> None:
    assert met(f"/{path}", f"/shop/{path}").is_mixed(f"{SITE}/shop/{path}") in (True, False)


def test_step_in_several_places_is_mixed_in_each() -> None:
    mixtures = met("/shop/red/", "/shop/wood/", "/shop/red/wood/")

    assert mixtures.is_mixed(f"{SITE}/shop/red/wood/")
