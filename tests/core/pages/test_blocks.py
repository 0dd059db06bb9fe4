import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.core.pages.blocks import Page, Unparsed, parse_page
from scrapy_dedup.core.pages.declared import Directives, read_directives
from scrapy_dedup.core.pages.fingerprints import block_fingerprint, fingerprint_of, fold, text_hash, to_digits, to_hex
from scrapy_dedup.core.pages.gather import with_formulas_as_text
from scrapy_dedup.core.pages.guard import ParseLimits, UnparsedReason
from scrapy_dedup.core.pages.render import render
from tests.core.builders import parsed
from tests.core.html_soup import anything, pages, soups
from tests.growth import assert_in_proportion
from tests.tables import table

PAGES = Path(__file__).parents[2] / "data" / "pages"
PROJECT = Path(__file__).parents[3]


def texts(html: str) -> list[str]:
    return [block.text for block in parsed(html).blocks]


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("name", sorted(path.stem for path in PAGES.glob("*.html")))
def test_page_is_read_as_its_neighbour_says(name):
    """tests/data/pages/NAME.expected.json: what a reader should see of NAME.html."""
    page = parsed((PAGES / f"{name}.html").read_text(encoding="utf-8"))
    expected: dict[str, Any] = json.loads((PAGES / f"{name}.expected.json").read_text(encoding="utf-8"))

    assert {
        "title": page.title,
        "lang": page.lang,
        "base": page.base,
        "canonicals": list(page.canonicals),
        "alternates": [list(pair) for pair in page.alternates],
        "blocks": [[block.path, block.text, block.link_chars] for block in page.blocks],
        "markdown": render(page, [True] * len(page.blocks), "markdown", "https://site.example/a/page.html").split("\n"),
    } == expected


@table("pages/blocks")
def test_blocks_of(html, expected):
    assert texts(html) == expected


def test_a_drawing_without_an_end_takes_no_text_along():
    assert with_formulas_as_text('<math><mi>x</mi></math><span aria-hidden="true">x<p>b') == "xx<p>b"


def test_ends_of_drawings_are_not_looked_for_where_several_have_none():
    """Else each of them is read to the end of the page: 150 kB took seven seconds."""
    drawing = '<math></math><span aria-hidden="true">x'

    assert with_formulas_as_text(drawing * 2 + drawing + "</span>") == "xx"
    assert with_formulas_as_text(drawing * 3 + drawing + "</span>") == 'xxx<span aria-hidden="true">x</span>'


@table("core/tags_need_not_match_where_svg_hides_text")
def test_tags_need_not_match_where_svg_hides_text(behind, expected):
    """A script in SVG holds text that is not escaped when it is serialised, as if it were raw there, too."""
    hidden = f"</script></svg>{behind}".replace("<", "&lt;").replace(">", "&gt;")

    assert texts(f"<svg><script>{hidden}") == expected


def test_deep_marks_and_structure_are_text():
    marks = "b i em strong code q s kbd var".split()
    page = parsed(
        "".join(f"<{mark}>" for mark in marks) + "a" + "".join(f"</{mark}>" for mark in reversed(marks)) + "b"
    )
    deep = parsed("<ul><li>" * 60 + "a<table><tr><td>b<td>c</table>")

    assert [piece if isinstance(piece, str) else piece.name for piece in page.blocks[0].pieces] == [
        *marks[:8],
        "a",
        *reversed(marks[:8]),
        "b",
    ]
    assert [block.text for block in deep.blocks] == ["a", "b", "c"]
    assert sum(1 for event in deep.walk.skeleton if event == ("ul", (), False)) == 20
    assert all(event.name in ("ul", "li") for event in deep.walk.skeleton if not isinstance(event, int))


class TestHead:
    def test_what_head_declares_is_kept_raw_and_in_order(self):
        page = parsed(
            "<html lang=de><head><title> A \n B </title><title>C</title><base href=' /x '><base href=y>"
            "<link rel='shortlink CANONICAL' href='?a'><link rel=canonical><link rel=canonical href=b>"
            "<link rel=alternate hreflang=' EN ' href=/en><link rel=alternate href=feed><link rel=next href=n></head>"
        )

        assert (page.title, page.lang, page.base) == ("A B", "de", " /x ")
        assert page.canonicals == ("?a", "b")
        assert page.alternates == (("en", "/en"),)


def test_links_are_read_where_they_are_wanted():
    html = "<p><a href=x>one</a></p>"

    page = parse_page(html, with_links=False)

    assert isinstance(page, Page)
    assert (page.links, parsed(html).links) == ((), ("x",))
    assert page.blocks == parsed(html).blocks


def test_a_page_beyond_its_limits_is_left_as_it_came():
    assert parse_page("x" * 11, ParseLimits(characters=10)) == Unparsed(UnparsedReason.TOO_LARGE)


@given(anything)
def test_any_text_parses(html):
    page = parsed(html)

    assert all(block.text.strip() and 0 <= block.link_chars <= len(block.text) for block in page.blocks)
    assert sorted(event for event in page.walk.skeleton if isinstance(event, int)) == list(range(len(page.blocks)))


