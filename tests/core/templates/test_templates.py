import json
import re
from datetime import UTC, datetime, timedelta
from itertools import islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.observations import observe
from scrapy_dedup.core.boilerplate.path_features import DropReason
from scrapy_dedup.core.boilerplate.verdict_model import learn
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.templates.templates import (
    ENOUGH,
    WINDOW,
    Drift,
    DriftWatch,
    Look,
    Template,
    TemplateError,
    Why,
    cut,
    is_too_thin,
    part_of,
    selector,
    selectors,
    surrounded_on,
    template_of,
    thin_pages,
)
from scrapy_dedup.service.model_file import verdict_model
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


def test_page_is_cut_to_its_content_and_each_removal_tells_why():
    page = parsed(article(99))

    found = cut(page, TEMPLATE)

    assert kept(page, TEMPLATE) == [words(3, (99, "title")), words(60, 99), words(50, -99)]
    home, about = found.removed[:2]
    assert home is about
    assert (home.path, home.on_pages, home.of_pages) == ("body>nav", 10, 10)
    assert "(content by " in home.evidence
    assert home.evidence.endswith("on 10 of 10 pages")
    assert (found.fit, found.moved) == (1.0, 0.0)


def test_surroundings_that_stand_elsewhere_are_left_out_and_told():
    anew = article(99).replace("<nav><ul>", "<div class=fresh><section>").replace("</ul></nav>", "</section></div>")
    page = parsed(anew.replace("<li>", "<p>").replace("<header>", "<div class=top>").replace("</header>", "</div>"))

    found = cut(page, TEMPLATE)

    texts = kept(page, TEMPLATE)
    assert not {"Home", "About us", "The site of all things"} & set(texts)
    assert words(60, 99) in texts
    assert found.moved >= 0.5


def test_a_word_of_a_menu_stays_where_it_is_one_of_a_text():
    assert "Home" in kept(parsed(article(99, within="<p>Home</p>")), TEMPLATE)


def test_a_template_without_paths_leaves_a_page_as_it_is():
    page = parsed(article(99))

    assert cut(page, replace(TEMPLATE, verdicts={}, repeated={}, surrounding={})).removed == [None] * len(page.blocks)


@pytest.mark.parametrize(
    ("anew", "gone"),
    [
        pytest.param(article(99), 0.0, id="as it was"),
        pytest.param(re.sub("<nav>.*</nav>|<header>.*</header>", "", article(99)), 0.5, id="without its menu"),
    ],
)
def test_what_makes_a_redesign_likely_is_told(anew, gone):
    template = replace(TEMPLATE, surrounded=surrounded_on(TEMPLATE, [observe(page) for page in SITE]))

    assert cut(parsed(anew), template).gone == gone


def test_least_caution_holds_whatever_the_user_wants():
    careful = replace(TEMPLATE, least_caution=0.9)

    assert [careful.at(caution).caution for caution in (0.1, 0.5, 0.95)] == [0.9, 0.9, 0.95]
    assert Template.from_json(careful.to_json()).at(0.5).caution == 0.9


def test_long_text_of_most_pages_is_dropped_wherever_it_stands():
    notice = "This text stands as a paragraph among others on nearly all of the pages of the site."
    pages = site(lambda number: article(number, within=f"<p>{notice}</p>"))
    template = template_of(learned(pages))

    found = cut(pages[0], template)

    at = [block.text for block in pages[0].blocks].index(notice)
    assert found.removed[at] == Why(DropReason.REPEATS, f"{MAIN}>p", "the same text on 10 of 10 pages", 10, 10)
    assert found.removed[at] is cut(pages[0], template).removed[at]


def _product(number: int) -> str:
    cards = "".join(
        f"<li><a href=/p{number + step}>{words(6, number + step)}</a><div class=price>{step} pounds</div>"
        for step in range(1, 30)
    )
    return article(number, text=f"<p>{words(25, number)}</p>", within=f"<div class=related><ul>{cards}</ul></div>")


