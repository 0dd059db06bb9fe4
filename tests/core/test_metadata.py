import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.core.locators import Field, Locators
from scrapy_dedup.core.metadata import Metadata, evidence_of, metadata_of
from scrapy_dedup.core.metadata_dates import declared_day, written_day
from scrapy_dedup.core.metadata_json_ld import things_of
from scrapy_dedup.core.metadata_people import byline_name
from tests.core.builders import parsed
from tests.core.html_soup import anything

URL = "https://www.the-news.example/a/flood"


def found(html: str, url: str | None = URL, locators: Locators | None = None) -> Metadata:
    return metadata_of(parsed(html), url, locators)


def json_ld(value: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


def meta(name: str, content: str) -> str:
    return f'<meta property="{name}" content="{content}">'


@pytest.mark.parametrize(
    ("html", "title", "source"),
    [
        pytest.param("<title>A flood | The News</title><h1>A flood</h1>", "A flood", "h1", id="heading-in-title"),
        pytest.param("<title>A flood - The News</title>", "A flood", "title", id="site-named-by-host"),
        pytest.param("<title>The News: all - A flood</title>", "A flood", "title", id="name-and-a-word-more"),
        pytest.param("<title>The News | A flood</title>", "A flood", "title", id="site-first"),
        pytest.param("<title>A flood | Some Paper</title>", "A flood", "title", id="bar-before-unknown-name"),
        pytest.param("<title>A flood - day two</title>", "A flood - day two", "title", id="dash-within"),
        pytest.param(
            meta("og:site_name", "Some Paper") + "<title>A flood - Some Paper</title>",
            "A flood",
            "title",
            id="site-declared",
        ),
        pytest.param(
            json_ld({"@type": "WebSite", "name": "Some Paper"}) + "<title>A flood - Some Paper</title>",
            "A flood",
            "title",
            id="site-in-json-ld",
        ),
        pytest.param(
            meta("og:title", "A flood") + "<title>A flood in pictures</title><h1>We were there</h1>",
            "A flood",
            "og:title",
            id="shared-before-title-element",
        ),
        pytest.param("<title>A flood</title><h1>The News</h1><h1>A flood¶</h1>", "A flood", "h1", id="second-heading"),
        pytest.param(
            "<title>Rust - The Book</title><h1>The Book</h1>", "Rust - The Book", "title", id="heading-is-site"
        ),
        pytest.param(
            "<title>Jobs in the north of Spain</title><h1>Jobs</h1>",
            "Jobs in the north of Spain",
            "title",
            id="heading-is-one-word-of-it",
        ),
        pytest.param("<h1>A flood</h1>", "A flood", "h1", id="single-heading"),
        pytest.param("<h1>A flood</h1><h1>A fire</h1>", None, None, id="two-headings"),
        pytest.param("<title> </title>", None, None, id="nothing"),
        pytest.param("<title>The News</title>", "The News", "title", id="site's-own-page"),
        pytest.param("<title>|</title>", "|", "title", id="only-a-sign"),
        pytest.param("<title>A flood</title><h1>¶</h1>", "A flood", "title", id="empty-heading"),
        pytest.param("<title>A flood</title><h1>★</h1>", "A flood", "title", id="heading-without-words"),
        pytest.param("<title>A - b | c</title><h1>a b</h1>", "a b", "h1", id="heading-across-parts"),
    ],
)
def test_title_is_without_the_sites_name(html: str, title: str | None, source: str | None) -> None:
    metadata = found(html)

    assert (metadata.title, metadata.sources.get("title")) == (title, source)


POSTING = {"@type": "BlogPosting", "datePublished": "2024-05-06T07:08:09+02:00"}


@pytest.mark.parametrize(
    ("html", "date", "source"),
    [
        pytest.param(json_ld(POSTING), "2024-05-06T07:08:09+02:00", "json-ld", id="json-ld"),
        pytest.param(
            json_ld([{"@type": "WebPage", "datePublished": "2020-01-01"}, {"@graph": [POSTING]}]),
            "2024-05-06T07:08:09+02:00",
            "json-ld",
            id="article-before-its-page",
        ),
        pytest.param(json_ld(POSTING | {"@type": [1, "BlogPosting"]}), POSTING["datePublished"], "json-ld", id="types"),
        pytest.param(json_ld({"datePublished": 2024}), None, None, id="json-ld-of-wrong-type"),
        pytest.param(meta("article:published_time", "2024-05-06"), "2024-05-06", "article:published_time", id="meta"),
        pytest.param(meta("article:published_time", "soon"), None, None, id="meta-without-a-day"),
        pytest.param(meta("date", "2024-05-06"), "2024-05-06", "date", id="any-day"),
        pytest.param(
            meta("date", "2024-05-06") + "<h1>A</h1><p>1 May 2020", "2020-05-01", "text", id="seen-before-any-day"
        ),
        pytest.param(
            '<p itemprop=datePublished content="2024-05-08">x<p itemprop=dateCreated>2024-05-07',
            "2024-05-07",
            "itemprop",
            id="first-of-marked",
        ),
        pytest.param('<time datetime="2024-05-06T01:02">May</time>', "2024-05-06T01:02:00", "time", id="time"),
        pytest.param("<p>x</p>" * 20 + "<div><time>6 May 2024</time> a", "2024-05-06", "time", id="time-as-text"),
        pytest.param('<time datetime="2024-05-06">Updated: May</time>', None, None, id="time-of-change"),
        pytest.param(
            "".join(f"<time datetime=2024-05-0{n}>x</time>" for n in (8, 7, 6, 5)), None, None, id="times-of-a-list"
        ),
        pytest.param(
            "".join(f"<time datetime=2024-05-0{n}>x</time>" for n in (5, 6, 7, 8)),
            "2024-05-05",
            "time",
            id="times-of-a-thread",
        ),
        pytest.param("<h1>A flood</h1><p>By Ann, 6 May 2024", "2024-05-06", "text", id="near-the-title"),
        pytest.param("<p>6.5.2024<h1>A flood</h1>", "2024-05-06", "text", id="before-the-title"),
        pytest.param(
            "<h1>A</h1><p>Updated 7 May 2024<p>6 May 2024", "2024-05-06", "text", id="published-before-updated"
        ),
        pytest.param("<h1>A</h1><p>Updated 7 May 2024", "2024-05-07", "text", id="updated-alone"),
        pytest.param(
            "<h1>A</h1><p>Updated on<p>7 May 2024<p>6 May 2024", "2024-05-06", "text", id="label-of-a-change-before"
        ),
        pytest.param(
            "<h1>A</h1><p class=last-updated>7 May 2024<p>6 May 2024", "2024-05-06", "text", id="place-of-changes"
        ),
        pytest.param(
            "<h1>A</h1><blockquote><p>8 May 2024</p></blockquote><p>6 May 2024",
            "2024-05-06",
            "text",
            id="not-a-quote's",
        ),
        pytest.param(
            "<h1>A</h1>" + "".join(f"<h2>A{n}</h2><p class=day>{n} May 2024" for n in (9, 8)),
            None,
            None,
            id="days-of-entries-in-equal-places",
        ),
        pytest.param("<p>6 May 2024<p>x", None, None, id="masthead-of-a-page-without-title"),
        pytest.param('<time class=updated datetime="2024-05-06">May</time>', None, None, id="time-of-change-by-class"),
        pytest.param(
            '<time class="published updated" datetime="2024-05-06">May</time>', "2024-05-06", "time", id="time-of-both"
        ),
        pytest.param(
            "<h1>A</h1><p>Posted on <time datetime=2024-05-08>8 May</time></p>"
            + "".join(f"<p><time datetime=2024-05-0{n}>{n} May</time>" for n in (7, 6, 5)),
            "2024-05-08",
            "time",
            id="told-published-among-times-of-a-list",
        ),
        pytest.param(meta("x:upload_date", "2024-05-06"), "2024-05-06", "x:upload_date", id="any-name-of-publication"),
        pytest.param(meta("last_publish_date", "2024-05-06"), None, None, id="last-is-no-first-publication"),
        pytest.param(
            "<p>x</p>" * 20 + "<p>Published 6 May 2024", "2024-05-06", "text", id="told-published-far-from-the-title"
        ),
        pytest.param("<body><p>x</p>" + meta("pubdate", "2024-05-06"), "2024-05-06", "pubdate", id="meta-in-body"),
        pytest.param(
            "<p>x</p><meta itemprop=publishdate content=2024-05-06>", None, None, id="itemprop-of-a-thing-in-body"
        ),
        pytest.param("<h1>A</h1><p>Joined: 7 May 2012", None, None, id="day-of-a-member"),
        pytest.param("<h1>A</h1>" + "".join(f"<p>{n} May 2024" for n in (9, 8, 7, 6)), None, None, id="days-of-a-list"),
        pytest.param("<p>x</p>" * 20 + "<p class=post-date>6 May 2024", "2024-05-06", "text", id="named-place"),
        pytest.param(
            "<p>x</p>" * 20 + "<p class=date>6 May 2024<p class=date>7 May 2024",
            None,
            None,
            id="named-places-of-a-list",
        ),
    ],
)
def test_date_is_declared_or_plainly_seen(html: str, date: str | None, source: str | None) -> None:
    metadata = found(html)

    assert (metadata.date, metadata.sources.get("date")) == (date, source)


@pytest.mark.parametrize(
    ("script", "date"),
    [
        pytest.param('{"publishDate": "2024-05-06T07:08:09Z"}', "2024-05-06T07:08:09+00:00", id="json"),
        pytest.param("var post_date = '2024-05-06'; x", "2024-05-06", id="variable"),
        pytest.param(r'"{\"publication_date\":\"2024-05-06\"}"', "2024-05-06", id="json-in-json"),
        pytest.param('{"publishDate":"2024-05-06","pubDate":"2024-05-06"}', "2024-05-06", id="twice-the-same"),
        pytest.param('{"publishDate":"2024-05-06","pubDate":"2024-05-07"}', None, id="contradiction"),
        pytest.param('{"lastPublishedDate":"2024-05-06"}', None, id="last"),
        pytest.param('{"planned_publish_date":"2024-05-06"}', None, id="planned"),
        pytest.param('{"publisher":"The News 2024-05-06"}', None, id="no-day"),
        pytest.param('{"publishDate":"2024-55-06"}', None, id="no-such-day"),
    ],
)
def test_day_that_scripts_are_told_is_believed_where_they_agree(script: str, date: str | None) -> None:
    metadata = found(f"<p>x</p><script>{script}</script>")

    assert (metadata.date, metadata.sources.get("date")) == (date, "script" if date else None)


def test_seen_day_stands_before_that_of_scripts_and_this_before_that_of_a_change() -> None:
    script = "<script>x = {publishDate: '2024-05-06'}</script>"

    assert found(f"<h1>A</h1><p>5 May 2024</p>{script}").date == "2024-05-05"
    assert found(f"<h1>A</h1><p>Updated: 7 May 2024</p>{script}").date == "2024-05-06"


def test_date_in_the_address_is_the_pages() -> None:
    metadata = found("<p>x", "https://a.example/2024/5/6/flood.html")

    assert (metadata.date, metadata.sources["date"]) == ("2024-05-06", "url")


@pytest.mark.parametrize(
    ("html", "author", "source"),
    [
        pytest.param(json_ld({"@type": "Article", "author": {"name": "Ann Lee"}}), "Ann Lee", "json-ld", id="json-ld"),
        pytest.param(json_ld({"author": [{"name": "Ann"}, "Bo"]}), "Ann, Bo", "json-ld", id="several"),
        pytest.param(
            json_ld([{"@type": "Article", "author": {"@id": "#a"}}, {"@id": "#a", "name": "Ann"}]),
            "Ann",
            "json-ld",
            id="reference",
        ),
        pytest.param(json_ld({"author": "https://a.example/ann"}), None, None, id="address-is-no-name"),
        pytest.param(meta("author", "Ann Lee"), "Ann Lee", "author", id="meta"),
        pytest.param(meta("author", "admin"), None, None, id="placeholder"),
        pytest.param(
            meta("twitter:label1", "Written by") + meta("twitter:data1", "Ann"), "Ann", "twitter:data1", id="label"
        ),
        pytest.param(meta("twitter:label1", "Price") + meta("twitter:data1", "5"), None, None, id="another-label"),
        pytest.param("<p itemprop=author>by <b itemprop=name>Ann</b>", "Ann", "itemprop", id="itemprop"),
        pytest.param("<p itemprop=datePublished>Ann", None, None, id="itemprop-of-a-day"),
        pytest.param("<a rel=author>Ann Lee</a>", "Ann Lee", "rel", id="rel"),
        pytest.param("<h1>A</h1><p>By Ann Lee on Monday", "Ann Lee", "byline", id="byline"),
        pytest.param("<h1>A</h1><p>by the river", None, None, id="sentence"),
        pytest.param("<h1>A</h1><p>Written by<p>ann", "ann", "byline", id="label-before-name"),
        pytest.param("<h1>A</h1><p class=author-name>Ann Lee | Editor", "Ann Lee", "byline", id="named-place"),
        pytest.param("<h1>A</h1><p>Photo by Ann Lee", None, None, id="photographer"),
        pytest.param("<h1>A</h1><p>ByAnn Lee", "Ann Lee", "byline", id="name-in-its-own-element"),
        pytest.param("<h1>A</h1><p>Bystanders say", None, None, id="word-that-begins-alike"),
        pytest.param("<h1>A</h1><p>Sort by Best Selling", None, None, id="order-of-things"),
        pytest.param("<h1>A</h1><p class=byline>March", None, None, id="month"),
        pytest.param(
            "<h1>A</h1><div class=comment><p class=author>Bo</div><p>by Ann Lee",
            "Ann Lee",
            "byline",
            id="not-a-comment's",
        ),
        pytest.param("<h1>A</h1><p>By Ann Lee<p>By Bo Ray", "Ann Lee", "byline", id="two-authors"),
        pytest.param(
            "<h1>A</h1>" + "".join(f"<h2>A</h2><p>By {n}" for n in ("Ann Lee", "Bo Ray")), None, None, id="entries"
        ),
        pytest.param(
            "<h1>A</h1><p>By Ann Lee<p>By Ann Lee<div><h2>A</h2><p>By Bo Ray</div>",
            "Ann Lee",
            "byline",
            id="name-elsewhere",
        ),
        pytest.param(
            "".join(f"<a rel=author>{n}</a>" for n in ("Ann", "Bo", "Cy", "Di")), None, None, id="rel-of-a-list"
        ),
        pytest.param(
            "<h1>A</h1>" + "".join(f"<p class=byline>{n}" for n in ("Ann", "Bo", "Cy", "Di")), None, None, id="list"
        ),
    ],
)
def test_author_is_declared_or_named_in_a_byline(html: str, author: str | None, source: str | None) -> None:
    metadata = found(html)

    assert (metadata.author, metadata.sources.get("author")) == (author, source)


def test_locators_stand_behind_declarations_and_before_what_is_seen() -> None:
    locators = Locators(
        ((Field.TITLE, "body>p.t"), (Field.DATE, "body>p.d"), (Field.AUTHOR, "body>p.a")),
    )
    html = "<h1>x</h1><h1>y</h1><p class=t>A flood<p class=d>6 May 2024<p class=a>Ann Lee"

    metadata = found(html, locators=locators)

    assert metadata.sources == {"title": "locator", "date": "locator", "author": "locator"}
    assert (metadata.title, metadata.date, metadata.author) == ("A flood", "2024-05-06", "Ann Lee")


def test_title_is_found_again_among_blocks_for_what_stands_near_it() -> None:
    """Forums put their own name into the h1, and the thread's title into something else."""
    html = (
        "<title>Rust and iron</title><h1>Talk</h1>"
        + "<p>x</p>" * 20
        + "<div>“Rust and iron”</div><p>by Ann Lee, 6 May 2024"
    )

    metadata = found(html)

    assert (metadata.author, metadata.date) == ("Ann Lee", "2024-05-06")


def test_page_without_scripts_declares_what_its_noscript_holds() -> None:
    inner = (
        "<a href=/x>link</a><p itemprop=author>Ann Lee</p><time datetime=2024-05-06></time>"
        + "<p>text of a post</p>" * 9
    )

    page = parsed(f"<p>Loading</p><noscript>{inner}</noscript>")

    assert metadata_of(page, None).author == "Ann Lee"
    assert page.declared.times == (("2024-05-06", ""),)
    assert page.links == ("/x",)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        pytest.param("May 6th, 2024", "2024-05-06", id="english"),
        pytest.param("on Friday, Sept. 6 2024 at 3pm", "2024-09-06", id="short-month"),
        pytest.param("6. Mai 2024", "2024-05-06", id="german"),
        pytest.param("6 de mayo de 2024", "2024-05-06", id="spanish"),
        pytest.param("1er février 2024", "2024-02-01", id="french"),
        pytest.param("6 мая 2024", "2024-05-06", id="russian"),
        pytest.param("2024年5月6日", "2024-05-06", id="japanese"),
        pytest.param("06.05.2024", "2024-05-06", id="dots"),
        pytest.param("2024/05/06", "2024-05-06", id="year-first"),
        pytest.param("06-May-2024", "2024-05-06", id="hyphens"),
        pytest.param("16/05/2024", "2024-05-16", id="day-first"),
        pytest.param("05/16/2024", "2024-05-16", id="month-first"),
        pytest.param("05/06/2024", None, id="either"),
        pytest.param("05/16/24 06:56 AM", "2024-05-16", id="short-year"),
        pytest.param("05/06/24", None, id="short-year-either"),
        pytest.param("open 24/7 in 2024", None, id="around-the-clock"),
        pytest.param("May 6, 20247 min read", "2024-05-06", id="minutes-behind-it"),
        pytest.param("May 6, 20247", None, id="number-behind-it"),
        pytest.param("06/06/2024", "2024-06-06", id="both-alike"),
        pytest.param("31 February 2024", None, id="no-such-day"),
        pytest.param("6 May 1850", None, id="history"),
        pytest.param("Version 2024.1", None, id="no-day"),
        pytest.param("2 of 3, 6 May 2024 and 7 May 2024", "2024-05-06", id="first-of-two"),
    ],
)
def test_day_is_read_as_people_write_it(text: str, day: str | None) -> None:
    assert written_day(text) == day


