import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.core.pdf.lines import Furniture, FurnitureReason, PageLines, PdfLine, clean_page, clean_text
from scrapy_dedup.core.pdf.text import (
    BlockKind,
    Hyphens,
    PdfBlock,
    PdfFlag,
    PdfReading,
    PdfText,
    arrange,
    blocks_of,
    draw,
)
from tests.growth import assert_in_proportion
from tests.pdf_files import a_line, a_page, stacked
from tests.tables import table

PROSE = ["Some words of a text that goes", "on for a while, as texts do."]
MADE = PdfText(
    (PdfBlock("Title", 1, BlockKind.HEADING, 2), PdfBlock("a\nb", 1, BlockKind.CODE), PdfBlock("Text", 3)),
    (Furniture("Header", (1, 2), FurnitureReason.REPEATED),),
    5,
    3,
    "Title",
    None,
    "2020-01-01T00:00:00",
    (PdfFlag.TRUNCATED,),
)


def read(*pages: PageLines, **more: Any) -> PdfText:
    return arrange(PdfReading(pages, more.pop("count", len(pages)), **more))


def test_text_of_a_file_has_blocks_and_running_lines_apart():
    names = "bees wasps ants".split()
    pages = [a_page(a_line("Report", top=40), *stacked([f"All about {name}."])) for name in names]

    made = read(*pages)

    assert [block.text for block in made.blocks] == [f"All about {name}." for name in names]
    assert [line.text for line in made.furniture] == ["Report"]
    assert (made.pages, made.read, made.flags) == (3, 3, ())


def test_drawing_marks_headings_and_code_in_markdown_only():
    assert draw(MADE, "markdown") == "## Title\n\n```\na\nb\n```\n\nText"
    assert draw(MADE, "text") == "Title\n\na\nb\n\nText"


def test_file_with_more_pages_than_were_read_is_flagged():
    assert read(a_page(*stacked(PROSE)), count=9).flags == (PdfFlag.TRUNCATED,)


def test_font_without_characters_is_flagged():
    assert read(a_page(a_line("\ue001\ue002\ue003 \ufffd\ufffd a"))).flags == (PdfFlag.GARBLED,)


@table("core/title_is_declared_or_the_largest_heading_of_the_first_page")
def test_title_is_declared_or_the_largest_heading_of_the_first_page(facts, title):
    lines = [a_line("A part", top=30, size=14), a_line("The heading", top=60, size=20), *stacked(PROSE)]

    assert read(a_page(*lines), facts=facts).title == title


@table("metadata/pdf_dates")
def test_date_is_told_in_iso_8601(written, date):
    assert read(a_page(), facts={"CreationDate": written}).date == date


@table("text/pdf_lines")
def test_text_of_a_line_is_made_clean(text, clean):
    assert clean_text(text) == clean


def test_boxes_are_made_finite_and_the_right_way_round():
    lines = [
        PdfLine("a", math.nan, math.inf, -math.inf, 1e300, math.nan),
        PdfLine("b", 50, 20, 10, 20, 0),
        PdfLine("c", 0, 0, 0, 0, -7),
        PdfLine("d", 0, 0, 9, 30, 0),
    ]

    clean = clean_page(PageLines(lines, math.inf, 5)).lines

    assert all(line.left <= line.right and line.top < line.bottom and 0 < line.size <= 1000 for line in clean)
    assert [line.size for line in clean[1:]] == [10, 7, 30]


ANYTHING = st.builds(
    PdfLine, st.text(max_size=30), *[st.floats(width=32) for _ in range(5)], st.booleans(), st.booleans()
)


@settings(max_examples=40)
@given(st.lists(st.builds(PageLines, st.lists(ANYTHING, max_size=12), st.floats(), st.floats()), max_size=5))
def test_any_lines_make_a_text_and_come_back_from_json(pages):
    made = read(*pages)

    assert msgspec.json.decode(json.dumps(msgspec.to_builtins(made)), type=PdfText) == made
    assert isinstance(draw(made, "markdown"), str)


@given(st.lists(st.lists(st.text("ab c-", min_size=1, max_size=30), max_size=8), min_size=1, max_size=2))
def test_no_letter_is_lost_or_made(pages):
    made = read(*(a_page(*stacked(texts)) for texts in pages))

    got = draw(made, "text")
    for letter in "abc":
        assert got.count(letter) == sum(text.count(letter) for texts in pages for text in texts)


def test_lines_are_arranged_in_time_in_proportion_to_their_number():
    def page_of(count: int) -> PageLines:
        return PageLines([a_line("x y", number % 500, number % 800) for number in range(count)], 595, 842)

    assert_in_proportion(read, page_of, 4_000)


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
def test_entries_of_a_list_are_blocks(mark):
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
def test_other_blocks_end_with_their_page(first, second):
    assert len(blocks(first, second)) == 2


@table("text/hyphens")
def test_hyphens_at_the_end_of_lines(lines, text):
    assert Hyphens(lines).join(lines) == text


@given(st.lists(st.text("ab- \u00ad", min_size=1), max_size=6))
def test_joining_loses_nothing_but_hyphens_and_spaces(lines):
    letters = "".join(lines).translate({ord(char): None for char in "- \u00ad"})

    assert Hyphens(lines).join(lines).translate({ord(char): None for char in "- \u00ad"}) == letters
