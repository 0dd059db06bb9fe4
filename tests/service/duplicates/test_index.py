"""Who stands for whom: by what the store says, and by what of this run is on its way there."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from scrapy_dedup.service.duplicates.index import PageComparison, claims_of, with_holders
from scrapy_dedup.service.duplicates.page_facts import PageFacts
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.shared import Holders
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.known_facts import SETTINGS, Run, a_fact, a_paragraph, given
from tests.store.builders import a_key, claim

TEN = list(range(10))
NEARLY = [*TEN[:9], 99]
LOW = Settings(near_duplicate_jaccard=0.7)


@pytest.fixture(params=["on-its-way", "stored", "of-an-earlier-run"])
def after(request, project) -> Any:
    """Give some pages, and return a run in which they are known by one way or the other."""

    def prepare(*facts: Any, settings: Settings = LOW) -> Run:
        run = Run(project, settings)
        for one in facts:
            run.give(one)
        if request.param == "stored":
            run.write()
        return run.later() if request.param == "of-an-earlier-run" else run

    return prepare


def said(comparison: PageComparison) -> tuple[str | None, bytes | None]:
    same = comparison.same
    return (same.layer, same.keeper) if same is not None else (None, None)


def test_no_page_leads_to_one_that_was_dropped(after):
    run = after(a_fact("first", TEN, title="Plan"), a_fact("second", TEN, title="Plan"))

    assert said(run.give(a_fact("third", TEN, title="Plan"))) == ("title", a_key("first"))


def test_chain_of_likeness_ends_at_a_keeper(after):
    """What is like a marked page, but not like its keeper, is a keeper itself."""

    assert said(after(a_fact(1, TEN), a_fact(2, NEARLY)).give(a_fact(3, [*TEN[:7], 97, 98, 99]))) == (None, None)


class TestAtOnce:
    """Two pages ask before either is decided."""

    @pytest.mark.parametrize("layer", ["title", "duplicate", "near_duplicate"])
    def test_one_of_two_pages_goes_out(self, project, layer):
        run = Run(project, replace(LOW, near_duplicate="drop"))
        title = "Plan" if layer == "title" else None
        first, second = (
            a_fact(1, TEN, title=title),
            a_fact(2, NEARLY if layer == "near_duplicate" else TEN, title=title),
        )
        found = [run.ask(first), run.ask(second)]

        decided = [run.decide(first, found[0]), run.decide(second, found[1])]

        assert [one.dropped for one in decided] == [False, True]
        assert said(decided[1]) == (layer, a_key(1))

    def test_text_that_a_page_has_lost_meanwhile_is_not_its_any_more(self, project):
        """The store still says that it holds it."""
        run = Run(project)
        run.give(a_fact(1, [1, 2]))
        run = run.later()
        second = a_fact(2, [2, 3])
        found = run.ask(second)
        run.give(a_fact(1, [1, 9]))

        assert given(run.decide(second, found)) == [a_paragraph(2), a_paragraph(3)]


class TestFailure:
    def test_page_that_failed_stands_for_none(self, after):
        run = after(first := a_fact(1, TEN, title="Plan"))
        run.fail(first)
        run.write()

        assert said(run.give(a_fact(2, TEN, title="Plan"))) == (None, None)

    def test_page_that_failed_since_it_was_asked_about_counts_for_none(self, after):
        run = after(first := a_fact(1, TEN, title="Plan"))
        second = a_fact(2, TEN, title="Plan")
        found = run.ask(second)
        run.fail(first)

        decided = run.decide(second, found)

        assert said(decided) == (None, None)
        assert len(given(decided)) == len(TEN)


def test_store_that_does_not_answer_leaves_what_is_on_its_way(project):
    run = Run(project)
    run.give(a_fact(1, TEN))

    assert said(run.decide(a_fact(2, TEN), Holders())) == ("duplicate", a_key(1))


def test_only_so_many_pages_are_remembered_and_the_oldest_go(project):
    run = Run(project)
    plain = [a_fact(number, []) for number in range(1_001)]
    run.give(a_fact("first", TEN))
    for one in plain[:999]:
        run.decide(one, Holders())

    second = a_fact("second", TEN)
    had = run.index.with_text(second.page_key, second.domain, second.text_hash, Settings())
    before = run.decide(second, Holders())
    for one in plain[999:]:
        run.decide(one, Holders())

    assert said(before) == ("duplicate", a_key("first"))
    assert had == [a_key("first")]
    assert run.index.with_text(second.page_key, second.domain, second.text_hash, Settings()) == []


NUMBERS = count()


class Worker:
    """One of several, whose rows are not written while it works: nobody knows of them by the store."""

    def __init__(self, store: Store, name: str, chosen: Settings) -> None:
        self.project: ProjectStore = store.project(name)
        at = datetime.now(UTC)
        self.project.begin_run(spider="site", jobdir=None, started_at=at, job="job", lease=timedelta(hours=1))
        self.run = Run(self.project, chosen)
        self.chosen = chosen

    def claim(self, facts: PageFacts, found: Holders) -> Holders:
        lost = claim(self.project, facts.page_key, claims_of(facts, found, self.chosen))
        return with_holders(found, facts, lost, self.chosen)

    def decide(self, facts: PageFacts, found: Holders) -> PageComparison:
        return self.run.decide(facts, found)

    def give(self, facts: PageFacts, found: Holders) -> PageComparison:
        return self.decide(facts, self.claim(facts, found))


def workers(lasting: Store, chosen: Settings = SETTINGS) -> tuple[Worker, Worker]:
    name = f"shared-{next(NUMBERS)}"
    return Worker(lasting, name, chosen), Worker(lasting, name, chosen)


@pytest.mark.parametrize(
    ("title", "layer"), [pytest.param(None, "duplicate", id="text"), pytest.param("T", "title", id="title-too")]
)
def test_a_page_is_left_to_the_first_worker_under_the_layer_that_says_so_in_one_crawl(lasting, title, layer):
    first, second = workers(lasting)
    pages = [a_fact(number, [1, 2], title=title) for number in (1, 2)]
    found = [worker.run.ask(facts) for worker, facts in zip((first, second), pages, strict=True)]

    kept = first.give(pages[0], found[0])
    left = second.give(pages[1], found[1])

    assert not kept.dropped
    assert left.dropped
    assert (left.same.layer, left.same.keeper) == (layer, a_key(1))


def test_pages_that_name_each_other_as_translations_are_both_kept(lasting):
    first, second = workers(lasting)
    facts, other = a_fact(1, [1]), a_fact(2, [1], siblings=frozenset({a_key(1)}))
    found = second.run.ask(other)

    first.claim(facts, first.run.ask(facts))

    assert not second.give(other, found).dropped


def test_a_page_that_an_earlier_crawl_left_out_counts_where_it_is_first_now(lasting):
    first, second = workers(lasting)
    facts, other = a_fact(1, [1], title="T"), a_fact(2, [1], title="T")
    assert second.run.decide(facts, second.run.ask(facts)).same is None
    assert second.run.decide(other, second.run.ask(other)).dropped
    second.run.write()
    first.claim(other, first.run.ask(other))
    found = second.run.ask(facts)

    left = claim(second.project, facts.page_key, claims_of(facts, found, SETTINGS))

    titles = with_holders(found, facts, left, SETTINGS).titles
    assert [(twin.page_key, twin.dropped) for twin in titles] == [(other.page_key, False)]
