import dataclasses
import gc
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.observations import Observation
from scrapy_dedup.core.boilerplate.repeats import Boilerplate, RepeatPolicy
from scrapy_dedup.core.pages.blocks import Block, Page
from scrapy_dedup.core.templates.layouts import Skeleton
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.cut.site_cleaning import How, SiteCut, cut_page
from scrapy_dedup.service.learning import (
    CHECKPOINTS,
    DomainKnowledge,
    Learner,
    Sample,
    SiteLearner,
    Steps,
    at_once,
    to_rest,
)
from scrapy_dedup.service.templates.site_knowledge import REST, LearnedPage
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import AlarmRecord, LayoutKnowledge, TemplateRecord, TemplateStateRecord
from tests.service.site_pages import DOMAIN, article, own_text, page_of, url_of

MENU, FOOTER = 1, 2
POLICY = RepeatPolicy(threshold_pct=0.7, min_pages=5)
SAMPLES = {MENU: Sample("body>nav", "Menu"), FOOTER: Sample("body>footer", "Footer")}


def a_learner(learn_pages: int = 20, policy: RepeatPolicy = POLICY) -> Learner:
    return Learner("site.example", "html", policy, learn_pages)


def a_page(number: int, *repeating: int) -> dict[int, Sample]:
    """Return the blocks of a page: one of its own, and some that repeat."""
    return {100 + number: Sample("body>p", f"Own {number}"), **{key: SAMPLES[key] for key in repeating}}


def learn_from(learner: Learner, pages: int, *repeating: int, first: int = 0) -> list[bool]:
    return [learner.count(b"%d" % number, a_page(number, *repeating)) for number in range(first, first + pages)]


class TestCounting:
    def test_a_cold_domain_is_learned_when_its_batch_is_let_go_or_has_enough_pages(self):
        assert learn_from(a_learner(learn_pages=20), 20, MENU) == [False] * 19 + [True]

    def test_a_known_domain_is_learned_anew_at_checkpoints(self):
        learner = a_learner(learn_pages=100)
        learner.known = True

        due = learn_from(learner, 99, MENU)

        assert [number + 1 for number, is_due in enumerate(due) if is_due] == list(CHECKPOINTS)

    def test_after_enough_pages_no_more_are_counted(self):
        learner = a_learner(learn_pages=6)
        learn_from(learner, 6, MENU)
        learner.learn()

        assert learn_from(learner, 20, FOOTER, first=50) == [False] * 20
        assert learner.counts.pages == 0
        assert not learner.learn()
        assert set(learner.boilerplate.counts) == {MENU}


class TestLearning:
    def test_fewer_pages_than_before_do_not_replace_what_is_known(self):
        learner = a_learner(learn_pages=60)
        learner.recall(DomainKnowledge(Boilerplate(30, {FOOTER: 30}, 40), SAMPLES))
        learn_from(learner, 29, MENU)

        assert not learner.learn()
        assert set(learner.boilerplate.counts) == {FOOTER}

    def test_as_many_pages_as_before_replace_what_is_known(self):
        """So a redesigned site is learned anew, and a block that stopped being boilerplate comes back."""
        learner = a_learner(learn_pages=60)
        learner.recall(DomainKnowledge(Boilerplate(30, {FOOTER: 30}, 40), SAMPLES))
        learn_from(learner, 30, MENU)

        assert learner.learn()
        assert dict(learner.boilerplate.counts) == {MENU: 30}


KNOWN = {"young": 1, "known_a": 3, "known_b": 3, "known_c": 3}
YOUNG = {"a": 4, "b": 1, "c": 4, "d": 1}


def domains(pages: dict[str, int]) -> list[Learner]:
    learners = [Learner(name, "html", POLICY, 20) for name in pages]
    for learner in learners:
        learn_from(learner, pages[learner.domain])
        learner.known = learner.domain.startswith("known")
    return learners


class TestResting:
    """Each domain holds its pages and one more."""

    @pytest.mark.parametrize(
        ("pages", "most_pages", "gone"),
        [
            (KNOWN, 14, []),
            (KNOWN, 12, ["known_a"]),
            (KNOWN, 7, ["known_a", "known_b"]),
            (YOUNG, 13, ["d", "b"]),
            (YOUNG, 10, ["d", "b", "c"]),
        ],
    )
    def test_known_domains_go_met_longest_ago_and_then_those_with_the_fewest_pages(self, pages, most_pages, gone):
        assert [learner.domain for learner in to_rest(domains(pages), most_pages)] == gone

    def test_domain_whose_pages_wait_stays(self):
        busy, free = domains({"known_a": 3, "known_b": 3})
        busy.in_doubt.append(("a page", Settings()))

        assert to_rest([busy, free], 2) == [free]

    def test_domains_met_in_turn_are_learned_though_there_is_no_room_for_all(self):
        learners = {name: Learner(name, "html", POLICY, 20) for name in "abcdefghij"}
        learned: set[str] = set()
        for number in range(60):
            for name in learners:
                learner = learners.setdefault(name, Learner(name, "html", POLICY, 20))
                learner.count(b"%d" % number, a_page(number, MENU))
                if learner.learn():
                    learned.add(name)
                for gone in to_rest(list(learners.values()), 20):
                    learners[gone.domain] = Learner(gone.domain, "html", POLICY, 20)
                    learners[gone.domain].known = gone.domain in learned

        assert learned == set("abcdefghij")


def failing() -> int:
    raise ValueError("no")


