import resource
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.core.pages.blocks import Page, Unparsed, parse_page
from scrapy_dedup.core.pages.guard import ParseLimits, UnparsedReason, refuse, survey
from scrapy_dedup.core.pages.render import render
from tests.core.html_soup import anything
from tests.growth import cpu_seconds
from tests.tables import table

PROJECT = Path(__file__).parents[3]


def numbered(form: str, times: int) -> str:
    return "".join(form.replace("#", str(number)) for number in range(times))


def attributes(count: int, form: str = "a#=1 ") -> str:
    return numbered(form, count)


REFUSED: dict[str, tuple[Callable[[], str], UnparsedReason]] = {
    "10 MB of text": (lambda: "x" * 10_000_000, UnparsedReason.TOO_LARGE),
    "1 million empty divs": (lambda: "<div></div>" * 1_000_000, UnparsedReason.TOO_LARGE),
    "8 MB of <": (lambda: "<" * 8_000_000, UnparsedReason.TOO_MANY_ELEMENTS),
    "1 million br": (lambda: "<br>" * 1_000_000, UnparsedReason.TOO_MANY_ELEMENTS),
    "400,000 paragraphs": (lambda: "<p>x" * 400_000, UnparsedReason.TOO_MANY_ELEMENTS),
    "100,000 nested elements": (lambda: "<div>" * 100_000, UnparsedReason.TOO_DEEP),
    "nested, with end tags that close nothing": (lambda: "<div></b>" * 75_000, UnparsedReason.TOO_DEEP),
    "nested, with end tags in comments": (lambda: "<div><!--</div>-->" * 50_000, UnparsedReason.TOO_DEEP),
    "nested, with end tags in attributes": (lambda: "<div a='</div>'>" * 75_000, UnparsedReason.TOO_DEEP),
    "nested, with end tags in scripts": (lambda: "<div><script></div></script>" * 40_000, UnparsedReason.TOO_DEEP),
    "nested, with hidden script ends": (
        lambda: "<script><!--<script></script><div>--></script>" * 25_000,
        UnparsedReason.TOO_DEEP,
    ),
    "nested, with end tags out of scope": (lambda: "<div><object></div></object>" * 40_000, UnparsedReason.TOO_DEEP),
    "nested option groups": (lambda: "<optgroup>" * 75_000, UnparsedReason.TOO_DEEP),
    "nested ruby texts": (lambda: "<rt>" * 75_000, UnparsedReason.TOO_DEEP),
    "nested in svg": (lambda: "<svg>" + "<input>" * 75_000, UnparsedReason.TOO_DEEP),
    "nested in svg styles": (lambda: "<svg><style>" + "<g></style>" * 75_000, UnparsedReason.TOO_DEEP),
    "nested behind svg": (lambda: "<svg><div>" + "<x/>" * 75_000, UnparsedReason.TOO_DEEP),
    "nested in CDATA": (lambda: "<svg><![CDATA[x>" + "<g>" * 75_000, UnparsedReason.TOO_DEEP),
    "nested headings left open": (lambda: "<h1><h1></h1><optgroup></h1>" * 30_000, UnparsedReason.TOO_DEEP),
    "nested tables": (lambda: "<table><tr><td>" * 30_000, UnparsedReason.TOO_DEEP),
    "nested lists": (lambda: "<ul><li>x" * 50_000, UnparsedReason.TOO_DEEP),
    "not so deep, but long": (lambda: "<div>" * 10_000 + "<p>x</p>" * 60_000, UnparsedReason.TOO_DEEP),
    "2,500 formatting elements": (lambda: numbered("<b id=#><p>", 2_500), UnparsedReason.TOO_DEEP),
    "formatting, told apart behind >": (lambda: numbered("<b x='>#'><p>", 2_500), UnparsedReason.TOO_DEEP),
    "formatting, with ends in comments": (lambda: numbered("<b id=#><p><!--</b>-->", 2_500), UnparsedReason.TOO_DEEP),
    "100,000 attributes": (lambda: f"<div {attributes(100_000)}>", UnparsedReason.TOO_MANY_ATTRIBUTES),
    "attributes with > in values": (
        lambda: "<div " + attributes(100_000, "a#='>' ") + ">",
        UnparsedReason.TOO_MANY_ATTRIBUTES,
    ),
    "attributes behind odd quotes": (
        lambda: f'<a b=\'="x>\'><div c="k> z" {attributes(100_000)}>',
        UnparsedReason.TOO_MANY_ATTRIBUTES,
    ),
    "attributes between slashes": (lambda: f"<div {attributes(75_000, 'a#/')}>", UnparsedReason.TOO_MANY_ATTRIBUTES),
    "attributes of an end tag": (lambda: f"<p></p {attributes(75_000)}>", UnparsedReason.TOO_MANY_ATTRIBUTES),
    "many tags with many attributes": (
        lambda: f"<div {attributes(7_000)}></div>" * 90,
        UnparsedReason.TOO_MANY_ATTRIBUTES,
    ),
    "many tags with names of their own": (
        lambda: numbered("<p a#=1 b#=1 c#=1 d#=1>x</p>", 15_000),
        UnparsedReason.TOO_MANY_ATTRIBUTES,
    ),
    "names of their own, with > in values": (
        lambda: "<p a='>'>" + "".join(f"<p {attributes(100, f'a{one}_#=1 ')}>" for one in range(500)),
        UnparsedReason.TOO_MANY_ATTRIBUTES,
    ),
    "elements with names of their own": (lambda: numbered("<x#></x#>", 60_000), UnparsedReason.TOO_MANY_ATTRIBUTES),
    "500,000 attributes": (lambda: f"<p {attributes(100)}>x</p>" * 5_000, UnparsedReason.TOO_MANY_ATTRIBUTES),
    "attributes merged into body": (lambda: numbered("<body a#>", 60_000), UnparsedReason.TOO_MANY_ATTRIBUTES),
}

