"""Sites that are drawn at random to train on: the same each time, with content and with what surrounds it."""

import pytest

pytest.importorskip("numpy", reason="needs the extra bench")
drawn_sites = pytest.importorskip("benchmarks.drawn_sites", reason="the benchmarks are not beside these tests")
from scrapy_dedup.core.boilerplate.observations import observe  # noqa: E402
from scrapy_dedup.core.pages.blocks import Page, parse_page  # noqa: E402


@pytest.mark.parametrize("number", range(24))
def test_has_content_and_more_the_same_each_time(number):
    site, again = drawn_sites.DrawnSite(number), drawn_sites.DrawnSite(number)
    assert [site.html(page) for page in (3, 0)] == [again.html(page) for page in (0, 3)][::-1]
    pages = list(site.pages(4))
    assert len(pages) == 4
    for page in pages:
        assert page.scored
        assert {0.0, 1.0} <= set(page.main)


@pytest.mark.parametrize("number", range(6))
def test_marks_are_nothing_that_a_model_could_see(number):
    html = drawn_sites.DrawnSite(number).html(0)
    bare = html.replace(" data-gold", "")
    assert bare != html
    marked, unmarked = parse_page(html), parse_page(bare)
    assert isinstance(marked, Page)
    assert isinstance(unmarked, Page)
    assert observe(marked) == observe(unmarked)
