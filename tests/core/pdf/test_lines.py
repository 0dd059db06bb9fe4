from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pdf.lines import FurnitureReason, PageLines, PdfLine, in_order, split_furniture
from tests.pdf_files import a_line, a_page, stacked

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


def test_few_lines_beside_a_text_are_no_column():
    left = stacked([f"a{number} of a side that is as wide as text" for number in range(14)], 50)
    few = stacked(["b0 of a side of few lines", "b1 of a side of few lines"], 320, 104, 13)

    assert order(left + few)[0].endswith("lines")


def test_page_of_more_lines_than_any_text_has_is_read_by_rows():
    assert len(order([a_line("x", 50 + 300 * (number % 2), 10 * (number // 2)) for number in range(20_002)])) == 10_001


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 800), st.integers(1, 300)), max_size=40))
def test_every_line_comes_once_whatever_the_boxes(boxes):
    lines = [a_line(f"n{number}", left, top, width=width) for number, (left, top, width) in enumerate(boxes)]

    assert sorted("".join(order(lines)).replace(" ", "")) == sorted("".join(line.text for line in lines))


def test_lines_without_width_are_no_columns():
    assert len(order([a_line("x", 50, 12 * number, width=0) for number in range(9)])) == 9


Naming = Callable[[int], str | None]

BODY = [f"Body text number {word} that says something of its own" for word in ("one", "two", "six", "ten")]


def _texts(page: int) -> list[str]:
    return [f"{text} on {page * 37}" for text in BODY]


def document(
    count: int, header: Naming | None = None, footer: Naming | None = None, body: Callable[[int], list[str]] = _texts
) -> list[PageLines]:
    pages = []
    for page in range(1, count + 1):
        lines = stacked(body(page), top=100)
        if header and (text := header(page)):
            lines.append(a_line(text, top=40))
        if footer and (text := footer(page)):
            lines.append(a_line(text, 290, 800))
        pages.append(a_page(*lines))
    return pages


def removed(pages: list[PageLines]) -> list[tuple[str, tuple[int, ...], FurnitureReason]]:
    return [(line.text, line.pages, line.reason) for line in split_furniture(pages)[0]]


def kept(pages: list[PageLines]) -> list[list[str]]:
    return [[line.text for line in lines] for lines in split_furniture(pages)[1]]


@pytest.mark.parametrize(
    "footer",
    [
        pytest.param(lambda page: f"{page}", id="bare"),
        pytest.param(lambda page: f"- {page + 12} -", id="dashes-and-an-offset"),
        pytest.param(lambda page: f"Page {page} of 6", id="words"),
        pytest.param(lambda page: f"Page {page + 97} of 104", id="more-digits"),
        pytest.param(lambda page: ["i", "ii", "iii", "iv", "v", "vi"][page - 1], id="roman"),
        pytest.param(lambda page: f"3-{page}", id="within-a-chapter"),
        pytest.param(lambda page: f"{2 * page} | Report", id="two-pages-a-sheet"),
    ],
)
def test_page_numbers_are_taken_off(footer):
    assert all(len(lines) == len(BODY) for lines in kept(document(6, footer=footer)))


def test_line_that_stands_apart_at_the_place_of_running_lines_is_one():
    pages = document(8, header=lambda page: "Errata" if page == 5 else "The book")

    assert ("Errata", (5,), FurnitureReason.PLACE) in removed(pages)


@pytest.mark.parametrize(
    "pages",
    [
        pytest.param(document(2, header=lambda _: "Annual report"), id="two-pages"),
        pytest.param(document(9, header=lambda page: "Syntax:" if page in (1, 5, 9) else None), id="now-and-then"),
        pytest.param(
            document(5, body=lambda page: [f"un{'like' * page}", *["The same words"] * 3]), id="within-the-body"
        ),
        pytest.param(document(5, header=lambda page: f"Told {page * page + 3} times"), id="other-numbers"),
        pytest.param(document(5, header=lambda page: f"{'Bees' * page} . . . . . . . {page}"), id="contents"),
        pytest.param([a_page()] * 5, id="empty-pages"),
    ],
)
def test_body_stays(pages):
    assert removed(pages) == []


@given(st.integers(3, 12), st.text("ab1 ", max_size=6), st.integers(0, 700))
def test_every_line_is_either_body_or_furniture(count, text, top):
    pages = [a_page(a_line(text + "z", top=top), *stacked(BODY, top=300)) for _ in range(count)]

    furniture, bodies = split_furniture(pages)
    assert sum(map(len, bodies)) + sum(len(line.pages) for line in furniture) == count * (len(BODY) + 1)
