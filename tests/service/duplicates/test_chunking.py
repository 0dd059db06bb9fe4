"""Which chunks of a page go out, which are left out and why, and what an item says of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from scrapy_dedup.service.duplicates.chunking import (
    ACROSS,
    GONE,
    JudgedChunk,
    PageChunks,
    Stopwatch,
    TokenizerError,
    across,
    chunks_report,
    divide,
    makes_chunks,
    measure_of,
)
from scrapy_dedup.settings import Settings
from tests.hospital.words import prose
from tests.service.known_facts import a_paragraph
from tests.store.builders import a_key
from tests.tables import table

DUTCH = Settings(languages=frozenset(["nl"]))
FRENCH_PART = f"## Informations\n\n{prose(1, 4, 'fr')}"


def a_page(*parts: str, settings: Settings = DUTCH, name: object = 1) -> list[JudgedChunk]:
    return divide("\n\n".join(parts), a_key(name), None, settings, Stopwatch())


def judged(chunks: Sequence[JudgedChunk], settings: Settings = DUTCH, **held: int) -> PageChunks:
    """Return chunks beside pages that hold the n-th of them: `at_0=2` two, and so on."""
    numbers = {int(name.removeprefix("at_")): number for name, number in held.items()}
    holders = {chunks[place].key: [a_key(other) for other in range(number)] for place, number in numbers.items()}
    return across(chunks, holders, (), settings)


class TestPageAlone:
    @pytest.mark.parametrize(
        ("settings", "states"),
        [
            pytest.param(Settings(), ["added", "added", "removed"], id="no-languages"),
            pytest.param(replace(DUTCH, language_enabled=False), ["added", "added", "removed"], id="language-off"),
            pytest.param(replace(DUTCH, chunk_enabled=False), ["added", "removed", "removed"], id="chunk-off"),
            pytest.param(
                replace(DUTCH, shadow=frozenset(["chunk"])), ["added", "removed", "removed"], id="chunk-shadow"
            ),
            pytest.param(replace(DUTCH, shadow=frozenset(["language"])), ["added", "added", "removed"], id="shadow"),
        ],
    )
    def test_layers_act_as_they_are_set(self, settings, states):
        """A layer in the shadow leaves a chunk to the next one, as if it were off."""

        assert [one.state for one in a_page(a_paragraph(1), FRENCH_PART, FRENCH_PART, settings=settings)] == states

    @pytest.mark.parametrize(
        ("settings", "makes"),
        [
            pytest.param(Settings(), True, id="default"),
            pytest.param(Settings(chunk_enabled=False), False, id="chunk-off"),
            pytest.param(replace(DUTCH, chunk_enabled=False), True, id="languages-alone"),
            pytest.param(replace(DUTCH, chunk_enabled=False, language_enabled=False), False, id="both-off"),
        ],
    )
    def test_is_divided_where_a_layer_asks_for_it(self, settings, *, makes):
        assert makes_chunks(settings) is makes

    def test_tokens_count_where_a_tokenizer_is_named(self):
        settings = Settings(chunk_size=50, chunk_tokenizer=f"{__name__}.by_spaces")

        chunks = a_page(prose("long", 40), settings=settings)

        assert max(one.chunk.size for one in chunks) <= 50
        assert all(one.chunk.size == len(one.chunk.text.split()) for one in chunks)


class TestBesideOthers:
    @given(
        st.lists(st.integers(0, 3), max_size=8),
        st.dictionaries(st.integers(0, 3), st.integers(0, 3)),
        st.integers(1, 3),
    )
    def test_given_and_left_out_are_all(self, parts, held, most):
        settings = Settings(chunk_min_documents=most)
        chunks = a_page(*map(a_paragraph, parts), settings=settings)
        keys = {number: a_page(a_paragraph(number))[0].key for number in held}
        holders = {keys[number]: [a_key(other) for other in range(pages)] for number, pages in held.items()}

        found = across(chunks, holders, (), settings)

        left_out = sum(number for prefix, _, number, _ in found.left_out() if not prefix)
        assert len(found.given) + left_out == len(found.chunks) == len(chunks)
        texts = [one.key for one in found.given]
        assert len(texts) == len(set(texts))
        assert all(len(holders.get(key, ())) < most for key in texts)


class TestLastVersion:
    def versions(self, before: Sequence[int], now: Sequence[int], **states: Any) -> PageChunks:
        first = PageChunks([structs.replace(one, **states) for one in a_page(*map(a_paragraph, before))])
        stored = [one.stored for one in first.chunks]
        return across(a_page(*map(a_paragraph, now)), {}, stored, DUTCH)

    def test_text_that_stays_is_kept(self):
        assert [one.state for one in self.versions([1, 2], [3, 1]).chunks] == ["added", "kept"]

    def test_text_that_is_gone_is_told(self):
        found = self.versions([1, 2], [2])

        assert [one.sample for one in found.gone] == [a_paragraph(1)[:80]]
        assert chunks_report(found)[-1] == {
            "id": found.gone[0].chunk_id,
            "hash": found.gone[0].content_hash.hex(),
            "state": "removed",
            "reason": GONE,
        }

    @pytest.mark.parametrize("state", ["removed", "due"])
    def test_text_that_had_not_gone_out_is_added_and_not_missed(self, state):
        assert [one.state for one in self.versions([1], [1], state=state).chunks] == ["added"]
        assert list(self.versions([1], [2], state=state).gone) == []


class TestReport:
    def test_says_text_or_reason(self):
        chunks = a_page(a_paragraph(1), FRENCH_PART, a_paragraph(2))
        given_out, french, held = chunks_report(judged(chunks, at_2=1))

        assert (given_out["state"], given_out["text"], given_out["language"]) == ("added", a_paragraph(1), "nl")
        assert given_out.keys() == {"id", "hash", "state", "position", "kind", "size", "headings", "text", "language"}
        assert (french["layer"], "text" in french, "holder" in french) == ("language", False, False)
        assert (held["layer"], held["reason"], held["holder"]) == ("chunk", ACROSS, a_key(0).hex())
        assert [one["position"] for one in (given_out, french, held)] == [0, 1, 2]


def by_spaces(text: str) -> list[str]:
    return text.split()


def by_number(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(("path", "size"), [("", 10), (f"{__name__}.by_spaces", 2), (f"{__name__}.by_number", 2)])
def test_measure_is_characters_or_what_a_function_counts(path, size):
    assert measure_of(path)("two words.") == size


def failing(text: str) -> int:
    raise RuntimeError("no model")


NO_FUNCTION = "words"


@table("service/tokenizer_that_does_not_count_is_told_by_its_name")
def test_tokenizer_that_does_not_count_is_told_by_its_name(path, says):
    if not says:
        assert measure_of(path)("any") == 0
        return
    with pytest.raises(TokenizerError) as told:
        measure_of(path)

    assert str(told.value).startswith(f'DEDUP_CHUNK["tokenizer"]={path!r}: ')
    assert says in str(told.value)
