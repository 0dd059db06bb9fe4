"""The drawing of one page, read back with a parser."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.report.drawing import render_explanation
from scrapy_dedup.report.values import ExplainedLike, ExplainedPage
from tests.report.builders import a_removed_block, an_explained_page
from tests.report.hostile import HOSTILE, a_hostile_page
from tests.report.reading import texts


def read(page: ExplainedPage) -> LexborHTMLParser:
    return LexborHTMLParser(render_explanation(page))


def test_blocks_with_one_reason_stand_together_and_many_are_folded() -> None:
    tree = read(an_explained_page(blocks=tuple(a_removed_block(f"Entry {number}") for number in range(10)), lost=()))

    assert len(tree.css(".pane .cut")) == 1
    assert "(10 blocks)" in texts(tree, ".pane .reason")[0]
    assert texts(tree, ".pane .cut summary") == ["4 more blocks"]


@pytest.mark.parametrize(
    ("like", "told"),
    [
        pytest.param(ExplainedLike("https://a.example/", "", 0.953), "exact Jaccard similarity 0.953", id="marked"),
        pytest.param(
            ExplainedLike("https://a.example/", "title", 1.0), "layer title dropped it: the same text", id="dropped"
        ),
    ],
)
def test_the_page_that_it_is_like_is_named(like: ExplainedLike, told: str) -> None:
    (lead,) = [text for text in texts(read(an_explained_page(like=like)), "p.lead") if "https://a.example/" in text]

    assert told in lead


def test_hostile_text_stays_text() -> None:
    html = render_explanation(a_hostile_page())
    tree = LexborHTMLParser(html)

    assert HOSTILE in "".join(node.text(separator="", strip=False) for node in tree.css("main"))
    assert tree.css("script, img") == []
    assert not any((node.attributes.get("href") or "").startswith("javascript") for node in tree.css("a"))
    assert len(html) < 5_000_000
