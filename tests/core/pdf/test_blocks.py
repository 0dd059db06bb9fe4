import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pdf.lines import PdfLine
from scrapy_dedup.core.pdf.text import BlockKind, Hyphens, PdfBlock, blocks_of
from tests.pdf_files import a_line, stacked
from tests.tables import table

FULL = 200.0


def blocks(*pages: list[PdfLine], body: float = 10.0) -> list[PdfBlock]:
    return blocks_of([[list(page)] for page in pages], body)


def texts(*pages: list[PdfLine]) -> list[str]:
    return [block.text for block in blocks(*pages)]


def full(*words: str, top: float = 100.0, left: float = 72.0) -> list[PdfLine]:
    return stacked(words, left, top, width=FULL)


def test_hanging_entry_is_one_paragraph_and_the_next_another():
    lines = [
        *full("Knuth, an author"),
        *stacked(["with a book", "of many pages."], 95, 112, width=177),
        *full("Lamport, another", top=136),
    ]

    assert texts(lines) == ["Knuth, an author with a book of many pages.", "Lamport, another"]


@pytest.mark.parametrize("mark", ["\u2022", "-", "1.", "(a)", "12)"])
def test_entries_of_a_list_are_blocks(mark: str):
    lines = [*full(f"{mark} An entry that is long"), *full("and goes on", top=112, left=84), *full(f"{mark} Another")]
    lines[2] = a_line(f"{mark} Another", 72, 124)

    assert [(block.kind, block.text) for block in blocks(lines)] == [
        (BlockKind.ITEM, f"{mark} An entry that is long and goes on"),
        (BlockKind.ITEM, f"{mark} Another"),
    ]


def test_larger_lines_are_headings_and_the_largest_is_the_first_level():
    lines = [
        a_line("A title", 72, 50, 24),
        a_line("that is long", 72, 79, 24),
        a_line("A part", 72, 120, 14),
        *full("Some", "text", top=150),
    ]

    assert [(block.text, block.level) for block in blocks(lines)] == [
        ("A title that is long", 1),
        ("A part", 2),
        ("Some text", 0),
    ]


def test_code_keeps_its_lines_and_indents():
    lines = [
        a_line("if true", 72, 100, fixed=True),
        a_line("then", 84, 112, fixed=True),
        a_line("fi\u00ad", 72, 124, fixed=True),
    ]

    assert blocks(lines) == [PdfBlock("if true\n  then\nfi", 1, BlockKind.CODE)]


def test_paragraph_goes_on_over_a_page_and_a_note_below_it():
    first = [*full("A sentence that", "goes on"), a_line("1 A small note.", 72, 700, 7)]
    second = full("over the page.", "And on.")

    assert [(block.text, block.page) for block in blocks(first, second)] == [
        ("A sentence that goes on over the page. And on.", 1),
        ("1 A small note.", 1),
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(full("A sentence."), full("more of it"), id="sentence-ends"),
        pytest.param(full("A sentence"), full("More of it"), id="capital"),
        pytest.param([a_line("a b", cells=2)], full("more"), id="table"),
        pytest.param([a_line("a note", size=6)], full("more"), id="notes-only"),
        pytest.param([a_line("A heading", size=20)], full("more"), id="heading"),
    ],
)
def test_other_blocks_end_with_their_page(first: list[PdfLine], second: list[PdfLine]):
    assert len(blocks(first, second)) == 2


@table("text/hyphens")
def test_hyphens_at_the_end_of_lines(lines: list[str], text: str):
    assert Hyphens(lines).join(lines) == text


@given(st.lists(st.text("ab- \u00ad", min_size=1), max_size=6))
def test_joining_loses_nothing_but_hyphens_and_spaces(lines: list[str]):
    letters = "".join(lines).translate({ord(char): None for char in "- \u00ad"})

    assert Hyphens(lines).join(lines).translate({ord(char): None for char in "- \u00ad"}) == letters
