import json
import math
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.core.pdf.lines import Furniture, FurnitureReason, PageLines, PdfLine, clean_page, clean_text
from scrapy_dedup.core.pdf.text import (
    BlockKind,
    PdfBlock,
    PdfFlag,
    PdfReading,
    PdfText,
    arrange,
    cover,
    draw,
    draw_pages,
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


def test_pages_are_drawn_one_by_one_and_the_first_is_the_cover():
    assert draw_pages(MADE, "text") == ["Title\n\na\nb", "", "Text"]
    assert cover(MADE, "text") == "Title\n\na\nb"
    assert cover(PdfText(()), "text") == ""


def test_file_with_more_pages_than_were_read_is_flagged():
    assert read(a_page(*stacked(PROSE)), count=9).flags == (PdfFlag.TRUNCATED,)


def test_font_without_characters_is_flagged():
    assert read(a_page(a_line("\ue001\ue002\ue003 \ufffd\ufffd a"))).flags == (PdfFlag.GARBLED,)


@table("core/title_is_declared_or_the_largest_heading_of_the_first_page")
def test_title_is_declared_or_the_largest_heading_of_the_first_page(facts: dict[str, str], title: str):
    lines = [a_line("A part", top=30, size=14), a_line("The heading", top=60, size=20), *stacked(PROSE)]

    assert read(a_page(*lines), facts=facts).title == title


@table("metadata/pdf_dates")
def test_date_is_told_in_iso_8601(written: str, date: str | None):
    assert read(a_page(), facts={"CreationDate": written}).date == date


@table("text/pdf_lines")
def test_text_of_a_line_is_made_clean(text: str, clean: str):
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
def test_any_lines_make_a_text_and_come_back_from_json(pages: list[PageLines]):
    made = read(*pages)

    assert msgspec.json.decode(json.dumps(msgspec.to_builtins(made)), type=PdfText) == made
    assert isinstance(draw(made, "markdown"), str)


@given(st.lists(st.lists(st.text("ab c-", min_size=1, max_size=30), max_size=8), min_size=1, max_size=2))
def test_no_letter_is_lost_or_made(pages: list[list[str]]):
    made = read(*(a_page(*stacked(texts)) for texts in pages))

    got = draw(made, "text")
    for letter in "abc":
        assert got.count(letter) == sum(text.count(letter) for texts in pages for text in texts)


def test_lines_are_arranged_in_time_in_proportion_to_their_number():
    def page_of(count: int) -> PageLines:
        return PageLines([a_line("x y", number % 500, number % 800) for number in range(count)], 595, 842)

    assert_in_proportion(read, page_of, 4_000)