@given(soups)
def test_start_and_end_tags_of_the_skeleton_match(html):
    still_open: list[str] = []
    for event in parsed(html).walk.skeleton:
        if isinstance(event, int) or event.name == "img":
            continue
        if event.closing:
            assert still_open.pop() == event.name
        else:
            still_open.append(event.name)

    assert still_open == []


@given(pages)
def test_no_text_is_lost_and_none_invented(html):
    tree = LexborHTMLParser(html)
    expected = tree.body.text() if tree.body else ""

    assert squeezed("".join(texts(html))) == squeezed(expected)


def test_parsing_does_not_depend_on_the_hash_seed():
    """Blocks, fingerprints, signatures of layouts and every output, in processes with different seeds."""
    program = (
        "import sys, pathlib\n"
        "from scrapy_dedup.core.pages.blocks import parse_page\n"
        "from scrapy_dedup.core.templates.layouts import skeleton_of\n"
        "from scrapy_dedup.core.pages.render import render\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).glob('*.html')):\n"
        "    page = parse_page(path.read_text('utf-8'))\n"
        "    outputs = [render(page, [True] * len(page.blocks), form) for form in ('markdown', 'text', 'html')]\n"
        "    print(ascii(page), ascii(outputs), skeleton_of(page).l1)\n"
    )

    def output(seed: str) -> str:
        command = [sys.executable, "-c", program, str(PAGES)]
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(PROJECT)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert output("1") == output("2") != ""


def test_text_for_readers_without_scripts_is_read_where_a_page_has_hardly_any_other():
    post = "<p>What a post says, at some length.</p>"

    assert texts(f"<p>Loading<noscript data-path='/'>{post * 2}</noscript>") == [
        "Loading",
        *["What a post says, at some length."] * 2,
    ]
    assert texts(f"{post * 2}<noscript>{post}</noscript>") == ["What a post says, at some length."] * 2


@pytest.mark.parametrize(
    ("make", "size"),
    [
        pytest.param(lambda n: f"<noscript>{'<div>' * n}x</noscript>", 17_000, id="deep"),
        pytest.param(lambda n: f"<noscript>{'<i>' * 30}{'<p></p>' * 2_900}x</noscript>" * n, 40, id="many"),
        pytest.param(lambda n: "<noscript>" * n, 50_000, id="open"),
        pytest.param(lambda n: "<noscript><img src=pixel alt=''></noscript>" * n, 1_200, id="pixels"),
    ],
)
def test_noscript_is_no_way_around_the_guard(make, size):
    page = parse_page(make(size))

    assert not isinstance(page, Page) or page.blocks == []
    assert_in_proportion(parse_page, make, size)


NONE, NOINDEX, NOFOLLOW = Directives(), Directives(noindex=True), Directives(nofollow=True)
BOTH = Directives(noindex=True, nofollow=True)


@table("core/page_says_it_in_its_head")
def test_page_says_it_in_its_head(metas, names):
    assert read_directives(metas).names == names


@table("core/server_says_it_in_a_header")
def test_server_says_it_in_a_header(headers, names):
    assert read_directives((), headers).names == names


def test_so_many_words_are_read():
    assert read_directives(["," * 20_000 + "noindex"]) == NONE


def test_head_and_header_add_up():
    assert read_directives(["nofollow"], ["noindex"]) == BOTH


@given(st.lists(st.text()), st.lists(st.text()))
def test_any_text_is_read(metas, headers):
    assert read_directives(metas, headers) == read_directives(metas[::-1], headers[::-1])


def test_page_has_its_robots_metas_in_order_and_those_of_one_crawler_are_not_among_them():
    page = parse_page(
        "<meta name=robots content=noindex><meta name=' ROBOTS ' content='nofollow'><meta name=robots>"
        "<meta name=googlebot content=none><body><meta name=robots content=none>"
    )

    assert isinstance(page, Page)
    assert page.robots == ("noindex", "nofollow", "")


def test_these_fingerprints_are_stored_and_may_not_change():
    """With other values everything that was learned is lost."""
    assert to_hex(block_fingerprint("body>p", "Some  text")) == "ee1485491b811489"
    assert text_hash("Some text").hex() == "f4059a637a026ee5278402fe34285c49"


@table("core/block_is_its_path_and_folded_text")
def test_block_is_its_path_and_folded_text(other_path, other_text, *, same):
    assert (block_fingerprint(other_path, other_text) == block_fingerprint("body>p", "Some text")) is same


@given(st.text(), st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_text_has_fingerprints(path, text):
    assert 0 <= block_fingerprint(path, text) < 2**64
    assert fingerprint_of(path, fold(text)) == block_fingerprint(path, text)
    assert text_hash(text) == text_hash(fold(text))


@pytest.mark.parametrize(
    ("signature", "digits"),
    [(0, "0" * 16), (1, "0" * 15 + "1"), (-1, "f" * 16), (-(2**63), "8" + "0" * 15)],
    ids=["none", "one", "minus-one", "smallest"],
)
def test_a_signed_number_has_sixteen_digits(signature, digits):
    assert to_digits(signature) == digits
