"""What a browser showed of some pages, beside what all pages repeat."""

import random

import pytest

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.observations import observe
from scrapy_dedup.core.path_looks import PathLooks
from scrapy_dedup.core.path_verdicts import DropReason, learn
from scrapy_dedup.core.template_selectors import selector
from scrapy_dedup.core.templates import Template, cut, template_of
from tests.core.builders import parsed

STORY = "body>div.story>p"
RAIL = "body>div.rail>p"
SEEN = PathLooks(seen=100, main=100, unseen=0)
APART = PathLooks(seen=100, main=6, unseen=0)
UNSEEN = PathLooks(seen=0, main=0, unseen=40)


def page(number: int, rail: str = "read this", rail_class: str = "rail") -> Page:
    text = f"story number {number} has words that no other story of this paper has, {number} of them " * 3
    story = f"<div class=story><h1>Title {number}</h1><p>{text}</p></div>"
    return parsed(f"{story}<div class={rail_class}><p>{rail} {number}</p></div>")


def taught(pages: list[Page], looks: list[dict[str, PathLooks]]) -> Template:
    return template_of(learn([observe(one) for one in pages], looks=looks))


def why(template: Template, one: Page) -> dict[str, DropReason]:
    return {
        block.path: found.reason for block, found in zip(one.blocks, cut(one, template).removed, strict=True) if found
    }


def test_what_a_browser_shows_apart_is_dropped_from_three_pages() -> None:
    pages = [page(number, rail=f"own words {number} of the side " * 4) for number in range(3)]

    assert why(taught(pages, []), pages[0]) == {}
    assert why(taught(pages, [{STORY: SEEN, RAIL: APART}]), pages[0]) == {RAIL: DropReason.LOOKS}


def test_looks_alone_drop_nothing_where_many_pages_show_that_it_does_not_repeat() -> None:
    pages = [page(number, rail=f"own words {number} of the side " * 4) for number in range(8)]

    assert RAIL not in why(taught(pages, [{STORY: SEEN, RAIL: APART}]), pages[0])


def test_an_element_without_a_name_stays_on_few_pages() -> None:
    """Elements of many kinds stand on such a path; the browser showed few of them."""
    html = "<div><p>{0} first text, and more of it in one place {0}</p></div><div><p>other {0}</p></div>"
    pages = [parsed(html.format(number)) for number in range(3)]

    assert why(taught(pages, [{"body>div>p": APART}]), pages[0]) == {}


def test_the_names_of_what_stands_apart_are_kept_where_one_page_has_them() -> None:
    pages = [page(0, rail="words of the side " * 4), page(1, rail_class="other"), page(2, rail_class="third")]
    template = taught(pages, [{STORY: SEEN, RAIL: APART}])

    assert why(template, page(7, rail="new words of the side " * 4)) == {RAIL: DropReason.LOOKS}


@pytest.mark.parametrize("number", [3, 20])
def test_what_no_person_sees_is_dropped(number: int) -> None:
    spam = [f"cheap watches number {at} of {at} " * 9 for at in range(number)]
    pages = [page(at, rail=spam[at]) for at in range(number)]

    assert why(taught(pages, [{STORY: SEEN, RAIL: UNSEEN}]), pages[0])[RAIL] is DropReason.UNSEEN


def test_a_list_of_links_that_a_browser_shows_far_apart_is_dropped_from_many_pages() -> None:
    html = "<div class=story><h1>Title {0}</h1><p>{1}</p><h4>x{0}</h4></div><div class=more>{2}</div>"
    pages = [
        parsed(
            html.format(
                number, f"words of {number} and no other " * 9, f"<span>of {number}</span> <a href=a>so {number}</a>"
            )
        )
        for number in range(9)
    ]

    assert "body>div.more" in why(taught(pages, [{"body>div.story>p": SEEN, "body>div.more": APART}]), pages[0])


def test_the_reason_is_said_in_words() -> None:
    pages = [page(number, rail=f"own words {number} of the side " * 4) for number in range(3)]
    apart = taught(pages, [{STORY: SEEN, RAIL: APART}])
    unseen = taught(pages, [{STORY: SEEN, RAIL: UNSEEN}])

    assert apart.verdicts["body>div.rail"].evidence == "a browser shows it apart from the content, on 3 of 3 pages"
    assert unseen.verdicts["body>div.rail"].evidence == "no person sees its text, on 3 of 3 pages"
    assert Template.from_json(apart.to_json()) == apart
    assert selector("body>div.rail")


def test_the_order_of_shown_pages_does_not_matter() -> None:
    pages = [page(number) for number in range(5)]
    looks = [{STORY: SEEN, RAIL: APART}, {STORY: SEEN}, {RAIL: UNSEEN, "body>div.gone>p": SEEN}]
    other = random.Random(1).sample(looks, 3)

    assert taught(pages, looks) == taught(pages, other)
