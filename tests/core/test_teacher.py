import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.teacher import (
    MOST_ELEMENTS,
    NO_ELEMENT,
    Box,
    Flag,
    NumberedPage,
    SeenElement,
    SeenPage,
    Snapshot,
    SnapshotError,
    TextRun,
    UnseenReason,
    looks_of,
    numbered,
    see,
    unseen_text,
    vision_of,
)
from tests.core.builders import parsed
from tests.core.html_soup import anything
from tests.growth import assert_in_proportion
from tests.tables import table

FOLDER = Path(__file__).parents[1] / "data" / "snapshots"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A page, and how it looked in a window of 1366 by 900 pixels."""

    html: str
    page: Page
    numbered: NumberedPage
    answer: dict[str, Any]
    snapshot: Snapshot


def recorded(name: str) -> Recorded:
    html = (FOLDER / f"{name}.html").read_text()
    answer = json.loads((FOLDER / f"{name}.json").read_text())
    page = parsed(html)
    shown = numbered(html, page)
    assert shown is not None
    return Recorded(html, page, shown, answer, Snapshot.from_json(answer))


ANSWER = recorded("article").answer


def changed(name: str, value: object) -> dict[str, Any]:
    return ANSWER | {name: value}


def with_row(name: str, place: int, value: object) -> dict[str, Any]:
    rows = copy.deepcopy(ANSWER[name])
    rows[0][place] = value
    return changed(name, rows)


def test_each_element_of_the_page_that_came_is_seen_once_in_its_place_with_its_type():
    page = recorded("article")
    heading = page.snapshot.elements[page.numbered.tags.index("h1")]

    assert set(page.snapshot.elements) == set(range(len(page.numbered.tags)))
    assert (page.snapshot.elements[0].box.width, page.snapshot.width, page.snapshot.js_share) == (1366, 1366, 0)
    assert (heading.font_size, heading.box.width) == (32, 760)


@table("core/what_hides_or_lifts_a_text_is_told")
def test_what_hides_or_lifts_a_text_is_told(words, flags):
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
def test_what_a_hostile_page_answers_is_refused(answer):
    with pytest.raises(SnapshotError):
        Snapshot.from_json(answer)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*ANSWER, "other"]), inner, max_size=9),
    max_leaves=20,
)


@given(JSON, st.sampled_from(sorted(ANSWER)))
def test_any_answer_is_read_or_refused(value, name):
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


def test_elements_are_numbered_in_document_order_from_the_body():
    found = must(number("<!doctype html><title>T</title><main><p>One <b>two</b></p><p>Three</p></main>"))

    assert found.tags == ("body", "main", "p", "b", "p")
    assert found.parents == (NO_ELEMENT, 0, 1, 2, 1)
    assert f'<p {found.attribute}="2">One <b {found.attribute}="3">two</b></p>' in found.html
    assert found.html.startswith("<!DOCTYPE html>")


def test_each_block_names_the_block_level_element_that_it_stands_in():
    found = must(number("<div>Before <p>A <a href=/>link</a></p> behind</div>Bare"))

    assert [found.tags[one] for one in found.of_blocks] == ["div", "p", "div", "body"]


@table("core/what_only_some_browsers_show_or_what_leads_away_is_left_out")
def test_what_only_some_browsers_show_or_what_leads_away_is_left_out(html, gone):
    assert gone not in must(number(html)).html


def test_a_page_that_has_such_attributes_gets_others():
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
def test_a_page_that_cannot_be_shown_as_it_was_parsed_is_none(why, html):
    assert number(html) is None, why


@given(anything)
@example("<A0\x85>0")
@example("<A.>0")
@example("<A0\x0b0>0")
def test_any_page_is_numbered_as_it_was_parsed_or_not_at_all(html):
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


@pytest.mark.parametrize(
    ("pages", "needed"),
    [
        pytest.param([SeenPage(static_chars=20, js_share=0.9)], True, id="made-by-scripts"),
        pytest.param([SeenPage(static_chars=2_000, js_share=0.9)], False, id="text-is-there-without"),
        pytest.param([SeenPage(static_chars=20, js_share=0.1)], False, id="short-page"),
        pytest.param([SeenPage(js_share=0.9), SeenPage(js_share=0.2)], True, id="mean-of-two"),
    ],
)
def test_a_layout_needs_rendering_where_scripts_make_it_and_nothing_is_there_without(pages, *, needed):
    vision = vision_of(pages, 0.12345)

    assert vision.needs_rendering is needed
    assert vision.shown == len(pages)
    assert vision.agreement == 0.123


ARTICLE = recorded("article")


def looks(words: str, page: Recorded = ARTICLE) -> float | None:
    """Return how far the block that begins so looks like content; None where nobody sees it at first."""
    main = looks_of(page.page, page.numbered, page.snapshot)
    return next(
        main.get(number)
        for block, number in zip(page.page.blocks, page.numbered.of_blocks, strict=True)
        if block.text.startswith(words)
    )


def test_the_main_column_looks_like_content_and_what_is_below_and_beside_it_less():
    assert [looks(words) for words in ("By noon", "Paper of the town, printed", "Most read")] == [1.0, 0.3, 0.06]


@pytest.mark.parametrize("around", ["<div class=pagination>{}</div><p>a</p>", "<form><input>{}</form>"])
def test_names_of_navigation_and_forms_mean_nothing_around_most_of_a_page(around):
    assert looks("long text", shown(around.format("<p>" + "long text " * 20 + "</p>"), {})) == 1


def shown(html: str, boxes: dict[str, Box], *, links: Sequence[str] = (), flags: int = 0) -> Recorded:
    """Return a page as a browser would show it: all elements in one column, but those that have a box by tag."""
    page = parsed(html)
    found = numbered(html, page)
    anywhere = Box(200, 0, 600, 400)
    elements = {number: SeenElement(number, boxes.get(tag, anywhere), 0, 16.0) for number, tag in enumerate(found.tags)}
    runs = []
    for block, number in zip(page.blocks, found.of_blocks, strict=True):
        inner = next((at for at, above in enumerate(found.parents) if above == number), number)
        is_link = found.tags[inner] in links
        place, more = (inner, Flag.IN_LINK) if is_link else (number, 0)
        runs.append(TextRun(place, elements[number].box, flags | more, 16.0, len(block.text)))
    return replace(ARTICLE, html=html, page=page, numbered=found, snapshot=Snapshot(1366, 900, elements, tuple(runs)))


def test_text_that_no_person_sees_is_listed_with_its_reason():
    found = unseen_text(ARTICLE.page, ARTICLE.numbered, ARTICLE.snapshot)

    assert [(one.reason, one.text) for one in found] == [
        (UnseenReason.CLIPPED, "Skip to the text"),
        (UnseenReason.OFF_SCREEN, "cheap watches cheap watches cheap watches"),
        (UnseenReason.NO_SIZE, "keywords for machines"),
        (UnseenReason.SAME_COLOUR, "white words on white ground"),
        (UnseenReason.ZERO_WIDTH, "\u200b\u200b\u2060\u200b"),
    ]


def test_the_list_of_unseen_text_ends():
    page = shown("<p>spam</p>" * 500, {}, flags=Flag.CLIPPED)

    assert len(unseen_text(page.page, page.numbered, page.snapshot)) == 200


def test_of_a_page_without_its_sheets_nothing_is_learned_but_what_scripts_made():
    page = recorded("plain")

    assert see(page.page, page.numbered, page.snapshot) == SeenPage(static_chars=34)


def test_a_page_that_scripts_made_says_so():
    page = recorded("scripted")

    seen = see(page.page, page.numbered, page.snapshot)

    assert seen.js_share > 0.9
    assert seen.static_chars < 20


def test_a_browser_that_saw_other_elements_than_the_page_has_does_no_harm():
    """With scripts on, a page can answer anything."""
    runs = tuple(replace_number(run, 19_000) for run in ARTICLE.snapshot.runs)

    assert looks_of(ARTICLE.page, ARTICLE.numbered, structs.replace(ARTICLE.snapshot, runs=runs)) == {}
    assert looks_of(ARTICLE.page, ARTICLE.numbered, Snapshot(1, 1, {}, ARTICLE.snapshot.runs)) == {}


def replace_number(run: TextRun, number: int) -> TextRun:
    return run._replace(number=number)


@given(
    st.lists(
        st.builds(
            TextRun,
            st.integers(-1, 80),
            st.builds(Box, st.integers(-5_000, 5_000), st.integers(-5_000, 5_000), st.just(9), st.just(9)),
            st.integers(0, (1 << 13) - 1),
            st.floats(0, 100),
            st.integers(1, 1_000),
        ),
        max_size=30,
    )
)
def test_looks_are_shares_whatever_a_browser_says(runs):
    snapshot = structs.replace(ARTICLE.snapshot, runs=tuple(runs))

    seen = see(ARTICLE.page, ARTICLE.numbered, snapshot)

    assert all(0 <= share <= 1 for share in looks_of(ARTICLE.page, ARTICLE.numbered, snapshot).values())
    assert all(0 <= there.main <= there.seen for there in seen.paths.values())


def test_elements_below_many_others_are_seen_in_time_in_proportion_to_their_number():
    assert_in_proportion(
        lambda page: see(page.page, page.numbered, page.snapshot),
        lambda count: shown("<b>a" * 400 + "<div>b" * 400 + "<p>c</p>" * count, {}),
        2_000,
    )
