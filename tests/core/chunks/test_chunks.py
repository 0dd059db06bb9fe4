from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.chunks.chunks import ChunkKind, ChunkPolicy, split_into_chunks
from tests.growth import assert_in_proportion
from tests.tables import table


def chunks_of(
    content: str, size: int = 100, *, document: bytes = b"page", overlap: int = 0, measure: Callable[[str], int] = len
):
    return split_into_chunks(content, document, ChunkPolicy(size, overlap), measure)


def texts(content: str, size: int = 100, measure: Callable[[str], int] = len):
    return [chunk.text for chunk in chunks_of(content, size, measure=measure)]


def ink(text: str):
    return "".join(text.split())


def sentences(count: int, start: int = 0):
    return " ".join(f"Sentence number {n} says a thing." for n in range(start, start + count))


PROSE = st.text(alphabet="ab .!?\n#-1。é\u0301\u200d\ud800é中", max_size=400)
MARKDOWN = st.lists(
    st.sampled_from(
        ["# A", "## B", "###", "- one", "  - nested", "* star", "1. first", "| a | b |", "| --- | --- |", "| 1 | 2 |"]  # noqa: RUF005
        + ["```", "```python", "~~~", "x = 1", "", "", "A sentence. Another one!", "w" * 90, "> quote", "\\# no", "|"]
    ),
    max_size=40,
).map("\n".join)


@given(PROSE, st.integers(1, 60))
def test_every_character_but_white_space_stands_in_exactly_one_chunk(content, size):
    assert ink("".join(texts(content, size))) == ink(content)


@given(MARKDOWN | st.text(max_size=300), st.integers(1, 60))
def test_markdown_loses_nothing_and_only_repeats_heads_and_fences(content, size):
    rest = iter(ink("".join(texts(content, size))))

    assert all(character in rest for character in ink(content))


@given(MARKDOWN | PROSE, st.integers(1, 60), st.sampled_from([len, lambda text: len(text.encode("utf-8", "replace"))]))
def test_no_chunk_is_longer_than_asked_unless_one_character_is(content, size, measure):
    for chunk in chunks_of(content, size, measure=measure):
        assert chunk.size == measure(chunk.text)
        assert chunk.size <= size or len(chunk.text) == 1


@given(MARKDOWN, st.integers(1, 60))
def test_ids_are_stable_and_differ_within_a_document_and_between_documents(content, size):
    first, again, other = (chunks_of(content, size, document=name) for name in (b"a", b"a", b"b"))

    assert first == again
    ids = [chunk.id for chunk in first]
    assert len(set(ids)) == len(ids)
    assert not set(ids) & {chunk.id for chunk in other}
    assert [chunk.hash for chunk in first] == [chunk.hash for chunk in other]
    assert [chunk.position for chunk in first] == list(range(len(first)))


@pytest.mark.parametrize(
    ("measure", "content"),
    [
        pytest.param(
            lambda text: len(text) ** 2 // 50, "\n\n".join(sentences(1, n) for n in range(40)), id="more-than-its-parts"
        ),
        pytest.param(lambda text: len(text.encode()), "a" * 300 + "\u4e2d" * 300, id="dense-at-the-end"),
        pytest.param(lambda text: len(text.split()), sentences(300), id="words"),
    ],
)
def test_a_tokenizer_that_is_not_additive_is_obeyed(measure, content):
    found = chunks_of(content, 50, measure=measure)

    assert all(measure(chunk.text) <= 50 for chunk in found)
    assert ink("".join(chunk.text for chunk in found)) == ink(content)


def test_a_heading_begins_a_chunk_and_stays_with_its_text():
    content = f"{sentences(2)}\n\n## Next\n\n{sentences(4)}\n\n# End"

    found = chunks_of(content)

    assert [chunk.text.startswith("#") for chunk in found] == [False, True, False, True]
    assert found[1].text.startswith("## Next\n\nSentence number 0")
    assert (found[-1].text, found[-1].kind) == ("# End", ChunkKind.HEADING)


