from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pdf.lines import FurnitureReason, PageLines, split_furniture
from tests.pdf_files import a_line, a_page, stacked

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
def test_page_numbers_are_taken_off(footer: Naming | None):
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
def test_body_stays(pages: list[PageLines]):
    assert removed(pages) == []


@given(st.integers(3, 12), st.text("ab1 ", max_size=6), st.integers(0, 700))
def test_every_line_is_either_body_or_furniture(count: int, text: str, top: int):
    pages = [a_page(a_line(text + "z", top=top), *stacked(BODY, top=300)) for _ in range(count)]

    furniture, bodies = split_furniture(pages)
    assert sum(map(len, bodies)) + sum(len(line.pages) for line in furniture) == count * (len(BODY) + 1)
