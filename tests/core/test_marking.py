import pytest

from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.marking import SelectorError, check_selector, marked_blocks

HTML = (
    '<body class=x><div class=a><p>one<p class=b>two <b>bold</b></div><div class="a k">three'
    '<table><tr><td class=b>c<td>d</table></div><nav data-dedup-mark-0="1">menu</nav>tail'
)


def marks_of(html: str, *selectors: str) -> dict[str, set[str]]:
    """Return the selectors that match around each text."""
    page = parse_page(html)
    assert isinstance(page, Page)
    marks = marked_blocks(html, page, selectors)
    return {block.text: {selectors[place] for place in found} for block, found in zip(page.blocks, marks, strict=True)}


class TestMarks:
    @pytest.mark.parametrize(
        ("selector", "texts"),
        [
            pytest.param("div.a", {"one", "two bold", "three", "c", "d"}, id="element"),
            pytest.param(".b", {"two bold", "c"}, id="in-different-places"),
            pytest.param("body", {"one", "two bold", "three", "c", "d", "menu", "tail"}, id="whole-page"),
            pytest.param("nav", {"menu"}, id="has-an-attribute-that-looks-like-a-mark"),
            pytest.param("div.a > p:first-child", {"one"}, id="position"),
            pytest.param("b", set(), id="within-a-block"),
            pytest.param("h1", set(), id="nothing"),
        ],
    )
    def test_blocks_have_the_selectors_that_match_around_them(self, selector: str, texts: set[str]) -> None:
        found = marks_of(HTML, selector)

        assert {text for text, selectors in found.items() if selectors} == texts

    def test_a_block_may_have_several(self) -> None:
        assert marks_of(HTML, "div.a", ".b", "nav")["two bold"] == {"div.a", ".b"}

    def test_a_page_without_a_body_has_none(self) -> None:
        html = "<frameset><frame src=a></frameset>"

        assert marks_of(html, "frame") == {}


class TestSelectors:
    @pytest.mark.parametrize("selector", ["div >", "::", "p {", "a["])
    def test_what_is_no_selector_is_refused_by_its_text(self, selector: str) -> None:
        with pytest.raises(SelectorError) as refused:
            check_selector(selector)

        assert repr(selector) in str(refused.value)

    @pytest.mark.parametrize("selector", ["div.a > p", "div:has(p)", "[role=navigation]", "a, b"])
    def test_selectors_are_accepted(self, selector: str) -> None:
        check_selector(selector)
