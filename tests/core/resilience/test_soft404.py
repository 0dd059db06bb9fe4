from typing import Final

import pytest

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.recrawl.verdicts import Repeats, block_key, page_keys
from scrapy_dedup.core.resilience.soft404 import ErrorPage, PageReason, RealPage, judge_page, probe_url
from tests.core.builders import parsed

SITE = "https://example.com"
PROBE = probe_url(SITE, "run 1")
CHROME = "<title>{title} | Site</title><nav>Home Products Contact</nav>"
NOT_FOUND = "<main><h1>Sorry</h1><p>The page {url} was not found. Try a search, or our home page.</p></main>"


def page_of(body: str, title: str = "Not found", **values: str) -> Page:
    return parsed(CHROME.format(title=title) + body.format(**values))


ERROR = page_of(NOT_FOUND, url=PROBE)
KNOWN = Repeats({page_keys(ERROR)[0], page_keys(ERROR)[-1]})


def judged(page: Page, path: str = "/a/deleted-page", repeats: Repeats = KNOWN) -> ErrorPage | RealPage:
    return judge_page(SITE + path, page, {PROBE: ERROR}, repeats)


def test_probe_is_one_no_site_has():
    assert probe_url("https://Example.com/a?b#c", "run 1") == PROBE
    assert PROBE.startswith("https://example.com/")
    assert PROBE.removeprefix("https://example.com/").isalpha()
    assert len({probe_url(url, seed) for url in (SITE, "https://example.org") for seed in ("1", "2")}) == 4


def test_probe_of_no_url_is_refused():
    with pytest.raises(ValueError, match=r"mailto:a@example\.com.: needs an http"):
        probe_url("mailto:a@example.com", "run 1")


def test_error_page_is_told_though_it_names_its_url():
    assert judged(page_of(NOT_FOUND, url=f"{SITE}/a/deleted-page")) == ErrorPage()
    assert judged(page_of(NOT_FOUND, url="deleted page")) == ErrorPage()


def test_short_page_is_real_before_the_site_is_known():
    chrome = "<nav>" + "Home Products Contact Imprint Privacy " * 100 + "</nav>"
    error, page = page_of(chrome + NOT_FOUND, url=PROBE), page_of(chrome + "<p>We are open.</p>", title="Hours")

    assert judge_page(f"{SITE}/hours", page, {PROBE: error}, Repeats()) == RealPage(PageReason.OTHER_WORDS)


@pytest.mark.parametrize("path", ["", "/", "/index.html", "/?utm_source=x"])
def test_home_page_is_real_though_all_urls_give_it(path):
    assert judged(ERROR, path) == RealPage(PageReason.HOME)
    assert judged(ERROR, "/other") == ErrorPage()


def test_pages_without_words_agree_only_where_they_are_equal():
    """Two empty shells of an application may show two things."""
    empty, digits, other = (page_of(body, title="12") for body in ("", "<p>12</p>", "<p>13</p>"))
    everything = Repeats(
        {*page_keys(digits), *page_keys(other)} - {block_key(digits.blocks[-1]), block_key(other.blocks[-1])}
    )

    assert judge_page(f"{SITE}/x", digits, {PROBE: digits}, everything) == ErrorPage()
    assert judge_page(f"{SITE}/x", digits, {PROBE: other}, everything) == RealPage(PageReason.EMPTY)
    nothing = parsed("")
    assert judge_page(f"{SITE}/x", nothing, {PROBE: nothing}, everything) == RealPage(PageReason.EMPTY)
    assert empty.blocks


TRY = "<p>Try one of these:</p><ul class=try>{links}</ul>"
OTHER_PROBE = probe_url(SITE, "run 2")


def with_links(start: int, body: str = NOT_FOUND, url: str = "/x", title: str = "Not found") -> Page:
    words = "amber birch cedar dahlia elder fern ginkgo hazel iris juniper kale lilac".split()
    links = "".join(f"<li><a href=/{word}>The {word} {word}s</a>" for word in words[start : start + 4])
    return page_of(body + TRY, url=url, links=links, title=title)


class TestLinksThatDiffer:
    PROBES: Final = {PROBE: with_links(0, url=PROBE), OTHER_PROBE: with_links(4, url=OTHER_PROBE)}

    @pytest.mark.parametrize("start", range(9))
    def test_error_page_with_other_links_is_one(self, start):
        assert judge_page(f"{SITE}/x", with_links(start), self.PROBES, Repeats()) == ErrorPage()

    @pytest.mark.parametrize(
        "page",
        [
            pytest.param(with_links(2, "<main><h1>Trees</h1><p>All that grow here.</p></main>"), id="other-words"),
            pytest.param(with_links(2, title="Trees"), id="other-title"),
            pytest.param(with_links(2, NOT_FOUND + "<p>It moved to another place last year.</p>"), id="more-words"),
        ],
    )
    def test_page_that_says_something_beside_its_links_is_real(self, page):
        assert judge_page(f"{SITE}/x", page, self.PROBES, Repeats()) == RealPage(PageReason.OTHER_WORDS)

    def test_lists_are_pages_where_a_site_answers_with_one_of_them(self):
        """All parts of a list have the same words around their links, and so has what any URL gives."""
        around = "<main><h1>Trees</h1><p>All that grow here, in the order of their names.</p></main>"
        first = with_links(0, around)

        for start in range(1, 9):
            page = with_links(start, around)
            probes = {PROBE: first, OTHER_PROBE: first}
            assert judge_page(f"{SITE}/trees/{start}", page, probes, Repeats()) == RealPage(PageReason.OTHER_WORDS)

    def test_products_are_pages_where_a_site_answers_with_any_of_them(self):
        def product(number: int) -> Page:
            name = "abcdefghij"[number] * 5
            return with_links(number, f"<main><h1>Chair {name}</h1><p>In stock.</p></main>", title="Shop")

        probes = {PROBE: product(0), OTHER_PROBE: product(1)}

        assert {judge_page(f"{SITE}/p", product(number), probes, Repeats()) for number in range(2, 9)} == {
            RealPage(PageReason.OTHER_WORDS)
        }