@pytest.mark.parametrize(
    ("value", "day"),
    [
        pytest.param("20240506", "2024-05-06", id="basic"),
        pytest.param("2024-05-06T07:08:09Z", "2024-05-06T07:08:09+00:00", id="time"),
        pytest.param("2024-05-06T99:08:09", "2024-05-06", id="wrong-time"),
        pytest.param("2024-13-06", None, id="wrong-month"),
        pytest.param("May 6, 2024", "2024-05-06", id="written"),
        pytest.param(None, None, id="none"),
        pytest.param("2" * 200, None, id="long"),
        pytest.param("1024-05-06", None, id="early"),
    ],
)
def test_declared_day_keeps_its_time(value: object, day: str | None) -> None:
    assert declared_day(value) == day


@pytest.mark.parametrize(
    ("text", "is_marked", "name"),
    [
        pytest.param("By Ann Lee", False, "Ann Lee", id="by"),
        pytest.param("von Ann Lee am 6. Mai", False, "Ann Lee", id="german"),
        pytest.param("Text by Ann Lee", False, "Ann Lee", id="one-word-before"),
        pytest.param("Edited by Ann Lee", False, None, id="another's-work"),
        pytest.param("Ann Lee · 6 May", True, "Ann Lee", id="marked"),
        pytest.param("Ann Lee", False, None, id="neither"),
        pytest.param("by " + "Ann " * 40, True, None, id="long"),
        pytest.param("one two three four five six seven", True, None, id="many-words"),
        pytest.param("3 replies", True, None, id="number"),
        pytest.param("by 5", False, None, id="nothing-left"),
    ],
)
def test_byline_gives_a_name_or_nothing(text: str, is_marked: bool, name: str | None) -> None:  # noqa: FBT001
    assert byline_name(text, is_marked=is_marked) == name


