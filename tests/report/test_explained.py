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


def test_a_page_stands_beside_its_clean_text_and_each_block_tells_layer_rule_and_number() -> None:
    tree = read(an_explained_page())

    reasons = texts(tree, ".pane .reason")
    assert reasons[0].endswith("Removed by boilerplate: template: outside body>nav · on 60 of 60 pages")
    assert reasons[1].endswith("A part removed by patterns: text pattern tw.")
    assert texts(tree, ".pane .cut del") == ["Menu", "two"]
    assert texts(tree, ".pane .key") == ["a443c9553881cae5", "a443c9553881cae5"]
    classes = [node.attributes.get("class") for node in tree.css(".pane .cut")]
    assert classes == ["cut by-boilerplate", "cut by-patterns"]
    assert texts(tree, ".summary") == ["1 of 2 blocks removed, 27\u00a0% of the text"]
    assert texts(tree, ".pane pre") == ["# Green tea Steep for minutes."]


def test_blocks_with_one_reason_stand_together_and_many_are_folded() -> None:
    tree = read(an_explained_page(blocks=tuple(a_removed_block(f"Entry {number}") for number in range(10)), lost=()))

    assert len(tree.css(".pane .cut")) == 1
    assert "(10 blocks)" in texts(tree, ".pane .reason")[0]
    assert texts(tree, ".pane .cut summary") == ["4 more blocks"]


def test_chunks_tell_their_state_and_who_gives_them() -> None:
    tree = read(an_explained_page())

    given, shared, foreign = texts(tree, ".chunks > li")
    assert "added 344 characters · prose · en · d126a56629f783ae" in given
    assert "Left out by chunk: another page gives it, https://shop.example/oolong" in shared
    assert "Left out by language: de is not wanted" in foreign
    assert [node.attributes.get("class") for node in tree.css(".chunks > li")] == [
        None,
        "cut by-chunk",
        "cut by-language",
    ]


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


def test_a_page_whose_original_is_not_kept_has_its_reasons_all_the_same() -> None:
    tree = read(an_explained_page(blocks=(), cleaned=None, chunks=(), decisions=(), like=None))

    assert texts(tree, ".summary") == ["Its original is not kept"]
    assert "its text is not known any more" in texts(tree, "details .cut")[0]
    assert texts(tree, "h2") == ["Block by block", "What else is known"]


def test_hostile_text_stays_text() -> None:
    html = render_explanation(a_hostile_page())
    tree = LexborHTMLParser(html)

    assert HOSTILE in "".join(node.text(separator="", strip=False) for node in tree.css("main"))
    assert tree.css("script, img") == []
    assert not any((node.attributes.get("href") or "").startswith("javascript") for node in tree.css("a"))
    assert len(html) < 5_000_000
