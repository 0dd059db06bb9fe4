import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.tags import LONG_TAG, Role, Tag, element_key, known_tag, plain, read_tag
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


@table("pages/steps")
def test_step_keeps_what_stays_from_page_to_page(classes: str, element_id: str, key: str) -> None:
    assert element_key("div", classes, element_id) == key


@given(st.text(), st.text())
def test_step_is_one_word_and_short(classes: str, element_id: str) -> None:
    key = element_key("p", classes, element_id)

    assert len(key.split()) == 1
    assert len(key) <= 1 + 5 * 61


@given(st.lists(st.sampled_from(["a", "b", "c1", "is-x", "menu"]), max_size=6), st.randoms(use_true_random=False))
def test_order_of_classes_does_not_matter(classes: list[str], random: object) -> None:
    assert element_key("p", " ".join(classes), "") == element_key("p", " ".join(reversed(classes)), "")
