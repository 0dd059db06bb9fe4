from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.bounded_counts import BoundedCounts
from scrapy_dedup.core.repeats import PageCounts, RepeatPolicy

pages = st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=40)


def counted(counts: PageCounts[int], of: list[list[int]]) -> PageCounts[int]:
    for page in of:
        counts.add(page)
    return counts


@given(pages, st.floats(0.1, 1.0), st.integers(2, 10))
def test_while_there_is_room_counts_are_exact(of: list[list[int]], threshold_pct: float, min_pages: int) -> None:
    policy = RepeatPolicy(threshold_pct, min_pages)

    bounded = counted(BoundedCounts(most_blocks=31), of)

    assert bounded.boilerplate(policy) == counted(PageCounts(), of).boilerplate(policy)


@given(pages, st.integers(1, 20))
def test_beyond_it_a_count_is_never_too_high_and_too_low_by_the_floor_at_most(
    of: list[list[int]], most_blocks: int
) -> None:
    true = Counter(key for page in of for key in set(page))

    bounded = BoundedCounts(most_blocks)
    counted(bounded, of)

    assert len(bounded.counts) <= most_blocks
    for key, count in true.items():
        assert count - bounded.floor <= bounded.counts[key] <= count


def test_what_is_on_most_pages_outlives_a_flood_of_other_blocks() -> None:
    bounded = BoundedCounts(most_blocks=1_000)
    for page in range(2_000):
        bounded.add([-1, *range(100 * page, 100 * page + 100)])

    found = bounded.boilerplate(RepeatPolicy())

    assert found.counts == {-1: 2_000}
    assert found.blocks_total == 200_001
