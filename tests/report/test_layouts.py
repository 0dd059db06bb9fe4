"""The sections about layouts, alarms and layers in the shadow, read back with a parser."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.report.charts import heights
from scrapy_dedup.report.values import ReportLocator
from tests.report.builders import (
    a_full_report,
    a_large_report,
    a_layout,
    a_report,
    a_sample,
    a_shadowed_layer,
    a_site,
    a_template,
    an_alarm,
    kept,
    removed,
    shadowed_pages,
)
from tests.report.reading import read, shape_of, texts


def test_alarms_come_before_everything_else_and_what_says_nothing_is_left_out() -> None:
    tree = read(a_full_report())

    assert texts(tree, "h2")[:2] == ["1 open alarm", "What the crawl found"]
    assert texts(tree, ".cause") == ["content root lost on 9 of 10 pages since 14:02"]
    assert texts(tree, ".alarms li .meta") == ["shop.example, layout 05b8c1d2e3f40718, raised 2026-03-01 12:00 UTC"]
    assert read(a_report()).css(".alarms, .layout, .shadow") == []


def test_a_layout_shows_its_share_its_template_and_its_urls() -> None:
    tree = read(a_report(layouts=(a_site(),)))

    first, rest = tree.css(".layout")

    assert texts(tree, ".site > .meta") == ["2 layouts, 500 pages"]
    assert " ".join(first.css("h4")[0].text().split()) == "Article 05b8c1d2e3f40718 live"
    assert "440 pages · 88 %" in " ".join(first.css(".figures")[0].text().split())
    assert "Template version 3, confidence 0.94, learned from 60 pages: at least as good" in first.text()
    assert "/notes/[^/]+" in first.text()
    assert [link.attributes["href"] for link in first.css(".examples a")][1] == "https://shop.example/notes/oolong"
    assert " ".join(rest.css("h4")[0].text().split()) == "Page rest nothing learned"
    assert rest.css("details") == []


def test_what_is_left_out_is_told_with_evidence_and_example() -> None:
    tree = read(a_report(layouts=(a_site(a_layout()),)))

    assert texts(tree, ".layout summary") == ["How its pages are cut: 2 things left out"]
    assert texts(tree, ".layout .pane:last-child li:first-child > *") == [
        "nav.menu",
        "Home",
        "is navigation by its name, on 44 of 44 pages",
    ]
    assert texts(tree, ".layout h5") == ["Content", "Title, date, author", "Left out"]


def test_many_layouts_alarms_and_rules_are_cut_and_counted() -> None:
    tree = read(a_large_report())

    assert len(tree.css(".site")) == 12
    assert len(tree.css(".site:first-of-type .layout")) == 12
    assert texts(tree, ".site:first-of-type > .more") == ["… and 78 more layouts"]
    assert texts(tree, ".alarms > .more") == ["… and 20 more alarms"]
    assert "… and 380 more" in texts(tree, ".layout .more")
    assert texts(tree, ".shadowed > .more") == ["… and 30 more pages"]
    assert len(tree.css(".shadowed .sample")) == 10


def test_what_would_go_is_marked_as_still_there() -> None:
    sample = a_sample(blocks=(removed("Menu"), kept("Steep for two minutes."), *[removed("Entry", "a")] * 6))

    tree = read(a_report(samples=(), shadowed=(a_shadowed_layer(samples=(sample,)),)))

    assert tree.css(".shadow del") == []
    assert texts(tree, ".shadow .reason")[0] == "Would go: boilerplate · repeated block · on 39 of 40 pages"
    assert texts(tree, ".shadow summary") == ["2 more blocks"]
    assert "nothing shown here was removed" in texts(tree, ".shadow .lead")[0]
    assert "7 of 8 blocks would be removed" in texts(tree, ".shadow .sample .meta")[1]
    assert texts(tree, ".shadowed > .meta") == ["It found: blocks 320 · characters 41,000 · pages 40"]
    whole = shadowed_pages(("https://shop.example/tea?print=1", "would be dropped: canonical link"))
    listed = texts(read(a_report(shadowed=(whole,))), ".shadowed li")
    assert listed == ["https://shop.example/tea?print=1would be dropped: canonical link"]


def test_trend_draws_a_column_for_each_of_the_last_runs_if_there_are_several() -> None:
    columns = [
        len(read(a_report(layouts=(a_site(a_layout(pages_by_run=(1,) * number)),))).css(".trend .kept"))
        for number in (0, 1, 2, 30)
    ]

    assert columns == [0, 0, 2, 12]


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        pytest.param((10, 0, 20), [10, 0, 20], id="share-of-the-most"),
        pytest.param((1, 10_000), [2, 20], id="few-are-not-none"),
        pytest.param((0, 0), [0, 0], id="nothing"),
    ],
)
def test_columns_of_a_trend_are_as_high_as_their_numbers(numbers: tuple[int, ...], found: list[int]) -> None:
    assert heights(numbers) == found


@settings(deadline=None)  # the first example pays for the imports
@given(st.text())
def test_no_text_adds_an_element_or_an_attribute(text: str) -> None:
    """Whatever a page says, the report keeps the shape that harmless words give it."""
    assert shape(text) == shape("harmless words")


def shape(text: str) -> set[tuple[str, ...]]:
    text = "x" + text  # an empty text is drawn otherwise, rightly
    template = a_template(left_out=(ReportLocator(text, text, text),), reason=text)
    site = a_site(a_layout(template=template, kind=text, url_pattern=text))
    shadowed = (shadowed_pages((text, text)), a_shadowed_layer())
    return shape_of(read(a_report(alarms=(an_alarm(text),), layouts=(site,), shadowed=shadowed)))
