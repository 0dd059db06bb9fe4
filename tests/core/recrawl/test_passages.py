from scrapy_dedup.core.boilerplate.repeats import PageCounts, RepeatPolicy
from scrapy_dedup.core.recrawl.passages import Repeats, main_text, mask, may_churn, page_keys, repeats_of, same_blocks
from tests.core.builders import parsed
from tests.tables import table


@table("core/mask_takes_numbers_and_names_of_days_and_months")
def test_mask_takes_numbers_and_names_of_days_and_months(text: str, masked: str) -> None:
    assert mask(text) == masked


@table("text/churn")
def test_numbers_that_somebody_pays_or_dials_never_churn(text: str, *, churns: bool) -> None:
    assert may_churn(text) is churns


def test_repeats_are_those_of_all_versions() -> None:
    old, new = PageCounts[int](), PageCounts[int]()
    for number in range(10):
        old.add([1, 10 + number] + [2] * (number < 6))
        new.add([3])

    assert repeats_of([old, new], RepeatPolicy(0.7, 5)) == Repeats({1, 3}, {1, 2, 3})


def test_keys_of_a_page_end_with_its_title() -> None:
    one, other = parsed("<title>A | S</title><p>Text"), parsed("<title>B | S</title><p>Text")

    ours, theirs = page_keys(one), page_keys(other)

    assert ours[:1] == one.fingerprints
    assert [our == their for our, their in zip(ours, theirs, strict=True)] == [True, False, True]


def test_main_text_keeps_what_the_site_does_not_share() -> None:
    page = parsed("<title>A | S</title><p>Own<p>Shared<ul><li><a href=/x>Link</a>")
    repeats = Repeats({page.fingerprints[1], page_keys(page)[-1]}, {page.fingerprints[2]})

    found = main_text(page, repeats)

    assert [passage.text for passage in found.title] == ["A"]
    assert [(passage.text, passage.is_link) for passage in found.passages] == [("Own", False), ("Link", True)]
    assert found.menus == {"body>ul>li"}
    assert found.rest == (page.fingerprints[1],)


@table("core/blocks_are_the_same_without_boilerplate")
def test_blocks_are_the_same_without_boilerplate(old: list[int], new: list[int], *, same: bool) -> None:
    assert same_blocks(old, new, {8, 9}) is same