def test_headings_name_the_path_of_each_section():
    content = "\n\n".join(
        f"{'#' * level} {name}\n\n{sentences(1)}" for level, name in [(1, "A"), (2, "B"), (3, "C"), (2, "D")]
    )

    assert [chunk.headings for chunk in chunks_of(content)] == [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D")]


def test_small_siblings_go_together_under_what_they_share():
    content = "# FAQ\n\n## Why?\n\nSo.\n\n## How?\n\nThus.\n\n# Other\n\n## Who?\n\nThey."

    found = chunks_of(content, 400)

    assert [chunk.headings for chunk in found] == [("FAQ", "Why?"), ("FAQ", "How?"), ("Other", "Who?")]
    content = "# FAQ\n\nAll.\n\n## Why?\n\nSo.\n\n## How?\n\nThus.\n\n# Other\n\nAll.\n\n## Who?\n\nThey."
    assert [(chunk.headings, chunk.text.count("?")) for chunk in chunks_of(content, 400)] == [
        (("FAQ",), 0),
        (("FAQ",), 2),
        (("Other",), 0),
        (("Other", "Who?"), 1),
    ]


def test_an_edit_changes_the_chunks_of_its_own_section_only():
    sections = [f"## Part {n}\n\n{sentences(8, n)}" for n in range(10)]
    before = chunks_of("\n\n".join(sections))
    sections[4] = f"## Part 4\n\nNew. {sentences(8, 4)}"
    after = chunks_of("\n\n".join(sections))

    assert {chunk.headings for chunk in before if chunk.id not in {other.id for other in after}} <= {("Part 4",)}


def test_a_long_table_repeats_its_head_over_whole_rows():
    rows = [f"| name {n} | {n} |" for n in range(30)]
    head = "| name | n |\n| --- | --- |\n"

    found = chunks_of("# Prices\n\n" + head + "\n".join(rows))

    assert len(found) > 3
    assert found[0].text.startswith("# Prices\n\n" + head)
    assert {chunk.kind for chunk in found} == {ChunkKind.TABLE}
    bodies = [chunk.text.removeprefix("# Prices\n\n").removeprefix(head) for chunk in found]
    assert "\n".join(bodies).split("\n") == rows


def test_long_code_is_divided_at_blank_lines_and_fenced_again():
    functions = [f"def f{n}():\n    return {n} * {n}\n    # that was {n}" for n in range(12)]

    found = chunks_of("```python\n" + "\n\n".join(functions) + "\n```", 130)

    assert len(found) > 3
    assert {chunk.kind for chunk in found} == {ChunkKind.CODE}
    bodies = [chunk.text.removeprefix("```python\n").removesuffix("\n```") for chunk in found]
    assert "\n\n".join(bodies) == "\n\n".join(functions)


def test_a_long_list_is_divided_between_items_with_all_that_is_nested():
    items = [f"- item {n}\n  - nested {n}\n\n  more of {n}" for n in range(12)]

    found = texts("\n".join(items))

    assert len(found) > 3
    assert all(text.startswith("- item") for text in found)
    assert all(text.count("- item") == text.count("more of") for text in found)


@table("core/a_long_paragraph_ends_its_chunks_where_its_text_does")
def test_a_long_paragraph_ends_its_chunks_where_its_text_does(content, ends):
    found = texts(content)

    assert len(found) > 1
    assert all(text.rstrip().endswith(ends) for text in found)


def test_overlap_is_whole_sentences_of_the_same_section():
    found = chunks_of(f"{sentences(12)}\n\n# Next\n\n{sentences(1)}", overlap=50)

    assert found[0].overlap == found[-1].overlap == ""
    for before, chunk in pairwise(found[:-1]):
        assert chunk.overlap
        assert before.text.endswith(chunk.overlap)
        assert chunk.overlap.startswith("Sentence")
        assert len(chunk.overlap) <= 50
    assert [chunk.text for chunk in found] == texts(f"{sentences(12)}\n\n# Next\n\n{sentences(1)}")


def test_repeats_within_a_document_are_told_apart():
    content = f"# A\n\n{sentences(1)}\n\n# B\n\n{sentences(2)}\n\n# A\n\n{sentences(1)}"

    found = chunks_of(content)

    assert found[0].hash == found[2].hash
    assert found[0].id != found[2].id


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_a_policy_that_makes_no_sense_is_refused(size, overlap):
    with pytest.raises(ValueError, match="size="):
        ChunkPolicy(size, overlap)


@pytest.mark.parametrize(
    ("make", "size"),
    [
        pytest.param(lambda n: "a" * n, 500_000, id="word"),
        pytest.param(lambda n: "a. " * n, 50_000, id="sentences"),
        pytest.param(lambda n: "a\n" * n, 50_000, id="lines"),
        pytest.param(lambda n: " " * n + "x" + " " * n, 500_000, id="spaces"),
        pytest.param(lambda n: "# h\n" * n, 5_000, id="headings"),
        pytest.param(lambda n: "# h\n\ntext\n\n" * n, 2_000, id="sections"),
        pytest.param(lambda n: "| a |\n| - |\n| " + "cell | " * n, 20_000, id="table-row"),
        pytest.param(lambda n: "```\n" + "x\n" * n, 50_000, id="unclosed-fence"),
        pytest.param(lambda n: "```\n```\n\n" * n, 2_500, id="fences"),
        pytest.param(lambda n: "- " * n, 100_000, id="nested-on-a-line"),
        pytest.param(lambda n: "- a\n" * n, 10_000, id="items"),
        pytest.param(lambda n: "a\n\n" * n, 10_000, id="paragraphs"),
        pytest.param(lambda n: "# " + "[" * n, 125_000, id="brackets"),
        pytest.param(lambda n: "e\u0301" * n + "\u0301" * n, 50_000, id="marks"),
        pytest.param(lambda n: ">" * n, 250_000, id="quotes"),
    ],
)
def test_hostile_content_takes_time_in_proportion_to_its_length(make, size):
    found = split_into_chunks(make(size), b"page", ChunkPolicy())

    assert found
    assert all(chunk.size <= 1500 for chunk in found)
    assert_in_proportion(lambda content: split_into_chunks(content, b"page", ChunkPolicy()), make, size)


def test_a_list_is_divided_however_deep_it_is_nested():
    nested = "\n".join(" " * depth + "- item" for depth in range(1_500))

    assert all(chunk.size <= 1500 for chunk in split_into_chunks(nested, b"page", ChunkPolicy()))


@pytest.mark.parametrize("names", ["| " + "long name | " * 20, "| a |"], ids=["long-head", "no-rows"])
def test_a_table_whose_head_leaves_no_room_is_divided_without_it(names):
    content = f"{names}\n| {'--- | ' * 40}\n"

    assert ink("".join(texts(content))) == ink(content)
