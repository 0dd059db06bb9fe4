from typing import Any

import pytest
from msgspec.structs import replace

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.teacher.lessons import learn_course, plan_course
from scrapy_dedup.service.teacher.teaching import SURE, PageToShow
from scrapy_dedup.service.templates.site_knowledge import REST, Override, SiteKnowledge, learn_site
from scrapy_dedup.service.templates.site_records import new_templates
from scrapy_dedup.settings import Settings
from tests.service.site_pages import DOMAIN, page_of, pages
from tests.service.stored_pages import NOON

SETTINGS = Settings(teacher_layout_pages=2)


def at_hand(articles: int, listings: int = 0) -> list[PageToShow]:
    return [
        PageToShow(DOMAIN, REST, page_key(url), url, html, page_of(html)) for url, html in pages(articles, listings)
    ]


@pytest.fixture(scope="module")
def known() -> SiteKnowledge:
    return learn_site(DOMAIN, pages(20, 12), SETTINGS)


def with_all(known: SiteKnowledge, **changes: Any) -> SiteKnowledge:
    templates = {layout: replace(one, **changes) for layout, one in known.templates.items()}
    return SiteKnowledge(known.domain, known.pages, known.index, templates)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param({"confidence": 0.99, "state": "live"}, "", id="sure"),
        pytest.param({"confidence": SURE - 0.1, "state": "live"}, "unsure", id="unsure"),
        pytest.param({"confidence": 0.99, "state": "probation"}, "not live", id="on-probation"),
        pytest.param({"confidence": 0.1, "source": "visual"}, "", id="seen-already"),
        pytest.param({"confidence": 0.1, "overrides": (Override("drop", "h1"),)}, "", id="decided-by-hand"),
    ],
)
def test_of_a_known_domain_layouts_are_shown_that_are_doubted(known, changes, why):
    course = plan_course(DOMAIN, at_hand(20, 12), with_all(known, **changes), SETTINGS)

    assert all(why in lesson.why and bool(lesson.why) is bool(why) for lesson in course.lessons)
    assert bool(course.pages_to_show) is bool(why)


def test_what_was_learned_from_more_pages_is_not_lost(known):
    course = plan_course(DOMAIN, at_hand(8), known, SETTINGS, shows_all=True)

    after = learn_course(course, SETTINGS)

    assert after.templates.keys() >= known.templates.keys()
    assert after.pages == known.pages
    changed = {record.layout for record in new_templates(course.known, after, NOON)}
    assert REST not in changed
    assert changed < set(known.templates)
