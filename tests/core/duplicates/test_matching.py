"""When another page stands for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.duplicates import (
    DUPLICATE,
    LAYERS,
    NEAR_DUPLICATE,
    TITLE,
    DuplicatePolicy,
    Same,
    Text,
    shingles,
    stands_for,
)

LONG = " ".join(f"word{number}" for number in range(60))
ALIKE = f"{LONG} and"
MOST = " ".join([*LONG.split()[:45], *(f"other{number}" for number in range(15))])
OTHER = " ".join(f"other{number}" for number in range(60))
SHORT = "Only a caption, no more"
TRUSTING = DuplicatePolicy(trusts_title=True)


def a_text(words: str | None, name: str = "other", *, same_title: bool = False, same_text: str | None = None) -> Text:
    """A page with some words; None: they are not kept, and only its hash is known."""
    said = same_text if same_text is not None else words or name
    return Text(name.encode(), said.encode(), shingles(words) if words is not None else None, same_title)


def layer_of(found: Same | None) -> str | None:
    return found.layer if found is not None else None


@pytest.mark.parametrize(
    ("own", "other", "policy", "layer"),
    [
        pytest.param(LONG, a_text(LONG, same_title=True), DuplicatePolicy(), TITLE, id="title-and-text"),
        pytest.param(LONG, a_text(ALIKE, same_title=True), DuplicatePolicy(), TITLE, id="title-and-a-like-text"),
        pytest.param(LONG, a_text(OTHER, same_title=True), DuplicatePolicy(), None, id="title-with-another-text"),
        pytest.param(LONG, a_text(OTHER, same_title=True), TRUSTING, TITLE, id="title-that-is-trusted"),
        pytest.param(LONG, a_text(None, same_title=True), DuplicatePolicy(), None, id="title-of-a-text-not-kept"),
        pytest.param(LONG, a_text(None, same_title=True), TRUSTING, TITLE, id="trusted-title-of-a-text-not-kept"),
        pytest.param(SHORT, a_text(SHORT, same_title=True), DuplicatePolicy(), None, id="title-and-too-short-a-text"),
        pytest.param(SHORT, a_text(SHORT, same_title=True), TRUSTING, TITLE, id="trusted-title-of-a-short-text"),
        pytest.param(LONG, a_text(LONG), DuplicatePolicy(), DUPLICATE, id="same-text"),
        pytest.param(LONG, a_text(None, same_text=LONG), DuplicatePolicy(), DUPLICATE, id="same-text-not-kept"),
        pytest.param(SHORT, a_text(SHORT), DuplicatePolicy(), None, id="same-text-too-short"),
        pytest.param(LONG, a_text(ALIKE), DuplicatePolicy(), NEAR_DUPLICATE, id="nearly-the-same-text"),
        pytest.param(LONG, a_text(MOST), DuplicatePolicy(), None, id="most-of-the-text"),
        pytest.param(LONG, a_text(MOST), DuplicatePolicy(near_at=0.5), NEAR_DUPLICATE, id="most-where-that-is-enough"),
        pytest.param(LONG, a_text(OTHER), DuplicatePolicy(), None, id="another-text"),
        pytest.param(LONG, a_text(None), DuplicatePolicy(), None, id="another-text-not-kept"),
        pytest.param(None, a_text(LONG), DuplicatePolicy(), None, id="no-words-of-its-own"),
        pytest.param("", a_text(""), DuplicatePolicy(), None, id="two-empty-pages"),
    ],
)
def test_layer_that_finds_a_page(own: str | None, other: Text, policy: DuplicatePolicy, layer: str | None) -> None:
    assert layer_of(stands_for(a_text(own, "own"), [other], 0, policy, LAYERS)) == layer


@pytest.mark.parametrize(("texts", "layer"), [(0, TITLE), (2, TITLE), (3, DUPLICATE), (50, DUPLICATE)])
@pytest.mark.parametrize("policy", [DuplicatePolicy(), TRUSTING], ids=["content", "always"])
def test_title_that_many_texts_have_says_nothing(texts: int, layer: str, policy: DuplicatePolicy) -> None:
    assert layer_of(stands_for(a_text(LONG, "own"), [a_text(LONG, same_title=True)], texts, policy, LAYERS)) == layer


def test_of_several_that_agree_the_earliest_stands() -> None:
    others = [a_text(OTHER, "a", same_title=True), a_text(ALIKE, "c", same_title=True), a_text(LONG, "b")]

    by_title = stands_for(a_text(LONG, "own"), others, 0, DuplicatePolicy(), LAYERS)
    by_text = stands_for(a_text(LONG, "own"), others[::-1], 0, DuplicatePolicy(), [DUPLICATE])

    assert by_title is not None
    assert by_text is not None
    assert (by_title.keeper, by_text.keeper) == (b"c", b"b")


def test_reason_says_how_alike_texts_are() -> None:
    own = a_text(LONG, "own")
    found = [
        stands_for(own, [a_text(LONG, same_title=True)], 0, DuplicatePolicy(), [TITLE]),
        stands_for(own, [a_text(OTHER, same_title=True)], 0, TRUSTING, [TITLE]),
        stands_for(own, [a_text(LONG)], 0, DuplicatePolicy(), [DUPLICATE]),
    ]

    assert [(one.reason, one.jaccard) for one in found if one is not None] == [
        ("the same title, and texts alike by 1.000", 1.0),
        ("the same title, which is trusted", 0.0),
        ("the same text", 1.0),
    ]


TEXTS = st.builds(
    lambda words, name, same_title: a_text(words, name, same_title=same_title),
    st.sampled_from([LONG, ALIKE, MOST, OTHER, SHORT, "", None]),
    st.sampled_from("abc"),
    st.booleans(),
)


@given(TEXTS, st.lists(TEXTS, max_size=4), st.integers(0, 4), st.booleans(), st.sets(st.sampled_from(LAYERS)))
def test_whoever_stands_is_one_of_the_others_by_a_layer_that_was_asked(
    own: Text,
    others: list[Text],
    texts: int,
    trusts: bool,  # noqa: FBT001
    layers: set[str],
) -> None:
    found = stands_for(own, others, texts, DuplicatePolicy(trusts_title=trusts), layers)

    if found is not None:
        assert found.layer in layers
        assert found.keeper in {other.page_key for other in others}
        assert 0 <= found.jaccard <= 1