def steps(*, catches: bool) -> Steps[list[int]]:
    found: list[int] = [(yield lambda: 1)]
    try:
        found.append((yield failing))
    except ValueError:
        if not catches:
            raise
        found.append((yield lambda: 2))
    return found


def test_steps_go_on_with_what_their_parts_return_or_raise():
    assert at_once(steps(catches=True)) == [1, 2]
    with pytest.raises(ValueError, match="no"):
        at_once(steps(catches=False))


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = Settings(output="text", learn_pages=20)
KEPT = (LearnedPage, Observation, Skeleton, Page, Block, SiteCut)


def redesigned(number: int) -> str:
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
            cut = cut_page(html, page, url, self.learner.knowledge, self.settings)
            if at_once(self.learner.note(key, url, page, cut, self.at)):
                self.alarms.append(count)
            found.append(cut)
            self.records += self.learner.take_records(self.at)
        return found

    def learn(self) -> None:
        assert at_once(self.learner.learn(self.at))
        self.records += self.learner.take_records(self.at)


def hows(found: Iterable[SiteCut]) -> dict[str, int]:
    return dict(Counter(str(one.how) for one in found))


@pytest.mark.parametrize(("teacher", "pages", "shown"), [("new", 3, 3), ("new", 4, 4), ("new", 5, 0), ("off", 4, 0)])
def test_html_is_kept_of_the_first_pages_of_a_site_that_a_browser_may_look_at(teacher, pages, shown):
    watched = Watched(dataclasses.replace(SETTINGS, teacher=teacher))

    watched.take(range(pages))

    young = sorted((page.url, html) for page, html in watched.learner.young_pages())
    assert young == [(url_of("a", number), article(number)) for number in range(shown)]


@pytest.fixture
def learned() -> Watched:
    """A site that is settled."""
    watched = Watched()
    watched.take(range(1, 21))
    watched.learn()
    return watched


@pytest.fixture
def known(learned) -> Watched:
    """The same site in the next run."""
    again = Watched(Settings(output="text"))
    again.learner.recall(learned.learner.knowledge)
    return again


class TestRedesign:
    def test_raises_one_alarm_at_the_fifth_page_and_is_learned_then_and_again_with_more(self, known):
        found = known.take(range(100, 120), redesigned)

        assert known.alarms == [5]
        alarms = [record for record in known.records if isinstance(record, AlarmRecord)]
        assert (alarms[0].pages_failed, alarms[0].pages_looked) == (5, 5)
        assert [alarm.cleared_at is not None for alarm in alarms] == [False, True]
        assert hows(found[5:]) == {"template": 15}
        for number, one in enumerate(found, 100):
            assert all(text in one.cleaned.content for text in own_text(number))
        assert not any("Imprint" in one.cleaned.content for one in found[5:])
        assert [record.pages for record in known.records if isinstance(record, TemplateRecord)][-1] == 16

    @pytest.mark.parametrize("had_few_pages", [False, True])
    def test_is_none_where_the_run_that_learned_the_site_meets_what_has_no_template(self, learned, had_few_pages):
        """Pages of a kind that few of its first pages were may come in a row by chance; they are learned as well."""
        if had_few_pages:
            others = Watched()
            others.take(range(80, 100), redesigned)
            others.learn()
            learned.learner.knowledge.index = others.learner.knowledge.index

        found = learned.take(range(100, 120), redesigned)

        assert learned.alarms == []
        assert hows(found[5:]) == {"template": 15}

    def test_retires_the_templates_of_layouts_that_are_no_more(self, known):
        before = set(known.learner.knowledge.templates)
        known.take(range(100, 120), redesigned)

        written = {record.layout for record in known.records if isinstance(record, TemplateRecord)}
        retired = {record.layout for record in known.records if isinstance(record, TemplateStateRecord)}
        assert (before | written) - retired == set(known.learner.knowledge.templates)


def test_pages_whose_template_is_on_probation_are_no_redesign(learned):
    known = learned.learner.knowledge
    again = Watched()
    templates = {layout: replace(one, state="probation") for layout, one in known.templates.items()}
    again.learner.recall(replace(known, templates=templates))

    found = again.take(range(100, 120))

    assert {one.misfit for one in found} == {"no layout known"}
    assert not again.alarms
    assert not again.learner.is_judging


def test_pages_that_all_say_the_same_are_no_redesign(learned):
    learned.take(
        range(100, 110), lambda _: "<html><body><h1>Please wait</h1><p>We check your browser.</p></body></html>"
    )

    assert not learned.alarms


def test_a_new_layout_is_learned_from_five_pages(known):
    found = []
    for number in range(8):
        found += known.take([500 + number], redesigned)
        known.take(range(200 + 5 * number, 205 + 5 * number))

    assert known.alarms == []
    assert [str(one.how) for one in found[5:]] == [How.TEMPLATE] * 3
    assert found[-1].layout != REST


def test_the_same_pages_are_learned_from_once():
    watched = Watched()
    watched.take(range(10))
    watched.learn()
    once = [*watched.records]
    watched.learn()
    assert watched.records == once


def test_a_settled_site_keeps_nothing_of_a_page(learned):
    learned.take(range(100, 150))

    before = counted(learned, range(150, 170))

    assert counted(learned, range(170, 290)) == before


def counted(watched: Watched, numbers: range) -> dict[str, int]:
    watched.take(numbers)
    watched.records.clear()
    gc.collect()
    objects = gc.get_objects()
    return {kind.__name__: sum(type(one) is kind for one in objects) for kind in KEPT}