def test_json_that_is_none_is_passed_over() -> None:
    assert things_of(["{", "[" * 100_000, '{"a": [{"b": 1}, 2]}', "5"]) == [{"a": [{"b": 1}, 2]}, {"b": 1}]


def test_days_of_scripts_are_bounded() -> None:
    assert len(parsed("<script>" + "publishDate='2024-05-06';" * 20_000 + "</script>").declared.days) == 30


def test_declarations_are_bounded() -> None:
    big = json_ld({"x": "y" * 300_000})
    odd = meta("c", "d" * 2_000) + "<meta content=x><meta name=e content>"
    html = f"<head>{odd}{big}{big}{meta('a', 'b') * 300}</head>" + "<time>x</time>" * 90

    declared = parsed(html).declared

    assert (len(declared.json_ld), declared.metas, len(declared.times)) == (1, (("a", "b"),) * 200, 30)


@settings(max_examples=60, deadline=None)
@given(anything, st.none() | st.text(max_size=30))
def test_metadata_of_anything_is_known_with_its_source_or_not_at_all(html: str, url: str | None) -> None:
    page = parsed(html)

    metadata = metadata_of(page, url)

    values = {"title": metadata.title, "date": metadata.date, "author": metadata.author}
    assert {name for name, value in values.items() if value} == set(metadata.sources)
    assert {str(clue.field) for clue in evidence_of(page, url)} == set(metadata.sources)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda v: st.lists(v) | st.dictionaries(
    st.sampled_from(["@type", "@id", "name", "author", "datePublished", "@graph"]), v), max_leaves=20))  # fmt: skip
def test_json_ld_of_any_shape_is_harmless(value: object) -> None:
    metadata_of(parsed(json_ld(value)), URL)
