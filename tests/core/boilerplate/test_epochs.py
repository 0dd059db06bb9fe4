from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.boilerplate.repeats import BoundedCounts, Epochs, PageCounts, RepeatPolicy

POLICY = RepeatPolicy(0.7, 2)
OLD, NEW = list(range(20)), list(range(100, 120))

Pages = list[list[int]]
pages = st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=40)
policies = st.builds(RepeatPolicy, st.floats(0.1, 1.0), st.integers(2, 10))


def fed(pages: list[list[int]], *, epoch_pages: int = 10) -> Epochs:
    epochs = Epochs(POLICY, epoch_pages=epoch_pages)
    for number, page in enumerate(pages):
        epochs.add([*page, 10_000 + number])
    return epochs


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=60), st.integers(1, 12))
def test_what_repeats_on_all_pages_is_found_whatever_the_epochs(pages, epoch_pages):
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
def test_a_redesign_is_found_where_it_begins_and_the_blocks_of_both_designs_repeat(at, since):
    epochs = fed([OLD] * at + [NEW] * (100 - at))

    assert epochs.redesigns == [50]
    assert list(epochs.latest().counts) == NEW
    assert epochs.boilerplate().counts == dict.fromkeys(OLD, 50) | dict.fromkeys(NEW, 100 - since)


@pytest.mark.parametrize(
    ("new", "found"), [pytest.param(4, False, id="too-few"), pytest.param(5, True), pytest.param(10, True)]
)
@pytest.mark.parametrize("old", [10, 100])
def test_a_redesign_is_found_before_its_first_epoch_is_over(old, new, *, found):
    epochs = fed([OLD] * old + [NEW] * new)

    assert epochs.redesigns == [old] * found
    assert list(epochs.boilerplate().counts) == (OLD + NEW if found else OLD)
    assert epochs.boilerplate().of_design.items() >= dict.fromkeys(NEW * found, new).items()


def counted(of: Pages, most_blocks: int) -> BoundedCounts:
    counts = BoundedCounts(most_blocks)
    for page in of:
        counts.add(page)
    return counts


def true_counts(of: Pages) -> Counter[int]:
    return Counter(key for page in of for key in set(page))


def plain(of: Pages) -> PageCounts[int]:
    counts = PageCounts[int]()
    for page in of:
        counts.add(page)
    return counts


def is_certain(bounded: BoundedCounts, policy: RepeatPolicy) -> bool:
    """Say whether no block that was forgotten can be on enough pages; else none of them is found, and text stays."""
    return bounded.pages < policy.min_pages or bounded.floor < policy.needed(bounded.pages)


@given(pages, st.integers(1, 20))
def test_beyond_it_the_true_count_is_within_the_bounds(of, most_blocks):
    bounded = counted(of, most_blocks)

    assert len(bounded) <= most_blocks
    for key, count in true_counts(of).items():
        low, high = bounded.bounds(key)
        assert low <= count <= high
        assert high - low <= bounded.floor


@given(pages, policies, st.integers(1, 20))
def test_with_a_second_look_all_decisions_are_those_of_an_exact_count(of, policy, most_blocks):
    bounded, true = counted(of, most_blocks), true_counts(of)
    settled = {key: true[key] for key in bounded.doubtful(policy)}

    if is_certain(bounded, policy):
        found = bounded.boilerplate(policy, settled).counts
        assert list(found) == list(plain(of).boilerplate(policy).counts)


@given(pages, pages, st.integers(1, 20), st.integers(1, 20))
def test_merged_counts_bound_those_of_all_pages(one, other, most, others_most):
    merged, second = counted(one, most), counted(other, others_most)
    floors = merged.floor + second.floor
    merged.merge(second)

    assert merged.pages == len(one) + len(other)
    assert len(merged) <= most
    assert merged.floor >= floors
    for key, count in true_counts(one + other).items():
        low, high = merged.bounds(key)
        assert low <= count <= high


def test_blocks_that_come_again_and_again_are_forgotten_in_few_passes():
    """A floor that rose by one page at a time would take as many passes as they have pages."""
    bounded = counted([list(range(50))] * 200, most_blocks=50)
    bounded.add([-1])

    assert len(bounded) <= 50
    assert bounded.floor == 200
    assert not is_certain(bounded, RepeatPolicy())


@pytest.mark.parametrize("of", [pytest.param(3, id="too-few"), pytest.param(5, id="enough")])
def test_with_too_few_pages_nothing_is_in_doubt_or_found(of):
    bounded = counted([[1, 2, page + 10] for page in range(of)], most_blocks=2)
    policy = RepeatPolicy(0.7, 5)

    assert bool(bounded.boilerplate(policy).counts or bounded.doubtful(policy) or not is_certain(bounded, policy)) is (
        of >= policy.min_pages
    )
