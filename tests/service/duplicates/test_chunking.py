"""Which chunks of a page go out, which are left out and why, and what an item says of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.service.duplicates.chunking import (
    ACROSS,
    GONE,
    WITHIN,
    JudgedChunk,
    PageChunks,
    TokenizerError,
    across,
    chunks_report,
    divide,
    makes_chunks,
    measure_of,
)
from scrapy_dedup.service.duplicates.index import chunks_record
from scrapy_dedup.service.stopwatch import Stopwatch
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.page_records import StoredChunk
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


def said(chunks: PageChunks) -> list[tuple[str, str | None]]:
    return [(one.state, one.layer) for one in chunks.chunks]


class TestPageAlone:
    def test_repeats_are_left_out(self) -> None:
        first, second, third = a_page(a_paragraph(1), a_paragraph(2), a_paragraph(1))

        assert [one.state for one in (first, second, third)] == ["added", "added", "removed"]
        assert (third.layer, third.reason, third.chunk.hash) == ("chunk", WITHIN, first.chunk.hash)
        assert third.chunk.id != first.chunk.id

    def test_other_languages_are_left_out(self) -> None:
        dutch, french = a_page(a_paragraph(1), FRENCH_PART)

        assert (dutch.state, dutch.language, dutch.layer) == ("added", "nl", None)
        assert (french.state, french.language, french.layer) == ("removed", "fr", "language")
        assert french.reason is not None
        assert french.reason.startswith("fr is not wanted (")

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
    def test_layers_act_as_they_are_set(self, settings: Settings, states: list[str]) -> None:
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
    def test_is_divided_where_a_layer_asks_for_it(self, settings: Settings, *, makes: bool) -> None:
        assert makes_chunks(settings) is makes

    @pytest.mark.parametrize("size", [100, 400])
    def test_size_and_overlap_are_those_of_the_settings(self, size: int) -> None:
        chunks = a_page(prose("long", 40), settings=Settings(chunk_size=size, chunk_overlap=size))

        assert max(len(one.chunk.text) for one in chunks) <= size
        assert max(len(one.chunk.overlap) for one in chunks) <= size // 2

    def test_tokens_count_where_a_tokenizer_is_named(self) -> None:
        settings = Settings(chunk_size=50, chunk_tokenizer=f"{__name__}.by_spaces")

        chunks = a_page(prose("long", 40), settings=settings)

        assert max(one.chunk.size for one in chunks) <= 50
        assert all(one.chunk.size == len(one.chunk.text.split()) for one in chunks)


class TestBesideOthers:
    @pytest.mark.parametrize(
        ("most", "states"), [(1, ["removed", "added"]), (2, ["removed", "added"]), (3, ["added"] * 2)]
    )
    def test_text_that_enough_pages_hold_is_left_out(self, most: int, states: list[str]) -> None:
        found = judged(a_page(a_paragraph(1), a_paragraph(2)), Settings(chunk_min_documents=most), at_0=2)

        assert [one.state for one in found.chunks] == states
        assert [(one.reason, one.holder) for one in found.chunks if one.layer] == [(ACROSS, a_key(0))] * (most < 3)

    def test_text_in_another_language_is_left_out_for_that(self) -> None:
        found = judged(a_page(FRENCH_PART, a_paragraph(1)), at_0=1, at_1=1)

        assert said(found) == [("removed", "language"), ("removed", "chunk")]

    def test_shadow_lets_it_out_and_counts_it(self) -> None:
        found = judged(a_page(a_paragraph(1)), Settings(shadow=frozenset(["chunk"])), at_0=1)

        assert said(found) == [("added", None)]
        assert found.left_out() == {}
        assert found.left_out(in_shadow=True) == {"chunk": (1, len(a_paragraph(1)))}

    @given(
        st.lists(st.integers(0, 3), max_size=8),
        st.dictionaries(st.integers(0, 3), st.integers(0, 3)),
        st.integers(1, 3),
    )
    def test_given_and_left_out_are_all(self, parts: list[int], held: dict[int, int], most: int) -> None:
        settings = Settings(chunk_min_documents=most)
        chunks = a_page(*map(a_paragraph, parts), settings=settings)
        keys = {number: a_page(a_paragraph(number))[0].key for number in held}
        holders = {keys[number]: [a_key(other) for other in range(pages)] for number, pages in held.items()}

        found = across(chunks, holders, (), settings)

        left_out = sum(number for number, _ in found.left_out().values())
        assert len(found.given) + left_out == len(found.chunks) == len(chunks)
        texts = [one.key for one in found.given]
        assert len(texts) == len(set(texts))
        assert all(len(holders.get(key, ())) < most for key in texts)


class TestLastVersion:
    def versions(self, before: Sequence[int], now: Sequence[int], **states: Any) -> PageChunks:
        first = PageChunks([replace(one, **states) for one in a_page(*map(a_paragraph, before))])
        stored = chunks_record(a_key(1), first, DUTCH).chunks
        return across(a_page(*map(a_paragraph, now)), {}, stored, DUTCH)

    def test_text_that_stays_is_kept(self) -> None:
        assert [one.state for one in self.versions([1, 2], [3, 1]).chunks] == ["added", "kept"]

    def test_text_that_is_gone_is_told(self) -> None:
        found = self.versions([1, 2], [2])

        assert [one.sample for one in found.gone] == [a_paragraph(1)[:80]]
        assert chunks_report(found)[-1] == {
            "id": found.gone[0].chunk_id,
            "hash": found.gone[0].content_hash.hex(),
            "state": "removed",
            "reason": GONE,
        }

    @pytest.mark.parametrize("state", ["removed", "due"])
    def test_text_that_had_not_gone_out_is_added_and_not_missed(self, state: str) -> None:
        assert [one.state for one in self.versions([1], [1], state=state).chunks] == ["added"]
        assert list(self.versions([1], [2], state=state).gone) == []


class TestReport:
    def test_says_text_or_reason(self) -> None:
        chunks = a_page(a_paragraph(1), FRENCH_PART, a_paragraph(2))
        given_out, french, held = chunks_report(judged(chunks, at_2=1))

        assert (given_out["state"], given_out["text"], given_out["language"]) == ("added", a_paragraph(1), "nl")
        assert given_out.keys() == {"id", "hash", "state", "position", "kind", "size", "headings", "text", "language"}
        assert (french["layer"], "text" in french, "holder" in french) == ("language", False, False)
        assert (held["layer"], held["reason"], held["holder"]) == ("chunk", ACROSS, a_key(0).hex())
        assert [one["position"] for one in (given_out, french, held)] == [0, 1, 2]

    def test_is_stored_as_it_went_out(self) -> None:
        chunks = judged(a_page(a_paragraph(1), FRENCH_PART), at_0=1)
        shadowed = judged(a_page(a_paragraph(1)), replace(DUTCH, shadow=frozenset(["chunk"])), at_0=1)

        first, second = chunks_record(a_key(1), chunks, replace(DUTCH, chunk_min_documents=4)).chunks
        (out,) = chunks_record(a_key(1), shadowed, DUTCH).chunks

        assert (first.state, first.layer, first.reason, first.holder) == ("removed", "chunk", ACROSS, a_key(0))
        assert (second.language, second.layer, second.holder) == ("fr", "language", None)
        assert (out.state, out.layer, out.reason, out.holder) == ("added", None, None, None)
        assert isinstance(out, StoredChunk)
        assert len(out.content_hash) == 16


def by_spaces(text: str) -> list[str]:
    return text.split()


def by_number(text: str) -> int:
    return len(text.split())


def failing(text: str) -> int:
    raise RuntimeError("no model")


NO_FUNCTION = "words"


@pytest.mark.parametrize(
    ("path", "size"),
    [
        ("", 10),
        (f"{__name__}.by_spaces", 2),
        (f"{__name__}.by_number", 2),
    ],
)
def test_measure_is_characters_or_what_a_function_counts(path: str, size: int) -> None:
    assert measure_of(path)("two words.") == size


@table("service/tokenizer_that_does_not_count_is_told_by_its_name")
def test_tokenizer_that_does_not_count_is_told_by_its_name(path: str, says: str) -> None:
    if not says:
        assert measure_of(path)("any") == 0
        return
    with pytest.raises(TokenizerError) as told:
        measure_of(path)

    assert str(told.value).startswith(f"DEDUP_CHUNK_TOKENIZER={path!r}: ")
    assert says in str(told.value)
