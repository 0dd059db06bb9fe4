"""The drawing of one page, read back with a parser."""

from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.report.drawing import render_explanation
from scrapy_dedup.report.values import ExplainedPage
from tests.report.hostile import HOSTILE, a_hostile_page


def read(page: ExplainedPage) -> LexborHTMLParser:
    return LexborHTMLParser(render_explanation(page))


def test_hostile_text_stays_text() -> None:
    html = render_explanation(a_hostile_page())
    tree = LexborHTMLParser(html)

    assert HOSTILE in "".join(node.text(separator="", strip=False) for node in tree.css("main"))
    assert tree.css("script, img") == []
    assert not any((node.attributes.get("href") or "").startswith("javascript") for node in tree.css("a"))
    assert len(html) < 5_000_000
