from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pdf.lines import PdfLine
from scrapy_dedup.core.pdf.order import in_order
from tests.pdf_files import a_line, stacked

LEFT = [f"left {number} of the first column" for number in range(8)]
RIGHT = [f"right {number} of the second column" for number in range(8)]


def order(lines: Sequence[PdfLine]) -> list[str]:
    return [line.text for region in in_order(lines) for line in region]


def interleaved(*columns: Sequence[PdfLine]) -> list[PdfLine]:
    return [line for row in zip(*columns, strict=True) for line in row]


def test_two_columns_are_read_one_after_the_other():
    assert order(interleaved(stacked(LEFT, 50), stacked(RIGHT, 320))) == LEFT + RIGHT


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


def test_rows_of_a_table_stay_rows():
    lines = interleaved(stacked(["a", "bb", "ccc", "dd", "e"], 50), stacked(["1", "22", "3", "4", "55"], 320))

    assert order(lines) == ["a 1", "bb 22", "ccc 3", "dd 4", "e 55"]
    assert all(line.cells == 2 for region in in_order(lines) for line in region)


def test_sides_whose_lines_stand_at_heights_of_their_own_are_columns():
    left = stacked([f"a{number}" for number in range(13)] + ["a heading of its column that is wide"], 50)
    right = stacked([f"b{number}" for number in range(13)] + ["b heading of its column that is wide"], 320, 104, 13)

    assert order(interleaved(left, right)) == [line.text for line in left + right]


def test_narrow_side_is_no_column():
    left = stacked([f"a{number}" for number in range(14)], 50)

    assert order(left + stacked([f"b{number}" for number in range(14)], 320, 104, 13))[0] == "a0 b0"


def test_long_table_stays_rows():
    left = stacked([f"a{number}" for number in range(14)], 50)
    right = stacked([f"b{number}" for number in range(14)], 320)

    assert order(left + right) == [f"a{number} b{number}" for number in range(14)]


def test_halves_one_above_the_other_are_no_columns():
    upper = stacked(LEFT, 50, 100)

    assert order(stacked(RIGHT, 320, 300) + upper) == LEFT + RIGHT


def test_pieces_of_one_line_are_joined_with_the_space_that_stands_between_them():
    assert order([a_line("wor", 50, width=15), a_line("ld", 65.2, width=10), a_line("again", 80)]) == ["world again"]


def test_text_that_runs_up_the_page_comes_last():
    stamp = a_line("sideways stamp", 10, 100, 10, width=8)
    stamp = type(stamp)(stamp.text, 10, 100, 18, 300, 10)

    assert order([stamp, *stacked(LEFT)]) == [*LEFT, stamp.text]


def test_page_of_more_lines_than_any_text_has_is_read_by_rows():
    assert len(order([a_line("x", 50 + 300 * (number % 2), 10 * (number // 2)) for number in range(20_002)])) == 10_001


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 800), st.integers(1, 300)), max_size=40))
def test_every_line_comes_once_whatever_the_boxes(boxes: list[tuple[int, int, int]]):
    lines = [a_line(f"n{number}", left, top, width=width) for number, (left, top, width) in enumerate(boxes)]

    assert sorted("".join(order(lines)).replace(" ", "")) == sorted("".join(line.text for line in lines))


@given(st.permutations(interleaved(stacked(LEFT, 50), stacked(RIGHT, 320))))
def test_order_in_the_file_does_not_matter(lines: Sequence[PdfLine]):
    assert order(lines) == LEFT + RIGHT


def test_lines_without_width_are_no_columns():
    assert len(order([a_line("x", 50, 12 * number, width=0) for number in range(9)])) == 9