# Their full size, divided by a number: as large as they may be, or a little smaller.
PARSED: dict[str, Callable[[int], str]] = {
    "15,000 nested elements": lambda part: "<div>" * (15_000 // part) + "x",
    "7,900 nested lists": lambda part: "<ul><li>x" * (7_900 // part),
    "15,000 nested quotes": lambda part: "<blockquote>x" * (15_000 // part),
    "nested forms": lambda part: "<form>" * (15_000 // part) + "x",
    "nested tables without cells": lambda part: "<table>" * (15_000 // part) + "x",
    "nested selects": lambda part: "<select>" * (15_000 // part) + "x",
    "nested foreign objects": lambda part: "<svg><foreignObject><p>" * (5_000 // part) + "x",
    "15,000 attributes": lambda part: f"<div {attributes(15_000 // part)}>x",
    "formatting": lambda part: numbered("<b id=#><p>", 1_400 // part),
    "same formatting": lambda part: "<b><i><u><p>" * (40_000 // part),
    "end tags out of order": lambda part: "<b><p></b>" * (60_000 // part),
    "unclosed quotes": lambda part: '<a href=">x' * (15_000 // part),
    "unclosed comment": lambda part: "<!--" * (75_000 // part),
    "8 MB of one text": lambda part: "word " * (1_575_000 // part),
    "8 MB of one word": lambda part: "x" * (7_975_000 // part),
    "8 MB of &": lambda part: "&" * (7_000_000 // part),
    "8 MB of &lt;": lambda part: "&lt;b&gt;" * (875_000 // part),
    "75,000 paragraphs": lambda part: "<p>x" * (155_000 // part),
    "155,000 br": lambda part: "x<br>" * (155_000 // part),
    "155,000 pictures": lambda part: "<p>x" + "<img src=a.png>" * (155_000 // part),
    "text that looks like Markdown": lambda part: "*[`_\\" * (1_000_000 // part),
    "colspan of a million": lambda _: "<table><tr><td colspan=1000000>x<td>y<tr><td>z</table>",
    "many colspans": lambda part: "<table>" + "<tr><td colspan=1000>x<td>y" * (20_000 // part),
    "many rowspans": lambda part: "<table><tr>" + "<td rowspan=9999>x" * 500 + "<tr><td>x" * (20_000 // part),
    "one long row": lambda part: "<table><tr>" + "<td>x" * (50_000 // part) + "<tr><td>y" * (50_000 // part),
    "one long cell": lambda part: (
        "<table><tr><td>" + "x" * (1_000_000 // part) + "<td>y" + "<tr><td>a<td>b" * (2_000 // part)
    ),
    "tables in tables": lambda part: "<table><tr><td>x<td>" * (5_000 // part),
    "lists as deep as they are drawn": lambda part: "<ul><li>x" * 40 + "<p>line</p>" * (60_000 // part),
    "quotes as deep as they are drawn": lambda part: "<blockquote>" * 60 + "<p>line</p>" * (75_000 // part),
    "link around 20,000 blocks": lambda part: f"<a href='/{'x' * 3_000}'>" + "<div>x</div>" * (20_000 // part),
    "marks around 20,000 blocks": lambda part: "<kbd>" * 5_000 + "<div>x</div>" * (20_000 // part),
    "links on a long base": lambda part: (
        f"<base href='/{'x' * 3_900}/'>" + numbered("<a href=#>y</a> ", 60_000 // part)
    ),
    "address of 7 MB": lambda part: f"<a href='{'x' * (7_000_000 // part)}'>y</a>",
    "address of 7 MB of >": lambda part: ('<a b="' + ">" * 1_000 + '">') * (5_000 // part),
    "class of 6 MB": lambda part: f"<div class='{'x ' * (3_000_000 // part)}'>y",
    "long paths": lambda part: "<div class='abc def ghi jkl'>" * 190 + "<p>x</p>" * (75_000 // part),
    "many paths": lambda part: numbered("<div class='k# x' id=q>y</div>", 75_000 // part),
    "options that are copied": lambda part: (
        "<select>" + "<selectedcontent></selectedcontent>" * (9_000 // part) + "<option selected>x" * (9_000 // part)
    ),
    "code": lambda part: "<pre>" + "line of code\n" * (500_000 // part),
    "fences": lambda part: "<pre>" + "`" * (1_000_000 // part) + "</pre><p><code>" + "`" * (1_000_000 // part),
    "frames": lambda part: "<frameset>" + "<frame src=x>" * (15_000 // part),
    "plain text": lambda part: "<plaintext>" + "<b>" * (15_000 // part),
    "formulas in plain text": lambda part: (
        "<p>x<plaintext>" + '<math></math><span aria-hidden="true">' * (7_000 // part)
    ),
    "templates": lambda part: "<template>" * (15_000 // part),
    "rules": lambda part: "x<hr>" * (155_000 // part),
    "texts that move out of a table": lambda part: "<table>" + "x<i></i>" * (75_000 // part),
}


@pytest.fixture(scope="module")
def reading_seconds() -> float:
    """Return what the largest text that is read takes of a processor."""
    largest = PARSED["8 MB of one text"](1)
    return min(cpu_seconds(lambda: parse_page(largest)) for _ in range(3))


@pytest.mark.parametrize("name", REFUSED)
def test_page_is_refused_before_it_costs(name, reading_seconds):
    make, reason = REFUSED[name]
    html = make()
    found: list[object] = []

    # One that is slow for want of a processor is measured once more.
    assert any(cpu_seconds(lambda: found.append(parse_page(html))) < 5 * reading_seconds for _ in range(2))
    assert found == [Unparsed(reason)] * len(found)


def test_pages_that_are_parsed_are_parsed_and_drawn():
    """In a process of its own, for what goes wrong here ends a process; `benchmarks.hostile` takes the time of each."""
    program = textwrap.dedent(
        """
        from tests.core.pages.test_guard import PARSED, draw
        for name, make in PARSED.items():
            print(name, flush=True)
            draw(make(10))
        """
    )

    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, f"{done.stdout.splitlines()[-1:]}: {done.stderr[-2_000:]}"
    assert done.stdout.splitlines() == list(PARSED)


def draw(html: str) -> None:
    """Parse and draw a page in all forms; what comes out, and what it takes of memory, is bounded."""
    page = parse_page(html)
    if isinstance(page, Page):
        for output in ("text", "html", "markdown"):
            drawn = render(page, [True] * len(page.blocks), output, "https://site.example/")
            assert len(drawn) < 10 * len(html) + 10_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2_000_000


@pytest.mark.parametrize(
    ("limits", "html", "reason"),
    [
        pytest.param(ParseLimits(characters=9), "x" * 9, None, id="as-large-as-allowed"),
        pytest.param(ParseLimits(characters=9), "x" * 10, UnparsedReason.TOO_LARGE, id="larger"),
        pytest.param(ParseLimits(elements=2), "<p></p>" * 2, None, id="as-many-as-allowed"),
        pytest.param(ParseLimits(elements=2), "<p></p>" * 3, UnparsedReason.TOO_MANY_ELEMENTS, id="more"),
        pytest.param(ParseLimits(depth=9), "<i>" * 9, None, id="as-deep-as-allowed"),
        pytest.param(ParseLimits(depth=9), "<i>" * 10, UnparsedReason.TOO_DEEP, id="deeper"),
        pytest.param(ParseLimits(depth=2), "<p>x</p>" * 10, None, id="long-but-flat"),
        pytest.param(
            ParseLimits(attributes=400), f"<p {attributes(400)}>{'x ' * 900}", None, id="as-many-attributes-as-allowed"
        ),
        pytest.param(ParseLimits(attributes=400), f"<p a='>'>{'x ' * 700}", None, id="long-text-that-may-be-one-tag"),
        pytest.param(
            ParseLimits(attributes=400),
            f"<p {attributes(401)}>",
            UnparsedReason.TOO_MANY_ATTRIBUTES,
            id="more-attributes",
        ),
    ],
)
def test_limits_are_what_they_say(limits, html, reason):
    assert refuse(html, limits) is reason


def test_a_page_that_grows_while_it_is_parsed_is_left():
    assert parse_page("<div><b id=1><b id=2><b id=3></div>" + "<p>x" * 40, ParseLimits(elements=60)) == Unparsed(
        UnparsedReason.TOO_MANY_ELEMENTS
    )


def depth_of(html: str) -> int:
    """Return how deep a parser nests, `html` and `body` left out."""
    tree = LexborHTMLParser(html, scripting=True)
    deepest = 0
    for node in tree.root.traverse() if tree.root else []:
        depth = 0
        while node := node.parent:
            depth += 1
        deepest = max(deepest, depth)
    return max(0, deepest - 1)


class TestSurvey:
    @table("pages/depths")
    def test_depth_of_usual_markup_is_exact(self, html, depth):
        assert survey(html).depth == depth

    @given(anything)
    def test_depth_is_a_bound(self, html):
        """Elements that a parser adds are few: `tbody` and `tr` in each table, formatting in each block."""
        found = survey(html)

        assert depth_of(html) <= 4 * found.depth + found.depth * found.formatting + 3

    @table("core/formatting_that_can_stay_open")
    def test_formatting_that_can_stay_open(self, html, formatting):
        assert survey(html).formatting == formatting
