import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.fallback import (
    EXTRACTOR,
    DroppedBy,
    Fallback,
    KeptBy,
    PageKind,
    RefusedReason,
    cut,
    fall_back,
    held_blocks,
)
from tests.core.builders import parsed
from tests.core.html_soup import anything
from tests.tables import table

SENTENCE = "The river rose by two metres in the night before the bridge was closed to all traffic"
OTHER = "Nobody was hurt when the water reached the market square early in the morning of that day"
ARTICLE = '<script type="application/ld+json">{"@type": "NewsArticle"}</script>'


def kept(page: Page, found: Fallback) -> list[str]:
    return [block.text for block, keep in zip(page.blocks, found.keep, strict=True) if keep]


def reasons(html: str, extracted: str) -> list[str]:
    return [str(reason) for reason in cut(parsed(html), extracted).reasons]


def prose(times: int = 6) -> str:
    return "".join(f"<p>{SENTENCE}, part {n}.</p><p>{OTHER}, part {n}.</p>" for n in range(times))


def test_article_is_cut_from_its_page() -> None:
    html = (
        "<nav><a href=/>Home</a> <a href=/news>News</a></nav>"
        f"<main><article><h1>A flood</h1>{prose()}</article></main><footer>All rights reserved</footer>"
    )
    page = parsed(html)

    found = fall_back(html, page)

    assert kept(page, found)[0] == "A flood"
    assert len(kept(page, found)) == 13
    assert (found.refused, found.extractor) == (None, EXTRACTOR)
    assert found.version


@pytest.mark.parametrize(
    ("html", "refused"),
    [
        pytest.param("<div>" * 150 + "deep", RefusedReason.TOO_DEEP, id="deep"),
        pytest.param(("<div>" * 90 + "a" + "</div>" * 90) * 60, RefusedReason.TOO_DEEP, id="deep-and-many"),
        pytest.param("<p>a" * 21_000, RefusedReason.TOO_LARGE, id="many-tags"),
        pytest.param("<p>" + "word " * 210_000, RefusedReason.TOO_LARGE, id="much-text"),
        pytest.param("<p>a<!--" + "x" * 4_000_000, RefusedReason.TOO_LARGE, id="long"),
        pytest.param("", RefusedReason.EMPTY, id="nothing"),
        pytest.param("<p>\ud800", RefusedReason.EMPTY, id="lone-surrogate"),
    ],
)
def test_page_that_the_extractor_cannot_judge_is_kept_whole(html: str, refused: RefusedReason) -> None:
    page = parsed(html)

    found = fall_back(html, page)

    assert found.refused is refused
    assert found.keep == (True,) * len(page.blocks)


def test_structure_alone_drops_navigation_of_a_page_that_the_extractor_must_not_get() -> None:
    html = "<nav>Home</nav>" + "<p>a few words of text</p>" * 11_000

    assert reasons(html, "")[:2] == [DroppedBy.NAVIGATION, KeptBy.STRUCTURE]


def test_failing_extractor_leaves_the_page_to_its_structure() -> None:
    def failing(_html: str, _url: str | None) -> str:
        raise RecursionError

    html = "<nav>Home</nav><p>Some text"

    found = fall_back(html, parsed(html), extract=failing)

    assert (found.refused, found.keep) == (RefusedReason.FAILED, (False, True))


def test_declared_article_is_what_the_extractor_says() -> None:
    html = f"<head>{ARTICLE}</head><article>{prose()}<p>Read this next, it is about fish.</p></article>"

    found = reasons(html, "\n".join(f"{SENTENCE}, part {n}.\n{OTHER}, part {n}." for n in range(6)))

    assert found == [KeptBy.EXTRACTOR] * 12 + [DroppedBy.EXTRACTOR]


