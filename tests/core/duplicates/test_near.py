from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.core import duplicates
from scrapy_dedup.core.duplicates import BANDS, MAX_CHARS, Sketch, promising, resemblance, shingles, sketch, words

SCOPE = b"project www.example.com en"
TEXT = " ".join(f"word{number}" for number in range(200))
# Small, so that texts often share words.
TEXTS = st.lists(st.sampled_from("a b c d e f 1 2 日 本 é".split()), max_size=30).map(" ".join)


def a_sketch(text: str = TEXT, scope: bytes = SCOPE) -> Sketch:
    found = sketch(text, scope)
    assert found is not None
    return found


def edited(text: str, changes: int) -> str:
    """Change so many words, each in another shingle."""
    parts = text.split()
    for number in range(changes):
        parts[number * len(parts) // max(1, changes)] = f"changed{number}"
    return " ".join(parts)


class TestShingles:
    def test_a_text_beyond_the_limit_has_none(self) -> None:
        text = f"a {' ' * (MAX_CHARS - 2)}"

        assert shingles(text) == {"a"}
        assert shingles(text + " ") == set()
        assert sketch(text + " ", SCOPE) is None


class TestSketch:
    def test_it_is_the_same_on_every_machine(self) -> None:
        """Stored sketches are compared for years: whoever changes them changes VERSION."""
        found = a_sketch("the quick brown fox jumps over the lazy dog")

        assert duplicates.VERSION == "1-2"
        assert (found.shingles, len(found.signature), len(found.bands)) == (5, 128, BANDS)
        assert found.signature[:8].hex() == "12d2538431b1dd9c"
        assert found.bands[:2] == (-2374823282724405301, -2374823901066011334)

    @pytest.mark.parametrize("text", [TEXT, "short"], ids=["long", "short"])
    def test_pages_of_other_scopes_never_meet(self, text: str) -> None:
        assert not set(a_sketch(text).bands) & set(a_sketch(text, b"project www.example.com nl").bands)

    def test_texts_that_are_alike_share_bands(self) -> None:
        for number in range(150):
            text = " ".join(f"{number}w{at}" for at in range(100 + number))
            other = edited(text, (100 + number) // 70)
            assert 0.85 <= resemblance(shingles(text), shingles(other)) < 1

            assert set(a_sketch(text).bands) & set(a_sketch(other).bands)


@dataclass(frozen=True)
class Stored:
    name: str
    shingles: int
    signature: bytes


class TestPromising:
    def stored(self, name: str, text: str) -> Stored:
        found = a_sketch(text)
        return Stored(name, found.shingles, found.signature)

    def names(self, threshold: float = 0.8, limit: int = 9) -> list[str]:
        others = [
            self.stored("unlike", TEXT.replace("word", "other")),
            self.stored("half", " ".join(TEXT.split()[:100])),
            self.stored("alike", edited(TEXT, 3)),
            self.stored("same", TEXT),
            self.stored("same too", TEXT),
        ]
        return [other.name for other in promising(a_sketch(), others, threshold, limit)]

    def test_most_alike_come_first_and_equals_in_their_order_up_to_the_limit(self) -> None:
        assert self.names() == ["same", "same too", "alike"]
        assert self.names(limit=2) == ["same", "same too"]

    def test_texts_just_alike_enough_are_not_left_out(self) -> None:
        """One in 100,000 may be."""
        for number in range(150):
            text = " ".join(f"{number}w{at}" for at in range(60 + number))
            other = edited(text, 1 + number % 9)
            alike = resemblance(shingles(text), shingles(other))

            assert promising(a_sketch(text), [self.stored("it", other)], alike, 1)

    @pytest.mark.parametrize("threshold", [0.0, 1.0])
    def test_the_same_text_is_always_promising(self, threshold: float) -> None:
        assert promising(a_sketch(), [self.stored("same", TEXT)], threshold, 1)


@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS)
def test_likeness_is_mutual_and_a_share(one: str, other: str) -> None:
    ours, theirs = shingles(one), shingles(other)
    alike = resemblance(ours, theirs)

    assert 0.0 <= alike <= 1.0
    assert resemblance(ours, ours) == bool(ours)
    assert alike == resemblance(theirs, ours)


@settings(max_examples=40, deadline=None)
@given(st.text())
def test_any_text_has_a_sketch_or_no_words(text: str) -> None:
    found = sketch(text, SCOPE)

    assert (found is None) is not bool(words(text))
    assert found is None or (found == sketch(text, SCOPE))
