"""Which pages a browser looks at, and what is spent."""

from dataclasses import replace
from typing import Any

import pytest

from scrapy_dedup.core.teacher.vision import Vision
from scrapy_dedup.core.templates.templates import Template
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.learning.learning import SiteLearner
from scrapy_dedup.service.teacher.teaching import LayoutSeen, PagesToShow, PageToShow, reason_to_show
from scrapy_dedup.service.templates.site_knowledge import REST, LayoutTemplate, Override, SiteKnowledge
from scrapy_dedup.settings import Settings
from tests.service.learning.test_site_learner import Watched
from tests.service.site_pages import DOMAIN, article, page_of, url_of
from tests.tables import table

UNSURE = Settings(teacher="unsure", output="text", learn_pages=20)
NEW = replace(UNSURE, teacher="new")
KNOWN = LayoutTemplate(7, Template(5, ("body",), {}, {}), pages=5, confidence=0.97, state="live")


def site_with(*templates: LayoutTemplate) -> SiteKnowledge:
    return SiteKnowledge(DOMAIN, 5, templates={one.layout: one for one in templates})


@table("service/a_browser_looks_at_what_is_not_sure")
def test_a_browser_looks_at_what_is_not_sure(
    met: dict[str, Any], known: dict[str, Any], teacher: Any, reason: str | None
) -> None:
    overrides = tuple(Override(*decided) for decided in known.get("overrides", []))
    site = site_with(replace(KNOWN, **known | {"overrides": overrides}))

    assert reason_to_show(site, LayoutSeen(**met), replace(UNSURE, teacher=teacher)) == reason


def test_pages_that_come_without_text_are_looked_at_once() -> None:
    looked_at = replace(KNOWN, vision=Vision(shown=1, js_share=0.0, needs_rendering=False))

    for known, reason in ((KNOWN, "its pages say next to nothing without scripts"), (looked_at, None)):
        assert reason_to_show(site_with(known), LayoutSeen(7, is_empty=True), UNSURE) == reason


def a_page(number: int, layout: int, domain: str = DOMAIN) -> PageToShow:
    url, html = url_of("a", number), article(number)
    return PageToShow(domain, layout, page_key(url), url, html, page_of(html))


@pytest.fixture
def taught() -> Watched:
    """A site of one layout, learned from 20 pages."""
    watched = Watched(NEW)
    watched.take(range(20))
    watched.learn()
    watched.take(range(20, 30))
    return watched


def layout_of(learner: SiteLearner) -> int:
    assert learner.knowledge is not None
    return next(layout for layout in learner.knowledge.templates if layout != REST)


def offered(waiting: PagesToShow, taught: Watched, numbers: range) -> list[str]:
    """Return the reasons of the pages that were taken in."""
    learner = taught.learner
    for number in numbers:
        waiting.meet(learner, a_page(number, layout_of(learner)))
    return [page.reason for page in iter(waiting.take, None)]


def test_a_layout_has_so_many_pages_and_no_more(taught: Watched) -> None:
    waiting = PagesToShow(NEW)

    assert offered(waiting, taught, range(20, 60)) == ["no browser has seen it"] * 2
    assert offered(waiting, taught, range(20, 60)) == []
    assert not waiting.is_over


def test_the_budget_of_a_crawl_ends_all(taught: Watched) -> None:
    waiting = PagesToShow(replace(NEW, teacher_pages=1))

    assert len(offered(waiting, taught, range(20, 30))) == 1
    assert waiting.is_over


def test_the_budget_of_a_domain_counts_all_its_layouts(taught: Watched) -> None:
    waiting = PagesToShow(replace(NEW, teacher_domain_pages=1))

    assert len(offered(waiting, taught, range(20, 30))) == 1
    assert not waiting.is_over


def test_a_page_that_was_not_shown_costs_nothing_but_only_so_often(taught: Watched) -> None:
    waiting, learner = PagesToShow(replace(NEW, teacher_layout_pages=1)), taught.learner
    shown = 0
    for number in range(20, 30):
        if waiting.meet(learner, a_page(number, layout_of(learner))):
            page = waiting.take()
            assert page is not None
            waiting.fail(page, lasting=False)
            shown += 1

    assert shown == 2


def test_without_a_browser_nothing_waits_any_more(taught: Watched) -> None:
    waiting, learner = PagesToShow(NEW), taught.learner
    for number in (20, 21):
        waiting.meet(learner, a_page(number, layout_of(learner)))
    first = waiting.take()
    assert first is not None

    waiting.fail(first, lasting=True)

    assert (len(waiting), waiting.is_over) == (0, True)
    assert offered(waiting, taught, range(20, 30)) == []
