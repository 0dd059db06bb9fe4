import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.marking import mark
from scrapy_dedup.core.pages.tag_selectors import GENERIC_SELECTORS, TagSelectors
from tests.core.builders import parsed
from tests.core.html_soup import anything

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
def test_tags_tell_what_a_tree_tells_or_nothing(html: str) -> None:
    page = parse_page(html)
    if isinstance(page, Page):
        told = SELECTORS.marks(page)
        assert told is None or told == mark(html, page, GENERIC).blocks


@pytest.mark.parametrize(
    ("html", "are_told"),
    [
        pytest.param("<!doctype html><div class=sidebar><p>a</div>", True, id="class"),
        pytest.param("<body class=sidebar><p>a", True, id="of-body"),
        pytest.param("<body class=Sidebar><p>a", False, id="of-body-in-any-case"),
        pytest.param("<ul itemtype='https://schema.org/BreadcrumbList'><li>a</ul>", True, id="value"),
        pytest.param("<div class=Sidebar><p>a</div>", False, id="any-case-where-no-doctype-is"),
        pytest.param(
            "<p>a<noscript><p>b, and much more that only readers without scripts see</noscript>", False, id="redrawn"
        ),
    ],
)
def test_where_tags_do_not_tell_nothing_is_told(html: str, are_told: bool) -> None:  # noqa: FBT001 (a column of the table)
    assert (SELECTORS.marks(parsed(html)) is not None) is are_told


@pytest.mark.parametrize("selector", ["nav li", "p:has(a)", "a.b", "*", "[class*=x]", "", ".a >.b", "//nav"])
def test_what_needs_more_than_a_start_tag_is_refused(selector: str) -> None:
    with pytest.raises(ValueError, match="needs more than a start tag"):
        TagSelectors(["nav", selector])
