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
def test_what_repeats_on_all_pages_is_found_whatever_the_epochs(pages: list[list[int]], epoch_pages: int) -> None:
    plain = BoundedCounts(10_000)
    for number, page in enumerate(pages):
        plain.add([*page, 10_000 + number])
    epochs = fed(pages, epoch_pages=epoch_pages)

    found, expected = epochs.boilerplate(), plain.boilerplate(POLICY)

    assert (found.pages, found.blocks_total) == (expected.pages, expected.blocks_total)
    assert found == expected or (epochs.redesigns and found.counts.items() >= expected.counts.items())


@pytest.mark.parametrize(
    ("at", "since"), [pytest.param(50, 50, id="between-epochs"), pytest.param(55, 60, id="within-an-epoch")]
)
def test_a_redesign_is_found_where_it_begins_and_the_blocks_of_both_designs_repeat(at: int, since: int) -> None:
    epochs = fed([OLD] * at + [NEW] * (100 - at))

    assert epochs.redesigns == [50]
    assert list(epochs.latest().counts) == NEW
    assert epochs.boilerplate().counts == dict.fromkeys(OLD, 50) | dict.fromkeys(NEW, 100 - since)


def test_a_redesign_that_keeps_two_thirds_of_the_blocks_is_found() -> None:
    stays = list(range(200, 240))

    assert fed([OLD + stays] * 50 + [NEW + stays] * 50).redesigns == [50]


def test_without_one_the_latest_is_all_pages() -> None:
    epochs = fed([OLD] * 95)

    assert epochs.redesigns == []
    assert epochs.latest() == epochs.boilerplate()
    assert epochs.latest().pages == 95


def test_each_of_two_redesigns_is_found() -> None:
    epochs = fed([OLD] * 30 + [NEW] * 30 + [OLD] * 30)

    assert epochs.redesigns == [30, 60]
    assert list(epochs.latest().counts) == OLD


@pytest.mark.parametrize(
    ("new", "found"), [pytest.param(4, False, id="too-few"), pytest.param(5, True), pytest.param(10, True)]
)
@pytest.mark.parametrize("old", [10, 100])
def test_a_redesign_is_found_before_its_first_epoch_is_over(old: int, new: int, *, found: bool) -> None:
    epochs = fed([OLD] * old + [NEW] * new)

    assert epochs.redesigns == [old] * found
    assert list(epochs.boilerplate().counts) == (OLD + NEW if found else OLD)
    assert epochs.boilerplate().of_design.items() >= dict.fromkeys(NEW * found, new).items()


def test_the_last_page_of_an_epoch_ends_nothing() -> None:
    """Else today would be an epoch without pages."""

    assert list(fed([OLD] * 10, epoch_pages=10).latest().counts) == OLD
