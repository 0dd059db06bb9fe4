import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.core.recrawl.verdicts import MainText, Passage, unified_diff
from scrapy_dedup.report.drawing import LONGEST_LINE, MOST_HUNKS, MOST_LINES, Hunk, hunks, marked, render_report
from scrapy_dedup.report.markup import visible
from tests.report.builders import a_changed_page, a_diff, a_recrawl, a_report


def drawn(*lines: str, **other: str) -> LexborHTMLParser:
    page = a_changed_page(diff=a_diff(*lines), **other)
    return LexborHTMLParser(render_report(a_report(recrawl=a_recrawl(diffs=(page,)), samples=())))


def texts(tree: LexborHTMLParser, selector: str) -> list[str]:
    return [node.text() for node in tree.css(selector)]


passages = st.lists(st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1), max_size=8)


@given(passages, passages)
def test_hunks_of_a_diff_hold_all_of_its_lines(old, new):
    before, after = (MainText(passages=tuple(Passage("p", text) for text in side)) for side in (old, new))
    diff = unified_diff(before, after)

    found = hunks(diff)

    lines = diff.split("\n")[2:]
    assert [line for hunk in found for line in hunk.was] == [line[1:] for line in lines if line[:1] == "-"]
    assert [line for hunk in found for line in hunk.now] == [line[1:] for line in lines if line[:1] == "+"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["-Steep for two minutes.", "+The shop is closed on Sundays"], id="other-text"),
        pytest.param(["-Steep for two minutes."], id="one-side"),
        pytest.param(["-" + "a " * 5_000, "+" + "a " * 5_000 + "b"], id="too-long-to-compare"),
    ],
)
def test_texts_without_much_in_common_have_no_marks(lines):
    assert drawn(*lines).css("mark") == []


LINES = st.lists(st.text(st.characters(blacklist_characters="\n\r")), min_size=1, max_size=5)


@given(LINES, LINES)
def test_marks_add_and_lose_no_character(was, now):
    sides = marked(Hunk(tuple(was), tuple(now)))

    shown = [["".join(piece for piece, _ in line) for line in side] for side in sides]
    assert shown == [[visible(line, LONGEST_LINE) for line in side] for side in (was, now)]


def test_endless_diffs_are_cut_and_say_so():
    many = [line for _ in range(MOST_HUNKS + 7) for line in ("@@", "-a")]

    tree, long = drawn(*many), drawn("@@", "-a", "@@", *["-b"] * MOST_LINES)

    assert len(tree.css(".hunk")) == MOST_HUNKS
    assert texts(tree, ".more") == ["… and 7 more changes"]
    assert (len(long.css(".hunk")), texts(long, ".more")) == (1, ["… and 1 more change"])
    assert len(texts(drawn("-" + "x" * 10_000), "del")[0]) == LONGEST_LINE
