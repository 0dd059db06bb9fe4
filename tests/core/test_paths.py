from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.paths import element_key
from tests.tables import table


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
