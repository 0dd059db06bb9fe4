import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.pages.tags import LONG_TAG, Role, Tag, element_key, known_tag, plain, read_tag
from tests.tables import table


@table("core/tag_means")
def test_tag_means(source: str, role: str, name: str, attributes: dict[str, str], *, closing: bool) -> None:
    token = read_tag(source)

    assert (token.role, token.tag) == (Role[role], Tag(name, tuple(attributes.items()), closing=closing))
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
