import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.bounded_counts import BoundedCounts
from scrapy_dedup.core.epochs import Epochs
from scrapy_dedup.core.repeats import RepeatPolicy

POLICY = RepeatPolicy(0.7, 2)
OLD, NEW = list(range(20)), list(range(100, 120))


def fed(pages: list[list[int]], *, epoch_pages: int = 10) -> Epochs:
    epochs = Epochs(POLICY, epoch_pages=epoch_pages)
    for number, page in enumerate(pages):
        epochs.add([*page, 10_000 + number])
    return epochs


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=60), st.integers(1, 12))
def test_the_whole_is_what_one_count_of_all_pages_gives(pages: list[list[int]], epoch_pages: int) -> None:
    plain = BoundedCounts()
    for number, page in enumerate(pages):
        plain.add([*page, 10_000 + number])

    assert fed(pages, epoch_pages=epoch_pages).whole().boilerplate(POLICY) == plain.boilerplate(POLICY)


@pytest.mark.parametrize("at", [pytest.param(50, id="between-epochs"), pytest.param(55, id="within-an-epoch")])
def test_a_redesign_is_found_where_it_begins_and_its_blocks_hold_from_then_on(at: int) -> None:
    epochs = fed([OLD] * at + [NEW] * (100 - at))

    assert epochs.redesigns == [50]
    assert list(epochs.today().boilerplate(POLICY).counts) == NEW
    assert list(epochs.whole().boilerplate(POLICY).counts) == []


def test_without_one_today_is_all_pages() -> None:
    epochs = fed([OLD] * 95)

    assert epochs.redesigns == []
    assert epochs.today().boilerplate(POLICY) == epochs.whole().boilerplate(POLICY)
    assert epochs.today().pages == 95


def test_each_of_two_redesigns_is_found() -> None:
    epochs = fed([OLD] * 30 + [NEW] * 30 + [OLD] * 30)

    assert epochs.redesigns == [30, 60]
    assert list(epochs.today().boilerplate(POLICY).counts) == OLD
