import pytest
from hypothesis import example, given

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.teacher.numbering import MOST_ELEMENTS, NO_ELEMENT, NumberedPage, numbered
from tests.core.builders import parsed
from tests.core.html_soup import anything
from tests.tables import table


def number(html: str) -> NumberedPage | None:
    page = parsed(html)
    return numbered(html, page)


def must(found: NumberedPage | None) -> NumberedPage:
    assert found is not None
    return found


def test_elements_are_numbered_in_document_order_from_the_body() -> None:
    found = must(number("<!doctype html><title>T</title><main><p>One <b>two</b></p><p>Three</p></main>"))

    assert found.tags == ("body", "main", "p", "b", "p")
    assert found.parents == (NO_ELEMENT, 0, 1, 2, 1)
    assert f'<p {found.attribute}="2">One <b {found.attribute}="3">two</b></p>' in found.html
    assert found.html.startswith("<!DOCTYPE html>")


def test_each_block_names_the_block_level_element_that_it_stands_in() -> None:
    found = must(number("<div>Before <p>A <a href=/>link</a></p> behind</div>Bare"))

    assert [found.tags[one] for one in found.of_blocks] == ["div", "p", "div", "body"]


@table("core/what_only_some_browsers_show_or_what_leads_away_is_left_out")
def test_what_only_some_browsers_show_or_what_leads_away_is_left_out(html: str, gone: str) -> None:
    assert gone not in must(number(html)).html


def test_a_page_that_has_such_attributes_gets_others() -> None:
    found = must(number('<p data-dedup-n0="7">Text</p>'))

    assert found.attribute == "data-dedup-n1"
    assert 'data-dedup-n0="7"' in found.html


@pytest.mark.parametrize(
    ("why", "html"),
    [
        ("a page of frames has no body", "<frameset><frame src=a></frameset>"),
        ("it has too many elements", "<b></b>" * (MOST_ELEMENTS + 1)),
        ("its text is that for readers without scripts", f"<p>a</p><noscript><p>{'word ' * 50}</p></noscript>"),
    ],
)
def test_a_page_that_cannot_be_shown_as_it_was_parsed_is_none(why: str, html: str) -> None:
    assert number(html) is None, why


@given(anything)
@example("<A0\x85>0")
@example("<A.>0")
@example("<A0\x0b0>0")
def test_any_page_is_numbered_as_it_was_parsed_or_not_at_all(html: str) -> None:
    page = parse_page(html)
    found = numbered(html, page) if isinstance(page, Page) else None
    if found is None or not isinstance(page, Page):
        return

    assert len(found.of_blocks) == len(page.blocks)
    assert len(found.tags) == len(found.parents)
    assert all(above < place for place, above in enumerate(found.parents))
    for block, element in zip(page.blocks, found.of_blocks, strict=True):
        # A path ends a tag's name at white space, of which Python knows more than HTML.
        tag = found.tags[element].split()[0]
        assert is_of(block.path.rpartition(">")[2].casefold(), tag.casefold())


def is_of(step: str, tag: str) -> bool:
    """Say whether a step is of a tag, which may have a dot in it."""
    return step == tag or step.startswith((f"{tag}#", f"{tag}."))
