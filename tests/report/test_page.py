import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from scrapy_dedup.report.drawing import render_explanation, render_report
from scrapy_dedup.report.values import ReportLocator
from tests.report.builders import (
    a_changed_page,
    a_diff,
    a_domain,
    a_full_report,
    a_large_report,
    a_layer,
    a_layout,
    a_recrawl,
    a_repeated_block,
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
from tests.report.hostile import HOSTILE, a_hostile_ledger, a_hostile_page, a_hostile_report
from tests.report.reading import read, shape_of, texts


def first(tree: LexborHTMLParser, selector: str) -> LexborNode:
    return tree.css(selector)[0]


def attributes(tree: LexborHTMLParser, name: str) -> list[str]:
    return [value for node in tree.css(f"[{name}]") if (value := node.attributes.get(name))]


def test_report_begins_with_its_sum_and_goes_on_in_the_order_a_reader_asks():
    layers = (a_layer("url"), a_layer("canonical"), a_layer("boilerplate"))
    repeated = (a_repeated_block("Contact us", on_pages=39, of_pages=40, chars=10),)
    domains = (a_domain(chars_in=1000, chars_out=590),)

    tree = read(a_report(pages_fetched=236, domains=domains, layers=layers, repeated=repeated))

    assert texts(tree, "h1") == ["236 pages in, 41\u00a0% of the text was boilerplate"]
    assert texts(tree, "h2") == ["1 domain", "What each layer dropped", "Most repeated blocks", "Before and after"]
    assert texts(tree, "tbody th > bdi")[:3] == ["url", "canonical", "boilerplate"]
    assert texts(tree, "section:nth-of-type(3) tbody td") == ["39 of 40", "390"]
    assert {node.attributes.get("scope") for node in tree.css("thead th")} == {"col"}
    assert {node.attributes.get("scope") for node in tree.css("tbody th")} == {"row"}


def test_each_removed_block_carries_its_reason_twice_once_without_a_mouse():
    menu, other = tuple(removed(f"Entry {number}") for number in range(12)), removed("Login", "on 30 of 40 pages")
    folded = read(a_report(samples=(a_sample(blocks=(*menu, other)),)))
    tree = read(a_report(samples=(a_sample(blocks=(removed("Menu"), kept("Tea"), removed("Imprint"))),)))

    assert (len(folded.css(".cut")), texts(folded, ".cut summary")) == (2, ["8 more blocks"])
    assert texts(tree, ".cut del") == ["Menu", "Imprint"]
    assert len(tree.css('.cut p[title*="on 39 of 40 pages"]')) == 2
    assert all("on 39 of 40 pages" in reason for reason in texts(tree, ".reason"))
    assert texts(tree, ".scroll > p > bdi") == ["Tea"]


def test_cleaned_text_is_shown_as_it_was_handed_on():
    cleaned = "\n\n# Tea\n\n- green\n  - sencha\n"

    assert cleaned.strip("\n") in first(read(a_report(samples=(a_sample(cleaned=cleaned),))), "pre").text()


@pytest.mark.parametrize(
    ("draw", "most"),
    [
        pytest.param(lambda: render_report(a_hostile_report()), 200_000, id="report"),
        pytest.param(lambda: render_report(a_report(ledger=a_hostile_ledger())), 200_000, id="ledger"),
        pytest.param(lambda: render_explanation(a_hostile_page()), 5_000_000, id="explanation"),
    ],
)
def test_hostile_strings_stay_text_and_endless_ones_are_cut(draw, most):
    page = draw()
    tree = LexborHTMLParser(page)

    assert len(page) < most
    assert tree.css("script, img, iframe, object, form, base") == []
    assert (len(tree.css("style")), len(tree.css("title"))) == (1, 1)
    assert HOSTILE in "".join(texts(tree, "main"))
    assert all(link.startswith(("http", "data:,", "#")) for link in attributes(tree, "href"))
    assert not [name for node in tree.css("*") for name in node.attributes if name.startswith("on") or name == "style"]
    assert not {"\x00", "\x1b", "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041", "\ud800"} & set(page)
    for name in ("U+0000", "U+001B", "U+202E", "U+2066", "U+200B", "U+FEFF", "U+E0041", "U+D800"):
        assert f"⟨{name}⟩" in page
    page.encode()


def test_only_pages_are_linked_and_they_do_not_learn_from_where():
    tree = read(a_hostile_report())

    assert HOSTILE in first(tree, "title").text()
    assert attributes(tree, "src") == []
    assert [node.attributes["href"] for node in tree.css("link")] == ["data:,"]
    links = tree.css("a")
    assert {link.attributes["href"] for link in links} == {'http://evil.example/"onclick="window.hacked=1'}
    assert {link.attributes["rel"] for link in links} == {"noopener noreferrer"}


def test_policy_forbids_scripts_and_requests():
    policy = first(read(a_report()), "meta[http-equiv]").attributes["content"] or ""

    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_same_report_gives_the_same_bytes():
    assert render_report(a_large_report()) == render_report(a_large_report())


@settings(deadline=None)  # the first example pays for the imports
@given(st.text())
def test_no_text_adds_an_element_or_an_attribute(text):
    """Whatever a page says, the report keeps the shape that harmless words give it."""
    assert shape(text) == shape("harmless words")


def shape(text: str) -> set[tuple[str, ...]]:
    text = "x" + text  # an empty title, text or URL is drawn otherwise, rightly
    # Marks and lines come and go with the text.
    diff = a_diff(*(f"{sign}{line}" for sign in "-+" for line in text.split("\n")))
    changed = a_changed_page(title=text, change=text, url=text, diff=diff)
    sample = a_sample(title=text, url=text, cleaned=text, blocks=(removed(text),))
    template = a_template(left_out=(ReportLocator(text, text, text),), reason=text)
    site = a_site(a_layout(template=template, kind=text, url_pattern=text))
    shadowed = (shadowed_pages((text, text)), a_shadowed_layer())
    told = {"alarms": (an_alarm(text),), "layouts": (site,), "shadowed": shadowed}
    tree = read(a_report(samples=(sample,), recrawl=a_recrawl(diffs=(changed,)), **told))
    return {one for one in shape_of(tree) if one[0] != "mark"}


def test_alarms_come_before_everything_else_and_what_says_nothing_is_left_out():
    tree = read(a_full_report())

    assert texts(tree, "h2")[:2] == ["1 open alarm", "What the crawl found"]
    assert texts(tree, ".cause") == ["content root lost on 9 of 10 pages since 14:02"]
    assert texts(tree, ".alarms li .meta") == ["shop.example, layout 05b8c1d2e3f40718, raised 2026-03-01 12:00 UTC"]
    assert read(a_report()).css(".alarms, .layout, .shadow") == []


def test_many_layouts_alarms_and_rules_are_cut_and_counted():
    tree = read(a_large_report())

    assert len(tree.css(".site")) == 12
    assert len(tree.css(".site:first-of-type .layout")) == 12
    assert texts(tree, ".site:first-of-type > .more") == ["… and 78 more layouts"]
    assert texts(tree, ".alarms > .more") == ["… and 20 more alarms"]
    assert "… and 380 more" in texts(tree, ".layout .more")
    assert texts(tree, ".shadowed > .more") == ["… and 30 more pages"]
    assert len(tree.css(".shadowed .sample")) == 10
