from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from scrapy_dedup.core.teacher import (
    Box,
    Flag,
    SeenElement,
    SeenPage,
    Snapshot,
    TextRun,
    UnseenReason,
    looks_of,
    numbered,
    see,
    unseen_text,
    vision_of,
)
from tests.core.builders import parsed
from tests.core.snapshots import Recorded, recorded
from tests.growth import assert_in_proportion


@pytest.mark.parametrize(
    ("pages", "needed"),
    [
        pytest.param([SeenPage(static_chars=20, js_share=0.9)], True, id="made-by-scripts"),
        pytest.param([SeenPage(static_chars=2_000, js_share=0.9)], False, id="text-is-there-without"),
        pytest.param([SeenPage(static_chars=20, js_share=0.1)], False, id="short-page"),
        pytest.param([SeenPage(js_share=0.9), SeenPage(js_share=0.2)], True, id="mean-of-two"),
    ],
)
def test_a_layout_needs_rendering_where_scripts_make_it_and_nothing_is_there_without(
    pages: list[SeenPage], *, needed: bool
) -> None:
    vision = vision_of(pages, 0.12345)

    assert vision.needs_rendering is needed
    assert vision.shown == len(pages)
    assert vision.agreement == 0.123


ARTICLE = recorded("article")


def looks(words: str, page: Recorded = ARTICLE) -> float | None:
    """Return how far the block that begins so looks like content; None where nobody sees it at first."""
    main = looks_of(page.page, page.numbered, page.snapshot).main
    return next(
        main.get(number)
        for block, number in zip(page.page.blocks, page.numbered.of_blocks, strict=True)
        if block.text.startswith(words)
    )


def test_the_container_is_the_main_column() -> None:
    container = looks_of(ARTICLE.page, ARTICLE.numbered, ARTICLE.snapshot).container

    assert ARTICLE.snapshot.elements[container].box.width == 760
    assert ARTICLE.numbered.tags[container] == "div"


@pytest.mark.parametrize("around", ["<div class=pagination>{}</div><p>a</p>", "<form><input>{}</form>"])
def test_names_of_navigation_and_forms_mean_nothing_around_most_of_a_page(around: str) -> None:
    assert looks("long text", shown(around.format("<p>" + "long text " * 20 + "</p>"), {})) == 1


def shown(html: str, boxes: dict[str, Box], *, links: Sequence[str] = (), flags: int = 0) -> Recorded:
    """Return a page as a browser would show it: all elements in one column, but those that have a box by tag."""
    page = parsed(html)
    found = numbered(html, page)
    assert found is not None
    anywhere = Box(200, 0, 600, 400)
    elements = {
        number: SeenElement(number, boxes.get(tag, anywhere), 0, 16.0, 400) for number, tag in enumerate(found.tags)
    }
    runs = []
    for block, number in zip(page.blocks, found.of_blocks, strict=True):
        inner = next((at for at, above in enumerate(found.parents) if above == number), number)
        is_link = found.tags[inner] in links
        place, more = (inner, Flag.IN_LINK) if is_link else (number, 0)
        runs.append(TextRun(place, elements[number].box, flags | more, 16.0, 400, len(block.text)))
    return replace(ARTICLE, html=html, page=page, numbered=found, snapshot=Snapshot(1366, 900, elements, tuple(runs)))


def test_text_that_no_person_sees_is_listed_with_its_reason() -> None:
    found = unseen_text(ARTICLE.page, ARTICLE.numbered, ARTICLE.snapshot)

    assert [(one.reason, one.text) for one in found] == [
        (UnseenReason.CLIPPED, "Skip to the text"),
        (UnseenReason.OFF_SCREEN, "cheap watches cheap watches cheap watches"),
        (UnseenReason.NO_SIZE, "keywords for machines"),
        (UnseenReason.SAME_COLOUR, "white words on white ground"),
        (UnseenReason.ZERO_WIDTH, "\u200b\u200b\u2060\u200b"),
    ]


def test_the_list_of_unseen_text_ends() -> None:
    page = shown("<p>spam</p>" * 500, {}, flags=Flag.CLIPPED)

    assert len(unseen_text(page.page, page.numbered, page.snapshot)) == 200


def test_of_a_page_without_its_sheets_nothing_is_learned_but_what_scripts_made() -> None:
    page = recorded("plain")

    assert see(page.page, page.numbered, page.snapshot) == SeenPage(static_chars=34)


def test_a_page_that_scripts_made_says_so() -> None:
    page = recorded("scripted")

    seen = see(page.page, page.numbered, page.snapshot)

    assert seen.js_share > 0.9
    assert seen.static_chars < 20


def test_a_browser_that_saw_other_elements_than_the_page_has_does_no_harm() -> None:
    """With scripts on, a page can answer anything."""
    runs = tuple(replace_number(run, 19_000) for run in ARTICLE.snapshot.runs)

    assert looks_of(ARTICLE.page, ARTICLE.numbered, structs.replace(ARTICLE.snapshot, runs=runs)).main == {}
    assert looks_of(ARTICLE.page, ARTICLE.numbered, Snapshot(1, 1, {}, ARTICLE.snapshot.runs)).main == {}


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
            st.just(400),
            st.integers(1, 1_000),
        ),
        max_size=30,
    )
)
def test_looks_are_shares_whatever_a_browser_says(runs: list[TextRun]) -> None:
    snapshot = structs.replace(ARTICLE.snapshot, runs=tuple(runs))

    seen = see(ARTICLE.page, ARTICLE.numbered, snapshot)

    assert all(0 <= share <= 1 for share in looks_of(ARTICLE.page, ARTICLE.numbered, snapshot).main.values())
    assert all(0 <= there.main <= there.seen for there in seen.paths.values())


def test_elements_below_many_others_are_seen_in_time_in_proportion_to_their_number() -> None:
    assert_in_proportion(
        lambda page: see(page.page, page.numbered, page.snapshot),
        lambda count: shown("<b>a" * 400 + "<div>b" * 400 + "<p>c</p>" * count, {}),
        2_000,
    )
