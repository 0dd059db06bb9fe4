"""The sections about layouts, alarms and layers in the shadow, read back with a parser."""

from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.report.values import ReportLocator
from tests.report.builders import (
    a_full_report,
    a_large_report,
    a_layout,
    a_report,
    a_shadowed_layer,
    a_site,
    a_template,
    an_alarm,
    shadowed_pages,
)
from tests.report.reading import read, shape_of, texts


def test_alarms_come_before_everything_else_and_what_says_nothing_is_left_out() -> None:
    tree = read(a_full_report())

    assert texts(tree, "h2")[:2] == ["1 open alarm", "What the crawl found"]
    assert texts(tree, ".cause") == ["content root lost on 9 of 10 pages since 14:02"]
    assert texts(tree, ".alarms li .meta") == ["shop.example, layout 05b8c1d2e3f40718, raised 2026-03-01 12:00 UTC"]
    assert read(a_report()).css(".alarms, .layout, .shadow") == []


def test_many_layouts_alarms_and_rules_are_cut_and_counted() -> None:
    tree = read(a_large_report())

    assert len(tree.css(".site")) == 12
    assert len(tree.css(".site:first-of-type .layout")) == 12
    assert texts(tree, ".site:first-of-type > .more") == ["… and 78 more layouts"]
    assert texts(tree, ".alarms > .more") == ["… and 20 more alarms"]
    assert "… and 380 more" in texts(tree, ".layout .more")
    assert texts(tree, ".shadowed > .more") == ["… and 30 more pages"]
    assert len(tree.css(".shadowed .sample")) == 10


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
