import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.locators import Evidence, Field, Locators, learn_locators, value_in
from scrapy_dedup.core.metadata import evidence_of, metadata_of
from scrapy_dedup.core.pages.blocks import Page
from tests.core.builders import parsed

NAMES = ["Ann Lee", "Bo Ray", "Cy Fox", "Di Orr", "Ed Poe"]


def an_article(number: int, *, is_declared: bool = True) -> str:
    """An article whose day stands far from its title, among other days."""
    day = f"2024-05-0{number}"
    head = f'<meta property="article:published_time" content="{day}"><meta name=author content="{NAMES[number - 1]}">'
    return (
        f"<head><title>Story {number} | News</title>{head if is_declared else ''}</head>"
        f"<p class=now>{20 + number} May 2025</p><h1>News</h1>" + "<p>x</p>" * 20 +
        f"<h2 class=headline>Story {number}</h2>" + "<p>x</p>" * 20 +
        f"<p class=when>0{number}.05.2024</p><p class=who>By {NAMES[number - 1]}</p>"
    )  # fmt: skip


def learned(htmls: list[str]) -> Locators:
    return learn_locators([evidence_of(parsed(html)) for html in htmls])


ARTICLES = [an_article(number) for number in range(1, 6)]


def test_paths_that_agree_with_what_pages_declare_are_learned():
    assert learned(ARTICLES).to_json() == {"title": "body>h2.headline", "date": "body>p.when", "author": "body>p.who"}


def test_learned_paths_speak_for_pages_that_declare_nothing():
    metadata = metadata_of(parsed(an_article(3, is_declared=False)), None, learned(ARTICLES))

    assert (metadata.date, metadata.author, metadata.sources["date"]) == ("2024-05-03", "Cy Fox", "locator")


def test_two_pages_teach_nothing():
    assert learned(ARTICLES[:2]) == Locators()


def test_day_that_all_pages_share_is_the_sites():
    same = [an_article(1).replace("Ann Lee", name) for name in NAMES]

    found = learned(same).to_json()

    assert "date" not in found
    assert "author" in found


def test_one_of_several_declared_authors_agrees():
    htmls = [
        f'<meta name=author content="Ann Lee"><meta name=author content="{name}"><h1>x</h1><p class=author>{name}'
        for name in NAMES[1:]
    ]

    assert learned(htmls).to_json()["author"] == "body>p.author"


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        pytest.param(Field.TITLE, "A flood ¶", "A flood", id="title"),
        pytest.param(Field.TITLE, "¶", None, id="mark-alone"),
        pytest.param(Field.TITLE, "x" * 600, None, id="long-title"),
        pytest.param(Field.DATE, "on 6 May 2024", "2024-05-06", id="date"),
        pytest.param(Field.DATE, "6 May 2024" + " x" * 100, None, id="long-line"),
        pytest.param(Field.AUTHOR, "by Ann", "Ann", id="author"),
    ],
)
def test_block_shows_the_value_of_a_field(field, text, value):
    assert value_in(field, text) == value


@given(st.dictionaries(st.sampled_from(list(Field)), st.text(min_size=1), max_size=3))
def test_locators_come_back_as_they_were_stored(paths):
    locators = Locators(tuple((field, paths[field]) for field in Field if field in paths))

    assert Locators.from_json(locators.to_json()) == locators


def test_page_without_locators_is_not_walked():
    evidence: list[Evidence] = []

    assert learn_locators(evidence).values(Page()) == {}
