import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pagination import PageLinks, is_part_name, listing_part, next_parts

SITE = "http://a.example"
CASES = [
    pytest.param("/list?page=1", [], ["/list?page=2"], id="from-1"),
    pytest.param("/list?page=0&sort=x", [], ["/list?page=1&sort=x"], id="from-0"),
    pytest.param("/list/page/2/", [], ["/list/page/3/"], id="path"),
    pytest.param("/blog/seite-3.html", [], ["/blog/seite-4.html"], id="other-language"),
    pytest.param("/list?offset=20", [], ["/list?offset=40"], id="offset-is-one-step"),
    pytest.param("/list?offset=0", [], [], id="offset-without-step"),
    pytest.param("/list?offset=0&limit=10", [], ["/list?offset=10&limit=10"], id="offset-with-size"),
    pytest.param("/list?offset=40", ["?offset=0", "?offset=20"], ["/list?offset=60"], id="offset-step-of-all"),
    pytest.param("/list?page[number]=2", [], ["/list?page%5Bnumber%5D=3"], id="brackets"),
    pytest.param("/list?p=5", [], [], id="unclear"),
    pytest.param("/list?p=5", ["/list?p=4"], ["/list?p=6"], id="unclear-with-siblings"),
    pytest.param("/blog/5", [], [], id="number-in-path"),
    pytest.param("/blog/5", ["/blog/4", "/blog/6"], ["/blog/6"], id="number-in-path-with-siblings"),
    pytest.param(
        "/list", ["/list?page=2", "/list?page=3", "/other?page=2"], ["/list?page=2", "/list?page=3"], id="first"
    ),
    pytest.param(
        "/list", ["/list/page/2", "mailto:x", "http://b.example/list?page=2"], ["/list/page/2"], id="first-path"
    ),
    pytest.param("/about", ["/list"], [], id="no-listing"),
]


@pytest.mark.parametrize(("path", "hrefs", "expected"), CASES)
def test_next_part_is_told(path: str, hrefs: list[str], expected: list[str]) -> None:
    assert next_parts(SITE + path, PageLinks(hrefs)) == [SITE + one for one in expected]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        pytest.param("/more/2", ["/more/2"], id="on-host"),
        pytest.param("http://b.example/2", [], id="elsewhere"),
        pytest.param("/list", [], id="itself"),
        pytest.param("http://[bad", [], id="no-address"),
        pytest.param("ftp://a.example/2", [], id="no-page"),
        pytest.param("http://a.example[/2", [], id="no-host"),
    ],
)
def test_next_part_is_what_the_page_says(named: str, expected: list[str]) -> None:
    assert next_parts(f"{SITE}/list", PageLinks(next_href=named)) == [SITE + one for one in expected]


def test_part_that_the_page_links_itself_is_named_once() -> None:
    assert next_parts(f"{SITE}/list?page=2", PageLinks(["?page=3"], next_href="?page=3")) == [f"{SITE}/list?page=3"]


@pytest.mark.parametrize("url", ["mailto:x", f"{SITE}/", f"{SITE}/list?page=x", f"{SITE}/about"])
def test_other_url_is_no_part(url: str) -> None:
    assert listing_part(url) is None


def test_parts_of_one_listing_share_their_place() -> None:
    first, second = listing_part(f"{SITE}/list?b=1&page=1&a=2"), listing_part(f"{SITE}/list?a=2&b=1&page=2")

    assert first is not None
    assert second is not None
    assert first.place == second.place
    assert (first.number, second.number) == (1, 2)


def test_names_of_parts_are_known() -> None:
    assert [name for name in ("page", "Offset", "p", "id", "page%5Bsize%5D", "x[page]") if is_part_name(name)] == [
        "page",
        "Offset",
        "p",
        "x[page]",
    ]


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_is_taken(text: str, hrefs: list[str]) -> None:
    for url in (text, f"{SITE}/{text}?page=1", f"{SITE}/{text}/2"):
        assert all(one.startswith("http") for one in next_parts(url, PageLinks(hrefs, text)))
