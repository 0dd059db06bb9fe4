import pytest

from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.observations import observe
from scrapy_dedup.core.templates import Row, Template, cut, learn_template, tail_of

P, A = "body>main>p", "body>main>ul>li"
TEXT = Row(P, 400, 0, keep=True)
LINK = Row(A, 30, 30, keep=True)


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        pytest.param([TEXT, LINK, LINK], (2, 1), id="links-behind-the-text"),
        pytest.param(
            [TEXT, LINK, LINK, LINK._replace(keep=False)], (2, 1), id="what-is-dropped-already-does-not-count"
        ),
        pytest.param([TEXT, LINK], None, id="one-link-is-a-last-word"),
        pytest.param([LINK, LINK, TEXT], None, id="before-the-text"),
        pytest.param([TEXT, LINK, LINK, Row(A, 30, 20, keep=True)], None, id="ends-with-words"),
        pytest.param([TEXT, LINK, LINK, Row(P, 30, 30, keep=True)], None, id="two-kinds-of-links"),
        pytest.param([Row(P, 100, 0, keep=True), *[LINK] * 5], None, id="the-page-is-made-of-links"),
        pytest.param([], None, id="nothing"),
    ],
)
def test_a_tail_is_links_behind_all_text(rows: list[Row], places: tuple[int, ...] | None) -> None:
    found = tail_of(rows)

    assert (found.places if found is not None else None) == places


def post(number: int, *, related: bool = True) -> Page:
    """Return a page with a list of its own, and one of other pages behind its text."""
    words = " ".join(f"word{number}x{place}" for place in range(60))
    links = "".join(f'<li><a href="/{number}/{place}">Another post {number * 7 + place}</a></li>' for place in range(3))
    page = parse_page(
        f"<body><main><p>{words}</p><ul><li>step one of {number}</li><li>step two of {number}</li></ul>"
        f"<p>{words} end</p>" + (f"<hr><ul>{links}</ul>" if related else "") + "</main></body>"
    )
    assert isinstance(page, Page)
    return page


def learned(number: int, with_tails: int) -> Template:
    return learn_template([observe(post(one, related=one < with_tails)) for one in range(number)])


def kept(page: Page, template: Template) -> str:
    return " ".join(
        block.text for block, why in zip(page.blocks, cut(page, template).removed, strict=True) if why is None
    )


def test_links_that_often_stand_behind_the_text_are_left_out_and_lists_of_the_text_are_not() -> None:
    text = kept(post(99), learned(12, 12))

    assert "Another post" not in text
    assert "step one of 99" in text
    assert "word99x0" in text


def test_where_few_pages_have_them_they_stay() -> None:
    assert "Another post" in kept(post(99), learned(12, 2))


def test_a_page_that_ends_otherwise_loses_nothing() -> None:
    assert not any(cut(post(99, related=False), learned(12, 12)).removed)


def test_a_stored_template_has_them() -> None:
    assert Template.from_json(learned(12, 12).to_json()) == learned(12, 12)
    assert learned(12, 12).to_json()["tails"] == {"body>main>ul>li": 12}


def test_the_reason_is_told_in_words() -> None:
    (why, *_) = {why for why in cut(post(99), learned(12, 12)).removed if why is not None}

    assert (str(why.reason), why.evidence) == ("links", "links behind all text, as on 12 of 12 pages")
