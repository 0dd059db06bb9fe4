from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.templates.mining import PageBlocks, split_subtrees

MENU, FOOT = ("body>nav>ul>li", 1, 10), ("body>footer", 2, 20)


def a_page(number: int, *more: tuple[str, int, int]) -> PageBlocks:
    return [MENU, ("body>main>h1", 100 + number, 8), ("body>main>p", 200 + number, 90), FOOT, *more]


def paths(pages: list[PageBlocks]) -> tuple[list[str], list[str]]:
    common, varying = split_subtrees(pages)
    return [one.path for one in common], [one.path for one in varying]


def test_largest_subtrees_are_told_apart_with_their_evidence() -> None:
    common, varying = split_subtrees([a_page(n) for n in range(10)])

    told = [(one.path, one.pages, one.same, one.chars) for one in common]
    assert told == [("body>footer", 10, 10, 20), ("body>nav", 10, 10, 10)]
    assert [(one.path, one.pages, one.same, one.chars) for one in varying] == [("body>main", 10, 1, 98)]


def test_deep_pages_are_seen_as_their_beginning() -> None:
    deep = [[(">".join(["div"] * 5_000), n, 1)] for n in range(3)]

    assert paths(deep) == ([], ["div"])  # type: ignore[arg-type]


blocks = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4).map(
            lambda steps: ">".join(["body", *steps])
        ),
        st.integers(0, 3),
        st.integers(0, 9),
    ),
    max_size=8,
)


@given(st.lists(blocks, max_size=6), st.randoms(use_true_random=False))
def test_subtrees_never_overlap_and_pages_come_in_any_order(
    pages: list[list[tuple[str, int, int]]], random: "st.DataObject"
) -> None:
    found = split_subtrees(pages)
    every = [one.path for one in (*found[0], *found[1])]
    random.shuffle(pages)  # type: ignore[attr-defined]

    assert split_subtrees(pages) == found
    assert not [one for one in every for other in every if other.startswith(f"{one}>")]