def test_declared_article_of_which_next_to_nothing_was_found_is_not_believed() -> None:
    html = f"<head>{ARTICLE}</head><main>{prose()}<p>Read this next, it is about fish.</p></main>"

    found = cut(parsed(html), "Read this next, it is about fish.")

    assert found.kind is PageKind.MIXED
    assert all(found.keep)


def test_what_stands_in_the_same_part_as_prose_is_kept_with_it() -> None:
    html = f"<div class=a>{prose()}<p>It is about fish.</p></div><div class=b><p>Weather: rain</p></div>"

    found = cut(parsed(html), "\n".join(f"{SENTENCE}, part {n}.\n{OTHER}, part {n}." for n in range(6)))

    assert found.kind is PageKind.PROSE
    assert [str(reason) for reason in found.reasons[-2:]] == [KeptBy.STRUCTURE, DroppedBy.OUTSIDE]


@table("core/product_page_is_its_description_not_all_that_surrounds_it")
def test_product_page_is_its_description_not_all_that_surrounds_it(head: str) -> None:
    html = f"<head>{head}</head><div class=a><p>{SENTENCE}</p></div><div class=b>{prose(2)}</div>"

    assert reasons(html, SENTENCE) == [KeptBy.EXTRACTOR] + [DroppedBy.OUTSIDE] * 4


@table("pages/small_parts")
def test_small_part_is_told_by_its_tag_and_names(html: str, reason: str) -> None:
    assert reasons(f"<main>{prose()}</main>{html}", "")[12] == reason


def test_menu_is_a_list_of_short_links_and_results_are_not() -> None:
    menu = "".join(f"<li><a href=/{n}>Topic {n}</a></li>" for n in range(5))
    results = "".join(f"<li><a href=/{n}>{SENTENCE} {n}</a></li>" for n in range(5))

    found = reasons(f"<main>{prose()}</main><ul class=a>{menu}</ul><ul class=b>{results}</ul>", "")

    assert found[12:] == [DroppedBy.LINKS] * 5 + [KeptBy.STRUCTURE] * 5


def test_part_with_most_of_the_text_is_kept_whatever_it_is_called() -> None:
    assert set(reasons(f"<div class='sidebar'>{prose()}</div><p>Short</p>", "")) == {KeptBy.STRUCTURE}


def test_part_is_kept_where_the_extractor_vouches_for_half_of_it() -> None:
    html = f"<div class=related><p>{SENTENCE}</p><p>Short</p></div>{prose()}"

    assert reasons(html, SENTENCE)[:2] == [KeptBy.EXTRACTOR, KeptBy.STRUCTURE]


def test_page_of_nothing_but_surroundings_is_kept_whole() -> None:
    page = parsed("<nav><a href=/>Home</a></nav>")

    found = cut(page, "")

    assert (found.keep, found.reasons) == ((True,), (KeptBy.WHOLE,))


@settings(max_examples=60, deadline=None)
@given(anything, st.text(max_size=80))
def test_each_block_of_any_page_has_a_verdict_and_its_reason(html: str, extracted: str) -> None:
    page = parsed(html)

    for found in (cut(page, extracted), fall_back(html, page)):
        assert len(found.keep) == len(found.reasons) == len(page.blocks)
        assert found.keep == tuple(isinstance(reason, KeptBy) for reason in found.reasons)
        assert any(found.keep) or not page.blocks


@table("core/block_is_held_where_the_text_has_it")
def test_block_is_held_where_the_text_has_it(text: str, blocks: list[str], expected: list[bool]) -> None:
    assert list(held_blocks(text, blocks)) == expected


@given(st.lists(st.text(alphabet="abc ", max_size=40), max_size=12))
def test_every_block_of_a_whole_page_is_held(blocks: list[str]) -> None:
    """Except where the same few words stand in a row across blocks, and some other block took them."""
    found = held_blocks("\n".join(blocks), blocks)

    assert len(found) == len(blocks)
    assert all(block.strip() for block, is_held in zip(blocks, found, strict=True) if is_held)
