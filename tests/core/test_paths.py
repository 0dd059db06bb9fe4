import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.paths import element_key


@pytest.mark.parametrize(
    ("classes", "element_id", "key"),
    [
        pytest.param("", "", "div", id="tag-alone"),
        pytest.param("b a", "main", "div#main.a.b", id="sorted"),
        pytest.param("a a", "", "div.a", id="once"),
        pytest.param("col-12 menu2", "", "div.col-0.menu0", id="digits-are-masked"),
        pytest.param("x", "post-12", "div.x", id="numbered-id-is-left-out"),
        pytest.param("x", "a  b", "div#a_b.x", id="id-is-one-word"),
        pytest.param("css-1x2y3z sc-aBcD svelte-abc123 keep", "", "div.keep", id="made-by-build-tools"),
        pytest.param("is-open has-menu js-x active odd first keep", "", "div.keep", id="state"),
        pytest.param("post-12 page-item-3 menu-item-77 category-9 keep", "", "div.keep", id="single-posts"),
        pytest.param("a1b2c3d4 keep", "", "div.keep", id="hash"),
        pytest.param("e d c b a", "", "div.a.b.c.d", id="four-at-most"),
        pytest.param("x" * 61, "y" * 61, "div", id="too-long"),
    ],
)
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
