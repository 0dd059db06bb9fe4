from copy import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.duplicates import words
from scrapy_dedup.core.pages.blocks import Block
from scrapy_dedup.core.pages.gather import Gatherer, links_of
from scrapy_dedup.core.pages.render import plain
from scrapy_dedup.core.pages.tags import Tag
from tests.core.builders import parsed
from tests.growth import assert_in_proportion
from tests.tables import table

LINK, END, BR = Tag("a", (("href", "x"),)), Tag("a", (), closing=True), Tag("br")
BOLD, NOT_BOLD = Tag("b"), Tag("b", (), closing=True)


def gathered(source: str) -> list[Block]:
    gatherer = Gatherer()
    gatherer.over(source)
    return gatherer.blocks


class TestBlock:
    def test_a_found_block_equals_one_that_was_made(self):
        block = parsed("<p><a href=x>one</a></p>").blocks[0]

        made = Block("body>p", "one", block.fingerprint, 3, (LINK, "one", END))

        assert block == made
        assert hash(block) == hash(made)
        assert repr(block) == repr(made)
        assert made.unread is None
        assert block != "one"

    def test_a_copy_does_not_need_the_page(self):
        block = parsed("<p>one <b>two</b></p>").blocks[0]

        assert type(copy(block)) is Block
        assert copy(block) == block

    def test_it_has_nothing_else(self):
        assert not hasattr(parsed("<p>one</p>").blocks[0], "other")


@pytest.mark.parametrize(
    ("source", "pieces"),
    [
        pytest.param("<p>a<span>b</span></p>", [("a", "b")], id="tags-without-meaning-divide"),
        pytest.param("<p>a<!-- x -->b</p>", [("a", "b")], id="comments-divide"),
        pytest.param("<p> <br>a<br></p>", [(BR, "a")], id="line-ends-behind-are-left-out"),
        pytest.param("<p>a<br><br>b</p>", [("a",), ("b",)], id="blank-line"),
        pytest.param("<b>a<p>b</p>c</b>", [(BOLD, "a"), (BOLD, "b"), (BOLD, "c", NOT_BOLD)], id="mark-around-blocks"),
        pytest.param("<span><p>b</p></span><b>c</b>", [("b",), (BOLD, "c", NOT_BOLD)], id="span-around-blocks"),
        pytest.param("<p>a</b></p>", [("a",)], id="end-tag-alone"),
        pytest.param(
            "<pre><b> </b> <i>x</i></pre>", [(BOLD, NOT_BOLD, Tag("i"), "x", Tag("i", (), closing=True))], id="code"
        ),
    ],
)
def test_pieces_of(source, pieces):
    assert [block.pieces for block in gathered(source)] == pieces


@given(st.lists(st.sampled_from('<a href="#x">|<a href="//h">|<a name="n">|</a>|<b>|</b>|<br>|o| '.split("|"))))
def test_links_are_the_same_by_source_and_by_pieces(bits):
    blocks = gathered(f"<p>{''.join(bits)}</p>")
    by_source = links_of(blocks)

    assert all(block.pieces for block in blocks)
    assert by_source == links_of(blocks)


def test_pages_with_the_same_blocks_differ_in_what_is_drawn_around_them():
    one, other = parsed("<ul><li>x</li></ul>"), parsed("<ul><li>x</li></ul>")

    assert one == other
    assert one.walk != parsed("<ul><li>x</li><li><img src=a></li></ul>").walk
    assert "Walk[" in repr(one)


@pytest.mark.parametrize(
    ("make", "size"),
    [
        pytest.param(lambda n: "<" * n, 250_000, id="tags-that-never-end"),
        pytest.param(lambda n: "<script>" + "<" * n, 250_000, id="script-that-never-ends"),
        pytest.param(lambda n: "<!--" + "-" * n, 250_000, id="comment-that-never-ends"),
        pytest.param(lambda n: "x" * n + "<!---->" * (n // 20), 250_000, id="comments-in-a-long-text"),
        pytest.param(lambda n: "x" + "<br> " * n, 12_500, id="line-ends"),
        pytest.param(lambda n: "<svg>" * n, 12_500, id="nested-svg"),
        pytest.param(
            lambda n: f'<div style="{"display: none !important;" * n}display: block">', 12_500, id="endless-style"
        ),
    ],
)
def test_any_source_takes_time_in_proportion_to_its_length(make, size):
    assert_in_proportion(gathered, make, size)


@table("text/plain")
def test_words_are_those_that_a_reader_sees(content, output, found):
    assert words(plain(content, output)) == found.lower().split()


@pytest.mark.parametrize("output", ["markdown", "html", "text"])
@given(content=st.text(alphabet='[]()<>"&;! \nab#', max_size=60))
def test_any_text_has_words(output, content):
    assert isinstance(plain(content, output), str)


@pytest.mark.parametrize(
    "content", ["](" * 50_000, "](((" * 50_000, '](a "' * 50_000, "](a(a)" * 40_000, "<" * 200_000]
)
@pytest.mark.parametrize("output", ["markdown", "html"])
def test_hostile_text_takes_no_long_time(content, output):
    assert plain(content, output)
