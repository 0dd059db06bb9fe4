from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pdf.lines import PdfLine, in_order
from tests.pdf_files import a_line, stacked

LEFT = [f"left {number} of the first column" for number in range(8)]
RIGHT = [f"right {number} of the second column" for number in range(8)]


def order(lines: Sequence[PdfLine]) -> list[str]:
    return [line.text for region in in_order(lines) for line in region]


def interleaved(*columns: Sequence[PdfLine]) -> list[PdfLine]:
    return [line for row in zip(*columns, strict=True) for line in row]


def test_heading_over_both_columns_comes_first_and_a_note_below_both_last():
    heading = a_line("A heading that runs over both columns of the page", 50, 60, 20)
    note = a_line("A note that runs over both columns, below them, to the very end of the page", 50, 300, 12)
    lines = [note, *interleaved(stacked(LEFT, 50), stacked(RIGHT, 320)), heading]

    assert order(lines) == [heading.text, *LEFT, *RIGHT, note.text]


def test_columns_between_full_lines_are_read_within_their_band():
    lines = [
        *stacked(LEFT, 50),
        *stacked(RIGHT, 320),
        a_line("A line that runs over both columns of this page in its middle", 50, 210),
        *stacked([f"lower {text}" for text in LEFT], 50, 240),
        *stacked([f"lower {text}" for text in RIGHT], 320, 240),
    ]

    assert order(lines)[8] == RIGHT[0]
    assert order(lines)[17] == f"lower {LEFT[0]}"


def test_sides_whose_lines_stand_at_heights_of_their_own_are_columns():
    left = stacked([f"a{number}" for number in range(13)] + ["a heading of its column that is wide"], 50)
    right = stacked([f"b{number}" for number in range(13)] + ["b heading of its column that is wide"], 320, 104, 13)

    assert order(interleaved(left, right)) == [line.text for line in left + right]


def test_narrow_side_is_no_column():
    left = stacked([f"a{number}" for number in range(14)], 50)

    assert order(left + stacked([f"b{number}" for number in range(14)], 320, 104, 13))[0] == "a0 b0"


def test_page_of_more_lines_than_any_text_has_is_read_by_rows():
    assert len(order([a_line("x", 50 + 300 * (number % 2), 10 * (number // 2)) for number in range(20_002)])) == 10_001


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 800), st.integers(1, 300)), max_size=40))
def test_every_line_comes_once_whatever_the_boxes(boxes: list[tuple[int, int, int]]):
    lines = [a_line(f"n{number}", left, top, width=width) for number, (left, top, width) in enumerate(boxes)]

    assert sorted("".join(order(lines)).replace(" ", "")) == sorted("".join(line.text for line in lines))


def test_lines_without_width_are_no_columns():
    assert len(order([a_line("x", 50, 12 * number, width=0) for number in range(9)])) == 9
