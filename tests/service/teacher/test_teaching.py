from dataclasses import replace
from typing import Any

import pytest

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.learning import SiteLearner
from scrapy_dedup.service.teacher.teaching import PagesToShow, PageToShow
from scrapy_dedup.service.templates.site_knowledge import REST
from scrapy_dedup.settings import Settings
from tests.service.site_pages import DOMAIN, article, page_of, url_of
from tests.service.test_learning import Watched

UNSURE = Settings(teacher="unsure", output="text", learn_pages=20)
NEW = replace(UNSURE, teacher="new")


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
    return next(layout for layout in learner.knowledge.templates if layout != REST)


def offered(waiting: PagesToShow, taught: Watched, numbers: range) -> list[str]:
    """Return the reasons of the pages that were taken in."""
    learner = taught.learner
    for number in numbers:
        waiting.meet(learner, a_page(number, layout_of(learner)))
    return [page.reason for page in iter(waiting.take, None)]


def test_a_layout_has_so_many_pages_and_no_more(taught):
    waiting = PagesToShow(NEW)

    assert offered(waiting, taught, range(20, 60)) == ["no browser has seen it"] * 2
    assert offered(waiting, taught, range(20, 60)) == []
    assert not waiting.is_over


@pytest.mark.parametrize(("budget", "is_over"), [("teacher_pages", True), ("teacher_domain_pages", False)])
def test_the_budget_of_a_crawl_ends_all_and_that_of_a_domain_counts_all_its_layouts(taught, budget, is_over):
    chosen: dict[str, Any] = {budget: 1}
    waiting = PagesToShow(replace(NEW, **chosen))

    assert len(offered(waiting, taught, range(20, 30))) == 1
    assert waiting.is_over is is_over


def test_a_page_that_was_not_shown_costs_nothing_but_only_so_often(taught):
    waiting, learner = PagesToShow(replace(NEW, teacher_layout_pages=1)), taught.learner
    shown = 0
    for number in range(20, 30):
        if waiting.meet(learner, a_page(number, layout_of(learner))):
            page = waiting.take()
            assert page is not None
            waiting.fail(page, lasting=False)
            shown += 1

    assert shown == 2
