import copy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.teacher import MOST_ELEMENTS, NO_ELEMENT, Flag, NumberedPage, Snapshot, SnapshotError, numbered
from tests.core.builders import parsed
from tests.core.html_soup import anything
from tests.core.snapshots import Recorded, recorded
from tests.tables import table

ANSWER = recorded("article").answer


def changed(name: str, value: object) -> dict[str, Any]:
    return ANSWER | {name: value}


def with_row(name: str, place: int, value: object) -> dict[str, Any]:
    rows = copy.deepcopy(ANSWER[name])
    rows[0][place] = value
    return changed(name, rows)


def test_each_element_of_the_page_that_came_is_seen_once_in_its_place_with_its_type() -> None:
    page = recorded("article")
    heading = page.snapshot.elements[page.numbered.tags.index("h1")]

    assert set(page.snapshot.elements) == set(range(len(page.numbered.tags)))
    assert (page.snapshot.elements[0].box.width, page.snapshot.width, page.snapshot.js_share) == (1366, 1366, 0)
    assert (heading.font_size, heading.weight, heading.box.width) == (32, 700, 760)


@table("core/what_hides_or_lifts_a_text_is_told")
def test_what_hides_or_lifts_a_text_is_told(words: str, flags: list[str]) -> None:
    page = recorded("article")
    place = next(place for place, block in enumerate(page.page.blocks) if block.text == words)
    number = page.numbered.of_blocks[place]
    runs = [
        run for run in page.snapshot.runs if page.snapshot.elements[number].box and _is_in(page, run.number, number)
    ]

    assert runs
    assert all(run.flags & Flag[flag] for run in runs for flag in flags)


def _is_in(page: Recorded, number: int, block: int) -> bool:
    while number not in (NO_ELEMENT, block):
        number = page.numbered.parents[number]
    return number == block


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="nothing"),
        pytest.param([], id="list"),
        pytest.param({}, id="empty"),
        pytest.param(changed("version", 2), id="other-version"),
        pytest.param(changed("elements", "a"), id="no-rows"),
        pytest.param(changed("elements", [1]), id="row-is-no-list"),
        pytest.param(changed("runs", [[1, 2]]), id="short-row"),
        pytest.param(changed("runs", [[0] * 8 + [1]] * (MOST_ELEMENTS + 1)), id="too-many-rows"),
        pytest.param(changed("width", 1.5), id="fraction"),
        pytest.param(changed("height", True), id="boolean"),
        pytest.param(changed("height", -1), id="negative"),
        pytest.param(changed("css_chars", "many"), id="words"),
        pytest.param(with_row("elements", 0, MOST_ELEMENTS + 1), id="number-too-large"),
        pytest.param(with_row("elements", 1, 10**9), id="far-away"),
        pytest.param(with_row("elements", 3, -1), id="negative-width"),
        pytest.param(with_row("runs", 0, -2), id="no-such-number"),
        pytest.param(with_row("runs", 5, 1 << 13), id="unknown-flag"),
        pytest.param(with_row("runs", 8, 0), id="run-without-text"),
        pytest.param(with_row("runs", 6, {"toString": "x"}), id="object"),
    ],
)
def test_what_a_hostile_page_answers_is_refused(answer: object) -> None:
    with pytest.raises(SnapshotError):
        Snapshot.from_json(answer)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*ANSWER, "other"]), inner, max_size=9),
    max_leaves=20,
)


@given(JSON, st.sampled_from(sorted(ANSWER)))
def test_any_answer_is_read_or_refused(value: object, name: str) -> None:
    try:
        found = Snapshot.from_json(changed(name, value))
    except SnapshotError:
        return

    assert isinstance(found, Snapshot)


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
