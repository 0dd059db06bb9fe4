from itertools import count, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.resilience.traps import PASS, Mixtures, News, Novelty, TrapPolicy, TrapReason, Traps
from scrapy_dedup.core.urls.seen import Latest

SITE = "http://a.example"


def noted(traps: Traps, *paths: str, news: bool = False) -> list[str]:
    return [trap.pattern for path in paths for trap in traps.note(SITE + path, news=news)]


def months(number: int, first: int = 0) -> list[str]:
    return [f"/cal/{2000 + month // 12}/{month % 12 + 1}" for month in range(first, first + number)]


def test_calendar_is_a_trap_after_so_many_pages_without_news():
    traps = Traps()
    before = noted(traps, *months(7))

    found = noted(traps, "/cal/2001/1")

    assert before == []
    assert "a.example/cal/#/#" in found
    trap = traps.ask(f"{SITE}/cal/2050/1").trap
    assert (trap.reason, trap.pages, trap.in_a_row) == (TrapReason.ENDLESS, 8, 8)
    assert trap.evidence == "8 pages in a row brought only known content; 0 of 8 brought news"
    assert traps.ask(f"{SITE}/other/2050/1") == PASS


def test_path_that_repeats_is_given_up_sooner():
    traps = Traps()

    assert noted(traps, *("/a" * depth for depth in range(3, 7)))[0] == "a.example/a/..."
    assert traps.known()[0].reason is TrapReason.REPEATS


def test_filters_are_one_trap_however_they_are_combined():
    traps = Traps()
    names = ("color", "size", "brand", "price")
    combined = [
        f"/shop?{one}={value}&{other}=1" for (one, other), value in zip(product(names, names), count(), strict=False)
    ]
    noted(traps, *(f"/shop?page={number}" for number in range(9)), news=True)
    noted(traps, *combined[:12])

    assert TrapReason.PARAMETERS in {trap.reason for trap in traps.known()}
    assert traps.ask(f"{SITE}/shop?color=9&brand=7").trap is not None
    assert traps.ask(f"{SITE}/shop?page=10").trap is None
    assert traps.ask(f"{SITE}/shop?never=1").trap is None


def test_page_that_others_lead_to_is_given_up_last():
    traps = Traps()
    noted(traps, *months(8))
    url = f"{SITE}/cal/2050/1"

    assert traps.ask(url, is_elsewhere=True).trap is None
    assert traps.ask(url, is_elsewhere=True).is_late
    noted(traps, *months(16, 30))
    assert traps.ask(url, is_elsewhere=True).trap is not None


def test_some_requests_are_let_through_and_news_ends_a_trap():
    traps = Traps()
    noted(traps, *months(8))
    url = f"{SITE}/cal/2050/1"

    passed = [at for at in range(1, 600) if traps.ask(url).trap is None]
    noted(traps, "/cal/2050/1", news=True)

    assert passed == [64, 512]
    assert traps.known() == []
    assert traps.ask(url).trap is None


def test_slow_lets_one_in_ten_through():
    traps = Traps(TrapPolicy(action="slow"))
    noted(traps, *months(8))

    assert sum(traps.ask(f"{SITE}/cal/2050/1").trap is None for _ in range(100)) == 10


def test_no_more_are_under_way_than_may_be_in_vain():
    traps = Traps()
    url = f"{SITE}/cal/2000/1"
    answers = []
    for _ in range(9):
        answers.append(bool(traps.ask(url).waits))
        traps.sent(url)

    assert answers == [False] * 8 + [True]
    traps.came(url)
    traps.came(url)
    assert not traps.ask(url).waits
    noted(traps, *months(5))
    assert traps.ask(url).waits


def test_link_to_what_brought_nothing_is_barren():
    traps = Traps()
    noted(traps, *months(3))
    noted(traps, "/shop?color=1")

    assert traps.is_barren(f"{SITE}/cal/2050/1")
    assert traps.is_barren("mailto:x")
    assert not traps.is_barren(f"{SITE}/shop?color=2")


def test_patterns_are_bounded():
    traps = Traps(_patterns=Latest(10))
    noted(traps, *(f"/{chr(97 + number)}/x" for number in range(26)))
    noted(traps, *months(8))

    assert len(traps._patterns) == 10
    assert traps.ask(f"{SITE}/cal/2050/1").trap is not None


def test_trap_of_an_earlier_part_of_the_crawl_holds():
    traps = Traps()
    traps.recall("a.example/cal/#/#", 8)

    assert traps.ask(f"{SITE}/cal/2050/1").trap is not None


