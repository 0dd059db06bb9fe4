from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.render import render
from scrapy_dedup.core.patterns.expressions import (
    PlacedBlocks,
    Shortened,
    TextSpan,
    compile_expressions,
    place,
    shorten,
)
from tests.core.builders import parsed
from tests.tables import table


def a_page(body: str) -> Page:
    return parsed(f"<body>{body}")


def cut(body: str, *patterns: str) -> tuple[Page, Shortened]:
    page = a_page(body)
    placed = place(page, [True] * len(page.blocks))
    return page, shorten(page, placed, compile_expressions(patterns).find(placed.markdown).spans)


class TestPlaces:
    def test_marks_change_nothing_of_the_markdown(self) -> None:
        page = a_page("<h1>One *two*</h1><p>a <a href=/x>b</a> <b>c</b> d_e <ul><li>x<li>y</ul><pre>f\n  g</pre>")
        keep = [True] * len(page.blocks)

        assert place(page, keep).markdown == render(page, keep, "markdown")

    def test_a_page_that_holds_marks_itself_has_no_places(self) -> None:
        assert place(a_page("<p>one\ufdd1<p>two"), [True, True]).regions == {}

    def test_a_page_whose_marks_are_lost_has_no_places(self) -> None:
        page = a_page("<p>one<p>two")
        page.blocks[0].pieces = ("  ",)

        assert place(page, [True, True]).regions == {}

    @given(st.text("ab*_`<>&[]()\\ \n#1.-|é", max_size=60))
    def test_any_text_is_placed(self, text: str) -> None:
        page = a_page(f"<p>x {text.replace('<', '&lt;')}</p><p>end</p>")

        assert len(place(page, ([True] * len(page.blocks))).regions) == len(page.blocks)


class TestCuts:
    @table("text/cuts")
    def test_a_block_loses_what_is_covered(self, body: str, pattern: str, text: str, html: str) -> None:
        page, found = cut(body, pattern)

        assert found.blocks[0].text == text
        assert not found.gone
        assert render(Page(blocks=found.blocks, walk=page.walk), [True] * len(page.blocks), "html") == html

    @table("core/an_address_is_no_text")
    def test_an_address_is_no_text(self, body: str, pattern: str, gone: str) -> None:
        page, found = cut(body, pattern)

        assert [one.text for one in found.cuts] == [gone]
        assert found.blocks[0].text == page.blocks[0].text.removesuffix(gone).strip()

    @given(st.text("ab*_<&[]( )\\é", min_size=1, max_size=40), st.sampled_from(["a", "b+", r"\w+", r"\[.*?\]", r"\s"]))
    def test_what_goes_and_what_stays_are_the_words(self, text: str, pattern: str) -> None:
        page, found = cut(f"<p>x<p>{text.replace('&', '&amp;').replace('<', '&lt;')}", pattern)

        for number, block in enumerate(page.blocks):
            gone = sum(len("".join(one.text.split())) for one in found.cuts if one.block == number)
            left = 0 if number in found.gone else len("".join(found.blocks[number].text.split()))
            assert gone + left == len("".join(block.text.split()))

    def test_letters_that_a_converter_lost_stay(self) -> None:
        page = a_page("<p>one two")

        found = shorten(page, PlacedBlocks("one", {0: (0, 3)}), [TextSpan(0, 3, "one")])

        assert found.blocks[0].text == "two"
