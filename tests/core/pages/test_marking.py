import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.marking import (
    GENERIC_SELECTORS,
    SelectorError,
    TagSelectors,
    check_any_selector,
    check_selector,
    mark,
    marked_blocks,
)
from tests.core.builders import parsed
from tests.core.html_soup import anything
from tests.tables import table

HTML = (
    '<body class=x><div class=a><p>one<p class=b>two <b>bold</b></div><div class="a k">three'
    '<table><tr><td class=b>c<td>d</table><img src=x></div><nav data-dedup-mark-0="1">menu</nav>tail'
)


def marks_of(html: str, *selectors: str) -> dict[str, set[str]]:
    page = parsed(html)
    marks = marked_blocks(html, page, selectors)
    return {block.text: {selectors[place] for place in found} for block, found in zip(page.blocks, marks, strict=True)}


class TestSelectors:
    def test_one_of_five_thousand_parts_is_refused(self):
        with pytest.raises(SelectorError, match=r"5,000 selectors with commas between: 100 are allowed"):
            check_selector(",".join(["p"] * 5_000))

    @pytest.mark.parametrize("selector", ["div >", "::", "p {", "a["])
    def test_what_is_no_selector_is_refused_by_its_text(self, selector):
        with pytest.raises(SelectorError) as refused:
            check_selector(selector)

        assert repr(selector) in str(refused.value)


class TestXPath:
    @table("core/blocks_are_found_as_by_css")
    def test_blocks_are_found_as_by_css(self, selector, texts):
        check_any_selector(selector)

        assert sorted(text for text, found in marks_of(HTML, selector).items() if found) == texts

    @table("core/what_is_none_of_xpath_1_is_refused")
    def test_what_is_none_of_xpath_1_or_gives_no_elements_is_refused(self, selector):
        with pytest.raises(SelectorError, match=r"XPath 1\.0"):
            check_any_selector(selector)

    @pytest.mark.parametrize(
        "html", ["", "\x00\x0b", "<p>\ud800", "<frameset>"], ids=["empty", "control", "odd", "frames"]
    )
    def test_any_page_is_searched(self, html):
        assert set().union(*marks_of(html, "//p", "*").values()) <= {"//p", "*"}

    def test_a_selector_that_fails_on_a_page_matches_nothing(self):
        assert marks_of(HTML, "//p[re:test(., 'x')]")["one"] == set()

    def test_css_is_checked_as_ever(self):
        check_any_selector("div > p")
        with pytest.raises(SelectorError, match="CSS"):
            check_any_selector("div[")


FLAT = "<p class=a>x</p>" * 4_000
WIDE = "<p>x</p>" * 40_000
DEEP = "<div class=a>" * 400 + "<p>x</p>" * 1_000


class TestHostile:
    @pytest.mark.parametrize("html", [FLAT, DEEP], ids=["flat", "deep"])
    @table("core/a_selector_is_carried_out_or_said_to_be_too_costly")
    def test_a_selector_is_carried_out_or_said_to_be_too_costly(self, html, selector):
        found = mark(html, parsed(html), [selector])

        assert any(found.blocks) or found.too_costly or selector.startswith(("q", "//p"))

    def test_what_is_looked_into_anew_for_each_element_is_too_costly_on_large_pages(self):
        """What is too costly leaves all that may be spent to the others."""
        small = "<div><p>x</p></div>"
        anew = [
            ":not(:has(q)) p",
            ":has(q) > p",
            ":has(q) ~ p",
            ":not(:has(> q)) p",
            ":has(:has(q) p)",
            "p:nth-child(n of :has(q))",
            "body:not(:lexbor-contains('q')) p",
            "q, :is(:has(q), p) p",
        ]
        once = ["main p:has(b)", "p:has(> b, + q)", "p:not(:has(q))", "p:lexbor-contains('q')"]

        assert mark(WIDE, parsed(WIDE), [*anew, *once]).too_costly == set(range(len(anew)))
        assert mark(small, parsed(small), anew).too_costly == set()

    def test_what_would_take_too_long_is_told(self):
        assert mark(FLAT, parsed(FLAT), ["p", "q ~ p ~ p", "//*//*//*"]).too_costly == {1, 2}

    def test_of_a_thousand_selectors_that_match_everything_some_are_too_costly(self):
        assert mark(FLAT, parsed(FLAT), ["p"] * 1_000).too_costly


GENERIC = [one.selector for one in GENERIC_SELECTORS]
SELECTORS = TagSelectors(GENERIC)

_PARTS = [
    *"<nav> </nav> <header> </header> <aside> </aside> <div> </div> <p> </p> <ul> <li> <main> </main> one two".split(),
    *"<svg><nav>x</nav></svg> <math><nav>y</nav></math> <template><nav>z</nav></template> <span> </span>".split(),
    '<div class="sidebar wide">',
    '<div class="Sidebar">',
    "<div id=sidebar>",
    '<div id="SideBar">',
    "<div role=navigation>",
    "<div role=Navigation>",
    "<div class='a&quot;b &gt; navbar'>",
    "<div class='a\x0bnavbar'>",
    "<div class='pager\nx'>",
    "<span class=breadcrumb>",
    '<ul itemtype="http://schema.org/BreadcrumbList">',
    '<body class="sidebar" id="masthead">',
    "<html class=navbar>",
    "<input class=navbar>",
    '<div title=" class=" class="x navbar">',
    '<div a"b="c" class="navbar" d"e>',
    "<noscript><nav>without scripts there is more to read</nav></noscript>",
]
pages = st.tuples(st.sampled_from(["", "<!doctype html>"]), st.lists(st.sampled_from(_PARTS), max_size=30)).map(
    lambda parts: parts[0] + "".join(parts[1])
)


@given(pages | anything)
def test_tags_tell_what_a_tree_tells_or_nothing(html):
    page = parse_page(html)
    if isinstance(page, Page):
        told = SELECTORS.marks(page)
        assert told is None or told == mark(html, page, GENERIC).blocks


@table("core/where_tags_do_not_tell_nothing_is_told")
def test_where_tags_do_not_tell_nothing_is_told(html, are_told):
    assert (SELECTORS.marks(parsed(html)) is not None) is are_told


@pytest.mark.parametrize("selector", ["nav li", "p:has(a)", "a.b", "*", "[class*=x]", "", ".a >.b", "//nav"])
def test_what_needs_more_than_a_start_tag_is_refused(selector):
    with pytest.raises(ValueError, match="needs more than a start tag"):
        TagSelectors(["nav", selector])
