import pytest

from scrapy_dedup.core.tags import LONG_TAG, Role, Tag, known_tag, plain, read_tag
from tests.tables import table


@pytest.mark.parametrize(
    ("source", "role", "tag"),
    [
        ('div class="a"', Role.BLOCK, Tag("div")),
        ("/div", Role.BLOCK_END, Tag("div", (), closing=True)),
        ("x-card", Role.BLOCK, Tag("x-card")),
        ("hr", Role.VOID, Tag("hr")),
        ("br", Role.BREAK, Tag("br")),
        ("span", Role.PASS, Tag("span")),
        ("/span", Role.PASS, Tag("span", (), closing=True)),
        ('a href="x?a=1&amp;b" rel="n"', Role.MARK, Tag("a", (("href", "x?a=1&b"),))),
        ("/a", Role.MARK_END, Tag("a", (), closing=True)),
        ('img alt="&quot;b&quot;" src="i"', Role.IMAGE, Tag("img", (("src", "i"), ("alt", '"b"')))),
        ("img alt=b", Role.PASS, Tag("img")),
        ('img src=" DATA:image/gif,x" alt="b"', Role.PASS, Tag("img", (("src", " DATA:image/gif,x"), ("alt", "b")))),
        ("svg", Role.UNSEEN, Tag("svg")),
        ("/svg", Role.PASS, Tag("svg", (), closing=True)),
        ("script", Role.UNSEEN, Tag("script")),
        ("xmp", Role.LITERAL, Tag("xmp")),
        ("!--", Role.PASS, Tag("")),
        ("?php", Role.PASS, Tag("")),
        ("", Role.PASS, Tag("")),
        ('td colspan="3" rowspan="2"', Role.BLOCK, Tag("td", (("colspan", "3"), ("rowspan", "2")))),
        ('td colspan="1000000" rowspan="1"', Role.BLOCK, Tag("td", (("colspan", "50"),))),
        ('td colspan="-1"', Role.BLOCK, Tag("td")),
        ('td colspan="²"', Role.BLOCK, Tag("td")),
        ('td colspan="99999999999"', Role.BLOCK, Tag("td")),
        ('ol start="0"', Role.BLOCK, Tag("ol", (("start", "0"),))),
        ('code class="hljs language-c++"', Role.MARK, Tag("code", (("class", "language-c++"),))),
        ('code class="literal"', Role.MARK, Tag("code")),
        ('a x="1" big"="" href="y"', Role.MARK, Tag("a", (("href", "y"),))),
    ],
)
def test_tag_means(source: str, role: Role, tag: Tag) -> None:
    token = read_tag(source)

    assert (token.role, token.tag) == (role, tag)
    assert known_tag(source) == token


def test_step_of_a_path_is_made_of_class_and_id() -> None:
    assert read_tag('div class="menu x1" id="a&amp;b"').step == "div#a&b.menu.x0"
    assert read_tag("span").step == ""


@table("pages/languages_of_code")
def test_language_of_code(classes: str, language: str) -> None:
    assert read_tag(f'div class="{classes}"').language == language


def test_long_tags_are_read_but_not_remembered() -> None:
    assert read_tag(f'img src="{"x" * LONG_TAG}"').role is Role.IMAGE


@pytest.mark.parametrize(
    ("source", "text"),
    [("a &amp; b", "a & b"), ("&amp;lt;&lt;&gt;&quot;&nbsp;", '&lt;<>"\xa0'), ("&copy; &", "&copy; &"), ("x", "x")],
)
def test_five_characters_are_escaped_in_serialised_text(source: str, text: str) -> None:
    assert plain(source) == text
