"""One domain in one crawl: learned, settled, redesigned."""

import gc
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.observations import Observation
from scrapy_dedup.core.pages.blocks import Block, Page
from scrapy_dedup.core.templates.layouts import Skeleton
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.cut.site_cleaning import How, SiteCut
from scrapy_dedup.service.learning.learning import SiteLearner
from scrapy_dedup.service.steps import at_once
from scrapy_dedup.service.templates.site_knowledge import REST
from scrapy_dedup.service.templates.site_sample import LearnedPage
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import AlarmRecord, LayoutKnowledge, TemplateRecord, TemplateStateRecord
from tests.service.site_pages import DOMAIN, article, own_text, page_of, url_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = Settings(output="text", learn_pages=20)
KEPT = (LearnedPage, Observation, Skeleton, Page, Block, SiteCut)


def redesigned(number: int) -> str:
    """Return an article of the site in another design."""
    paragraphs = "".join(f'<div class="par">{text}</div>' for text in own_text(number))
    return (
        f'<html><body><table class="top"><tr><td><a href="/">Start</a></td><td>Imprint and terms</td></tr></table>'
        f'<div id="story"><h2>{number} in the new clothes of the site</h2><div class="body">{paragraphs}</div></div>'
        '<div class="bottom">All rights are still reserved by the site and its makers.</div></body></html>'
    )


class Watched:
    """A learner, with what came of each page."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self.learner = SiteLearner(DOMAIN, settings)
        self.settings = settings
        self.alarms: list[int] = []
        """After so many pages of their call."""
        self.records: list[LayoutKnowledge] = []
        self.at = NOON

    def take(self, numbers: Iterable[int], make: Callable[[int], str] = article) -> list[SiteCut]:
        found = []
        for count, number in enumerate(numbers, 1):
            url, html = url_of("a", number), make(number)
            key, page = page_key(url), page_of(html)
            self.at += timedelta(seconds=1)
            self.learner.see(key, url, html, page)
            cut = self.learner.cut(url, html, page, self.settings)
            if at_once(self.learner.note(key, url, html, page, cut, self.at)):
                self.alarms.append(count)
            found.append(cut)
            self.records += self.learner.take_records(self.at)
        return found

    def learn(self) -> None:
        assert at_once(self.learner.learn(self.at))
        self.records += self.learner.take_records(self.at)


def hows(found: Iterable[SiteCut]) -> dict[str, int]:
    return dict(Counter(str(one.how) for one in found))


@pytest.fixture
def learned() -> Watched:
    """A site that is settled."""
    watched = Watched()
    watched.take(range(1, 21))
    watched.learn()
    return watched


class TestRedesign:
    def test_raises_one_alarm_at_the_fifth_page_and_is_learned_then_and_again_with_more(self, learned: Watched) -> None:
        found = learned.take(range(100, 120), redesigned)

        assert learned.alarms == [5]
        alarms = [record for record in learned.records if isinstance(record, AlarmRecord)]
        assert (alarms[0].pages_failed, alarms[0].pages_looked) == (5, 5)
        assert [alarm.cleared_at is not None for alarm in alarms] == [False, True]
        assert hows(found[5:]) == {"template": 15}
        for number, one in enumerate(found, 100):
            assert all(text in one.cleaned.content for text in own_text(number))
        assert not any("Imprint" in one.cleaned.content for one in found[5:])
        assert [record.pages for record in learned.records if isinstance(record, TemplateRecord)][-1] == 20

    def test_is_judged_from_the_first_page_until_the_alarm(self, learned: Watched) -> None:
        judging = []
        for number in range(100, 110):
            learned.take([number], redesigned)
            judging.append(learned.learner.is_judging)

        assert judging == [True] * 4 + [False] * 6

    def test_retires_the_templates_of_layouts_that_are_no_more(self, learned: Watched) -> None:
        learned.take(range(100, 120), redesigned)

        written = {record.layout for record in learned.records if isinstance(record, TemplateRecord)}
        retired = {record.layout for record in learned.records if isinstance(record, TemplateStateRecord)}
        known = learned.learner.knowledge
        assert known is not None
        assert written - retired == set(known.templates)


def test_pages_whose_template_is_on_probation_are_no_redesign(learned: Watched) -> None:
    known = learned.learner.knowledge
    assert known is not None
    again = Watched()
    templates = {layout: replace(one, state="probation") for layout, one in known.templates.items()}
    again.learner.recall(replace(known, templates=templates))

    found = again.take(range(100, 120))

    assert {one.misfit for one in found} == {"no layout known"}
    assert not again.alarms
    assert not again.learner.is_judging


class TestFirstPages:
    def test_of_a_known_site_that_do_not_fit_are_one(self, learned: Watched) -> None:
        again = Watched(Settings(output="text"))
        assert learned.learner.knowledge is not None
        again.learner.recall(learned.learner.knowledge)

        again.take(range(100, 110), redesigned)

        assert again.alarms == [5]

    def test_a_new_layout_is_learned_from_five_pages(self, learned: Watched) -> None:
        found = []
        for number in range(8):
            found += learned.take([500 + number], redesigned)
            learned.take(range(200 + 5 * number, 205 + 5 * number))

        assert learned.alarms == []
        assert [str(one.how) for one in found[5:]] == [How.TEMPLATE] * 3
        assert found[-1].layout != REST


def test_a_settled_site_keeps_nothing_of_a_page(learned: Watched) -> None:
    learned.take(range(100, 150))

    before = counted(learned, range(150, 170))

    assert counted(learned, range(170, 290)) == before


def counted(watched: Watched, numbers: range) -> dict[str, int]:
    """Return how many objects there are after some pages."""
    watched.take(numbers)
    watched.records.clear()
    gc.collect()
    objects = gc.get_objects()
    return {kind.__name__: sum(type(one) is kind for one in objects) for kind in KEPT}