def _steps(number: int) -> str:
    return article(number, text="".join(f"<p>{words(30, step)}</p>" for step in range(6)))


@pytest.mark.parametrize(
    ("page", "left_out", "thin"),
    [
        pytest.param(_product, "li", False, id="more links to other products than text"),
        pytest.param(_steps, "p", True, id="text that all pages share"),
    ],
)
def test_main_column_is_thin_where_its_prose_goes(page, left_out, *, thin):
    seen = [observe(one) for one in site(page)]
    found = template_of(learn(seen, verdict_model()))
    verdicts = {
        path: replace(verdict, keep=verdict.keep and f">{left_out}" not in path)
        for path, verdict in found.verdicts.items()
    }
    template = replace(found, verdicts=verdicts, containers=(MAIN,))

    assert is_too_thin(thin_pages(template, seen), len(seen)) is thin


@pytest.mark.parametrize("own", [25, 80], ids=["a seventh as much of their own", "less than half as much"])
def test_near_copies_keep_the_text_that_they_share(own):
    shared = "".join(f"<div class=step><p>{words(30, step)}</p></div>" for step in range(6))
    pages = site(lambda number: article(number, text=f"<p>{words(own, number)}</p>{shared}"))
    template = template_of(learned(pages))

    assert words(30, 2) in kept(pages[0], template)
    assert "Home" not in kept(pages[0], template)


@table("core/template_that_cannot_be_used_says_what_to_do")
def test_template_that_cannot_be_used_says_what_to_do(change, message):
    with pytest.raises(TemplateError, match=message):
        Template.from_json(TEMPLATE.to_json() | change)


def test_part_of_a_template_cuts_its_layout_alike():
    assert cut(SITE[0], part_of(TEMPLATE, {block.path for block in SITE[0].blocks})) == cut(SITE[0], TEMPLATE)


def test_part_of_a_template_has_what_stands_on_its_paths_and_below_and_no_other_layout():
    part = part_of(TEMPLATE, [f"{MAIN}>p", "body>nav>ul>li"])

    assert list(part.verdicts) == ["body", "body>div#wrap", MAIN, f"{MAIN}>p", "body>nav"]
    assert part.containers == part_of(TEMPLATE, ["body>nav"]).containers == TEMPLATE.containers
    assert f"{MAIN}>p" in part_of(TEMPLATE, ["body>div#wrap"]).verdicts


def test_selectors_are_the_outermost_elements():
    found = selectors(TEMPLATE)

    assert found.content == tuple(map(selector, TEMPLATE.containers))
    assert found.exclude == ("div#wrap > div.side", "body > footer", "body > header", "body > nav")
    assert found.without_own_text == ()


@table("pages/selectors")
def test_path_reads_as_css(path, css):
    assert selector(path) == css


@given(st.lists(anything, min_size=3, max_size=5), anything)
def test_stored_template_cuts_any_page_as_before(sources, html):
    template = template_of(learned(map(parsed, sources)))
    again = Template.from_json(json.loads(json.dumps(template.to_json())))
    page = parsed(html)

    found = cut(page, template)

    assert again == template
    assert cut(page, again) == found == cut(page, template)
    assert len(found.removed) == len(page.blocks)
    assert 0.0 <= found.fit <= 1.0


def test_page_of_nonsense_takes_neither_more_time_nor_memory():
    def page_of(count: int) -> Page:
        nonsense = islice(product("bdfgklmn", repeat=5), count)
        return parsed("".join(f"<div class=related-{''.join(word)}>Home</div>" for word in nonsense))

    def learn_and_cut(page: Page) -> None:
        cut(page, template_of(learned(SITE)))
        template_of(learned([*SITE, page]))

    assert_in_proportion(learn_and_cut, page_of, 10_500)

    template = template_of(learned(SITE))
    cut(page_of(10_500), template)
    assert len(template.lookup.known) <= 10_000
    assert len(template.lookup.whys) <= 10_000


NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LOST = "content root lost"


def look(number: int, what: str = "", *, layout: int = 7) -> Look:
    """Return how a page was found in a minute that is its number."""
    return Look(number.to_bytes(16, "big"), layout, what, NOON + timedelta(minutes=number), number)


def noted(watch: DriftWatch, *pages: str | Look, layout: int = 7) -> list[Drift]:
    """Take in pages a minute apart, each given by what does not fit; return the alarms."""
    looks = (page if isinstance(page, Look) else look(place, page, layout=layout) for place, page in enumerate(pages))
    return [drift for one in looks if (drift := watch.note(one)) is not None]


class TestAlarm:
    def test_a_redesign_is_noticed_within_ten_pages(self):
        watch = DriftWatch()
        noted(watch, *[""] * 50)

        alarms = noted(watch, *[LOST] * WINDOW)

        assert len(alarms) == 1
        assert alarms[0].failed == ENOUGH

    def test_it_names_cause_figures_and_time(self):
        (alarm,) = noted(DriftWatch(), "", "", LOST, LOST, "", LOST, LOST, LOST)

        assert alarm.cause == "content root lost on 5 of 8 pages since 12:02"
        assert alarm.layout == 7

    def test_one_page_that_comes_again_and_again_is_none(self):
        assert noted(DriftWatch(), *[look(1), look(1, LOST)] * 10) == []

    def test_pages_of_a_new_layout_among_pages_that_fit_are_none(self):
        new = [look(place, LOST, layout=0) for place in range(20)]
        fits = [look(place) for place in range(20, 40)]
        mixed = [one for pair in zip(new, fits, strict=True) for one in pair]
        mostly_new = [one for place in range(0, 20, 2) for one in (*new[place : place + 2], fits[place])]

        assert noted(DriftWatch(), *mixed) == []
        assert [alarm.failed for alarm in noted(DriftWatch(), *fits, *new)] == [ENOUGH]
        assert [alarm.looked for alarm in noted(DriftWatch(), *mostly_new)] == [7]

    def test_it_retires_the_layouts_of_which_no_page_fits(self):
        fits = [look(place, layout=8) for place in range(2)]
        odd = [look(place, LOST, layout=7 + place % 2) for place in range(2, 2 + ENOUGH)]

        (alarm,) = noted(DriftWatch(), *fits, *odd)

        assert alarm.retired == {7}


@pytest.mark.parametrize(
    ("pages", "judging"),
    [
        pytest.param([""] * 20, "-" * 20, id="all fit"),
        pytest.param([LOST, "", "", "", "", "", "", ""], "??????--", id="one is odd"),
        pytest.param([LOST] * 8, "????----", id="redesign"),
        pytest.param([LOST, ""] * 6, "????????----", id="redesign of every other page"),
        pytest.param([LOST, "", "", LOST, "", "", LOST, "", "", "", ""], "????????---", id="three are odd"),
    ],
)
def test_question_is_open_until_it_is_answered(pages, judging):
    """While it is, pages wait: never more than ten."""
    watch = DriftWatch()
    found = ""

    for number, page in enumerate(pages):
        noted(watch, look(number, page))
        found += "?" if watch.asked else "-"

    assert found == judging


class TestEnd:
    def test_an_alarm_is_over_once_pages_fit_again(self):
        watch = DriftWatch()
        noted(watch, *[LOST] * ENOUGH)
        watch.relearned()

        assert not watch.cleared()
        noted(watch, *[""] * ENOUGH)
        assert watch.cleared()
        assert not watch.cleared()

    @given(st.lists(st.sampled_from(["", LOST])))
    def test_alarms_and_ends_alternate(self, pages):
        watch = DriftWatch()
        events = []

        for page in pages:
            events += ["raised"] * len(noted(watch, page))
            events += ["over"] * watch.cleared()

        assert events == [("raised", "over")[number % 2] for number in range(len(events))]
