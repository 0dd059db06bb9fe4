import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.path_verdicts import DropReason
from scrapy_dedup.core.template_selectors import Selectors, selector
from scrapy_dedup.core.templates import Template, TemplateError, Why, cut, part_of, selectors, template_of
from tests.core.builders import parsed
from tests.core.html_soup import anything
from tests.core.learned_sites import article, learned, site, words
from tests.growth import assert_in_proportion
from tests.tables import table

MAIN = "body>div#wrap>div.main"
SITE = site()
TEMPLATE = template_of(learned(SITE))


def kept(page: Page, template: Template) -> list[str]:
    whys = cut(page, template).removed
    return [block.text for block, why in zip(page.blocks, whys, strict=True) if why is None]


def test_page_is_cut_to_its_content_and_each_removal_tells_why() -> None:
    page = parsed(article(99))

    found = cut(page, TEMPLATE)

    assert kept(page, TEMPLATE) == [words(3, (99, "title")), words(60, 99), words(50, -99)]
    home, about = found.removed[:2]
    assert home is about
    assert home == Why(
        DropReason.OUTSIDE, "body>nav", "beside the main column; 0.00 of a page's own text, on 10 of 10 pages"
    )
    assert (found.fit, found.mild) == (1.0, False)


@table("core/what_is_new_is_judged_by_its_name")
def test_what_is_new_is_judged_by_its_name(html: str, reason: str | None) -> None:
    page = parsed(article(99, within=html.replace("{}", "Something new")))
    at = [block.text for block in page.blocks].index("Something new")

    why = cut(page, TEMPLATE).removed[at]

    assert (why.reason if why else None) == reason


def test_long_text_of_most_pages_is_dropped_wherever_it_stands() -> None:
    notice = "This text stands as a paragraph among others on nearly all of the pages of the site."
    pages = site(lambda number: article(number, within=f"<p>{notice}</p>"))
    template = template_of(learned(pages))

    found = cut(pages[0], template)

    at = [block.text for block in pages[0].blocks].index(notice)
    assert found.removed[at] == Why(DropReason.REPEATS, f"{MAIN}>p", "the same text on 10 of 10 pages")
    assert found.removed[at] is cut(pages[0], template).removed[at]


def test_long_text_of_some_pages_stays_within_the_main_column() -> None:
    notice = "This text stands as a paragraph among others on a little more than half of the pages."
    pages = site(lambda number: article(number, within=f"<p>{notice}</p>" if number < 12 else ""), 20)

    assert notice in kept(pages[0], template_of(learned(pages)))


def test_links_are_the_content_of_an_index_page() -> None:
    def make(number: int) -> str:
        links = "".join(f"<li><a href=/{item}>{words(4, (number, item))}</a></li>" for item in range(4))
        text = f"<p>{words(90, number)}</p>"
        return article(number, text=f"<ul class=list>{links}</ul>{text}" if number % 3 == 0 else text)

    links = "".join(f"<li><a href=/i>{words(6, item)}</a></li>" for item in range(20))
    index = parsed(article(99, text=f"<ul class=list>{links}</ul>"))
    template = template_of(learned(site(make, 18)))

    found = cut(index, template)

    assert template.verdicts[f"{MAIN}>ul.list"].reason is DropReason.LINKS
    assert found.mild
    assert words(6, 3) in kept(index, template)


def test_near_copies_keep_the_text_that_they_share() -> None:
    shared = "".join(f"<div class=step><p>{words(30, step)}</p></div>" for step in range(6))
    pages = site(lambda number: article(number, text=f"<p>{words(25, number)}</p>{shared}"))
    template = template_of(learned(pages))

    assert cut(pages[0], template).mild
    assert words(30, 2) in kept(pages[0], template)
    assert "Home" not in kept(pages[0], template)


@table("core/template_that_cannot_be_used_says_what_to_do")
def test_template_that_cannot_be_used_says_what_to_do(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        Template.from_json(TEMPLATE.to_json() | change)


def test_part_of_a_template_cuts_its_layout_alike() -> None:
    assert cut(SITE[0], part_of(TEMPLATE, {block.path for block in SITE[0].blocks})) == cut(SITE[0], TEMPLATE)


def test_part_of_a_template_has_what_stands_on_its_paths_and_below_and_no_other_layout() -> None:
    part = part_of(TEMPLATE, [f"{MAIN}>p", "body>nav>ul>li"])

    assert list(part.verdicts) == ["body", "body>div#wrap", MAIN, f"{MAIN}>p", "body>nav"]
    assert part.containers == part_of(TEMPLATE, ["body>nav"]).containers == (MAIN,)
    assert f"{MAIN}>p" in part_of(TEMPLATE, ["body>div#wrap"]).verdicts


def test_selectors_are_the_outermost_elements() -> None:
    pages = site(lambda number: article(number, before="Skip to the content of this page"))

    assert selectors(template_of(learned(pages))) == Selectors(
        content=("div#wrap > div.main",),
        beside=(),
        exclude=("div#wrap > div.side", "body > footer", "body > header", "body > nav"),
        without_own_text=("div#wrap > div.main",),
    )


def test_selectors_name_what_is_kept_beside_the_content() -> None:
    def make(number: int) -> str:
        return f"<div><h1>{words(2, ('t', number))}</h1></div><div class=text><p>{words(90, number)}</p></div>"

    assert selectors(template_of(learned(site(make)))).beside == ("body > div",)


@table("pages/selectors")
def test_path_reads_as_css(path: str, css: str) -> None:
    assert selector(path) == css


@given(st.lists(anything, min_size=3, max_size=5), anything)
def test_stored_template_cuts_any_page_as_before(sources: list[str], html: str) -> None:
    template = template_of(learned(map(parsed, sources)))
    again = Template.from_json(json.loads(json.dumps(template.to_json())))
    page = parsed(html)

    found = cut(page, template)

    assert again == template
    assert cut(page, again) == found == cut(page, template)
    assert len(found.removed) == len(page.blocks)
    assert 0.0 <= found.fit <= 1.0


def test_page_of_nonsense_takes_neither_more_time_nor_memory() -> None:
    def page_of(count: int) -> Page:
        return parsed("".join(f"<div class=related-{words(1, number)}>a</div>" for number in range(count)))

    def learn_and_cut(page: Page) -> None:
        cut(page, template_of(learned(SITE)))
        template_of(learned([*SITE, page]))

    assert_in_proportion(learn_and_cut, page_of, 10_500)

    template = template_of(learned(SITE))
    cut(page_of(10_500), template)
    assert len(template.lookup.known) <= 10_000
    assert len(template.lookup.whys) <= 10_000
