from scrapy_dedup.core.boilerplate.selectors import GENERIC_SELECTORS
from scrapy_dedup.core.pages.marking import check_selector


def test_each_can_be_used_and_has_its_reason() -> None:
    for one in GENERIC_SELECTORS:
        check_selector(one.selector)
        assert one.reason


def test_none_names_the_elements_of_content() -> None:
    parts = {part.strip() for one in GENERIC_SELECTORS for part in one.selector.split(",")}

    assert not parts & {"main", "article", "body", "section", "div", "*"}
    assert len(GENERIC_SELECTORS) == 34