@given(st.lists(st.tuples(st.text(), st.booleans()), max_size=20))
def test_any_text_is_taken(visits):
    traps = Traps(TrapPolicy(pages=3))
    for text, news in visits:
        for url in (text, f"{SITE}/{text}"):
            traps.ask(url)
            traps.sent(url)
            traps.note(url, news=news)
            traps.came(url)
    assert all(trap.in_a_row >= 2 for trap in traps.known())


@pytest.mark.parametrize("path", ["/p?id={}", "/p/{}", "/?lang=en&id={}"])
def test_pages_with_news_are_never_stopped(path):
    traps = Traps()

    for number in range(200):
        assert traps.ask(SITE + path.format(number)) == PASS
        noted(traps, path.format(number), news=True)


def test_parameter_that_brings_nothing_takes_no_other_down_with_it():
    traps = Traps()
    for number in range(10):
        traps.note(f"http://a/p?id={number}", news=True)

    found = [trap.pattern for n in range(40) for trap in traps.note(f"http://a/p?id={n}&print=1", news=False)]

    assert "a/p?id&print" in found
    assert traps.ask("http://a/p?id=99&print=1").trap is not None
    assert traps.ask("http://a/p?id=99").trap is None


def test_equal_parts_behind_the_last_end_a_listing_that_was_good():
    traps = Traps()
    for number in range(40):
        traps.note(f"http://a/l?page={number}", news=True)

    found = [n for n in range(24) for trap in traps.note(f"http://a/l?page={40 + n}", news=False, same=True) if trap]

    assert min(found) == TrapPolicy().pages - 1


def test_good_parameters_have_brought_news_lately():
    traps = Traps()
    for number in range(2):
        traps.note(f"http://a/p?id={number}", news=True)

    assert traps.is_good("http://a/p?id=9")
    assert not traps.is_good("http://a/p?other=9")
    assert not traps.is_good("http://a/p")


def test_sets_of_parameters_beyond_the_most_are_judged_all_the_same():
    traps = Traps()
    for number in range(100):
        traps.note(f"http://a/p?{'x' * (number + 1)}=1&b=2", news=False)

    assert traps.ask("http://a/p?b=3&y=1").trap is not None


PROSE = "A concert of the town band will be given in the old hall by the river on a warm evening"
NO_LISTING = ("", ())


def test_number_or_own_address_is_no_news_to_the_strict():
    seen = Novelty()
    seen.meet(["November 2026", "No events"], "http://a/november/2026", (), NO_LISTING)

    found = seen.meet(["December 2026", "No events"], "http://a/december/2026", (), NO_LISTING)

    assert not found.counts(strictly=True)
    assert found.counts(strictly=False)


def test_link_to_a_path_that_nothing_led_to_is_news():
    seen = Novelty()
    seen.meet([], "http://a/", ["http://a/known"], NO_LISTING)

    assert seen.meet([], "http://a/", ["http://a/known"], NO_LISTING) == News(is_same=True)
    assert seen.meet([], "http://a/", ["http://a/new"], NO_LISTING).counts(strictly=True)
    assert seen.meet([], "http://a/", ["http://a/known?part=2"], NO_LISTING).counts(strictly=True)


def test_part_of_a_listing_is_news_by_what_no_earlier_part_lists():
    seen = Novelty()

    found = [seen.meet([], "http://a/", (), ("list", listed)).listed for listed in (["x", "y"], ["y", "z"], ["x", "z"])]

    assert found == [2, 1, 0]


def test_everything_is_news_when_nothing_more_can_be_remembered():
    seen = Novelty(most=1)
    seen.meet([PROSE], "http://a/1", (), NO_LISTING)

    assert seen.is_full
    assert seen.meet([PROSE], "http://a/1", (), NO_LISTING).counts(strictly=True)


def test_date_of_its_own_address_is_no_news_but_a_price_is():
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


def test_mixtures_of_a_section_are_one_kind():
    mixtures = Mixtures()

    assert mixtures.as_parameters(f"{SITE}/shop/red/wood/?a=1") == f"{SITE}/shop?(steps)=mixed&a=1"
    assert mixtures.as_parameters(f"{SITE}/shop/wood/red/") == f"{SITE}/shop?(steps)=mixed"


def test_no_more_is_remembered_than_the_most():
    mixtures = Mixtures(most=1)
    for path in ("/shop/red/", "/shop/wood/", "/shop/red/wood/"):
        mixtures.meet(SITE + path)

    assert not mixtures.is_mixed(f"{SITE}/shop/red/wood/")


@given(st.text())
def test_any_path_is_judged(path):
    assert met(f"/{path}", f"/shop/{path}").is_mixed(f"{SITE}/shop/{path}") in (True, False)


def test_step_in_several_places_is_mixed_in_each():
    mixtures = met("/shop/red/", "/shop/wood/", "/shop/red/wood/")

    assert mixtures.is_mixed(f"{SITE}/shop/red/wood/")
