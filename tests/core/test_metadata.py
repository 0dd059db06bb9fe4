import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.core.locators import (
    Field,
    Locators,
    SiteNames,
    byline_name,
    declared_day,
    declared_names,
    written_day,
)
from scrapy_dedup.core.metadata import Metadata, evidence_of, metadata_of, names_of, things_of
from tests.core.builders import parsed
from tests.core.html_soup import anything
from tests.tables import table

URL = "https://www.the-news.example/a/flood"


def found(html: str, url: str | None = URL, locators: Locators | None = None) -> Metadata:
    return metadata_of(parsed(html), url, locators)


def json_ld(value: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


def meta(name: str, content: str) -> str:
    return f'<meta property="{name}" content="{content}">'


@table("metadata/titles")
def test_title_is_without_the_sites_name(html, title, source):
    metadata = found(html)

    assert (metadata.title, metadata.sources.get("title")) == (title, source)


@table("metadata/dates")
def test_date_is_declared_or_plainly_seen(html, date, source):
    metadata = found(html)

    assert (metadata.date, metadata.sources.get("date")) == (date, source)


@table("metadata/days_in_scripts")
def test_day_that_scripts_are_told_is_believed_where_they_agree(script, date):
    metadata = found(f"<p>x</p><script>{script}</script>")

    assert (metadata.date, metadata.sources.get("date")) == (date, "script" if date else None)


def test_date_in_the_address_is_the_pages():
    metadata = found("<p>x", "https://a.example/2024/5/6/flood.html")

    assert (metadata.date, metadata.sources["date"]) == ("2024-05-06", "url")


@table("metadata/authors")
def test_author_is_declared_or_named_in_a_byline(html, author, source):
    metadata = found(html)

    assert (metadata.author, metadata.sources.get("author")) == (author, source)


def test_locators_stand_behind_declarations_and_before_what_is_seen():
    locators = Locators(((Field.TITLE, "body>p.t"), (Field.DATE, "body>p.d"), (Field.AUTHOR, "body>p.a")))
    html = "<h1>x</h1><h1>y</h1><p class=t>A flood<p class=d>6 May 2024<p class=a>Ann Lee"

    metadata = found(html, locators=locators)

    assert metadata.sources == {"title": "locator", "date": "locator", "author": "locator"}
    assert (metadata.title, metadata.date, metadata.author) == ("A flood", "2024-05-06", "Ann Lee")


def test_title_is_found_again_among_blocks_for_what_stands_near_it():
    """Forums put their own name into the h1, and the thread's title into something else."""
    html = (
        "<title>Rust and iron</title><h1>Talk</h1>"
        + "<p>x</p>" * 20
        + "<div>“Rust and iron”</div><p>by Ann Lee, 6 May 2024"
    )

    metadata = found(html)

    assert (metadata.author, metadata.date) == ("Ann Lee", "2024-05-06")


def test_page_without_scripts_declares_what_its_noscript_holds():
    inner = (
        "<a href=/x>link</a><p itemprop=author>Ann Lee</p><time datetime=2024-05-06></time>"
        + "<p>text of a post</p>" * 9
    )

    page = parsed(f"<p>Loading</p><noscript>{inner}</noscript>")

    assert metadata_of(page, None).author == "Ann Lee"
    assert page.declared.times == (("2024-05-06", ""),)
    assert page.links == ("/x",)


@table("metadata/written_days")
def test_day_is_read_as_people_write_it(text, day):
    assert written_day(text) == day


@table("metadata/declared_days")
def test_declared_day_keeps_its_time(value, day):
    assert declared_day(value) == day


@table("metadata/bylines")
def test_byline_gives_a_name_or_nothing(text, name, *, is_marked):
    assert byline_name(text, is_marked=is_marked) == name


def test_json_that_is_none_is_passed_over():
    assert things_of(["{", "[" * 100_000, '{"a": [{"b": 1}, 2]}', "5"]) == [{"a": [{"b": 1}, 2]}, {"b": 1}]


def test_days_of_scripts_are_bounded():
    assert len(parsed("<script>" + "publishDate='2024-05-06';" * 20_000 + "</script>").declared.days) == 30


def test_declarations_are_bounded():
    big = json_ld({"x": "y" * 300_000})
    odd = meta("c", "d" * 2_000) + "<meta content=x><meta name=e content>"
    html = f"<head>{odd}{big}{big}{meta('a', 'b') * 300}</head>" + "<time>x</time>" * 90

    declared = parsed(html).declared

    assert (len(declared.json_ld), declared.metas, len(declared.times)) == (1, (("a", "b"),) * 200, 30)


@settings(max_examples=60, deadline=None)
@given(anything, st.none() | st.text(max_size=30))
def test_metadata_of_anything_is_known_with_its_source_or_not_at_all(html, url):
    page = parsed(html)

    metadata = metadata_of(page, url)

    values = {"title": metadata.title, "date": metadata.date, "author": metadata.author}
    assert {name for name, value in values.items() if value} == set(metadata.sources)
    assert {str(clue.field) for clue in evidence_of(page, url)} == set(metadata.sources)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda v: st.lists(v) | st.dictionaries(
    st.sampled_from(["@type", "@id", "name", "author", "datePublished", "@graph"]), v), max_leaves=20))  # fmt: skip
def test_json_ld_of_any_shape_is_harmless(value):
    metadata_of(parsed(json_ld(value)), URL)


def test_names_of_odd_shapes_are_none_and_each_is_given_once():
    odd = [{"name": ["Ann", "A."]}, {"name": [1]}, {"@id": "#b"}, [["Ann"]], 5]

    assert [names_of(value, [{"@id": "#a", "name": "Bo"}]) for value in odd] == [["Ann"], [], [], [], []]
    assert declared_names(["by Ann", "Ann", "", "ann@a.example", "x" * 2_000, "y" * 200]) == "Ann"
    assert not any(SiteNames([], url).has("The News") for url in (None, "https://[", "mailto:a", "http://localhost/x"))
