"""Two workers of one run that meet the same texts: one of them gives each, whoever was first."""

from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from scrapy_dedup.service.duplicates.claims import claims_of, with_holders
from scrapy_dedup.service.duplicates.comparison import PageComparison
from scrapy_dedup.service.duplicates.index import KnownDuplicates
from scrapy_dedup.service.duplicates.page_facts import PageFacts
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.known_facts import SETTINGS, Run, a_fact
from tests.store.builders import a_key

NUMBERS = count()


class Worker:
    """One of several, whose rows are not written while it works: nobody knows of them by the store."""

    def __init__(self, store: Store, name: str, chosen: Settings) -> None:
        self.project: ProjectStore = store.project(name)
        at = datetime.now(UTC)
        self.project.begin_run(spider="site", jobdir=None, started_at=at, job="job", lease=timedelta(hours=1))
        self.run = Run(self.project, chosen)
        self.chosen = chosen

    def claim(self, facts: PageFacts, found: KnownDuplicates) -> KnownDuplicates:
        lost = self.project.claim(facts.page_key, claims_of(facts, found, self.chosen))
        return with_holders(found, facts, lost, self.chosen)

    def decide(self, facts: PageFacts, found: KnownDuplicates) -> PageComparison:
        return self.run.decide(facts, found)

    def give(self, facts: PageFacts, found: KnownDuplicates) -> PageComparison:
        return self.decide(facts, self.claim(facts, found))


def workers(lasting: Store, chosen: Settings = SETTINGS) -> tuple[Worker, Worker]:
    name = f"shared-{next(NUMBERS)}"
    return Worker(lasting, name, chosen), Worker(lasting, name, chosen)


@pytest.mark.parametrize(
    ("title", "layer"), [pytest.param(None, "duplicate", id="text"), pytest.param("T", "title", id="title-too")]
)
def test_a_page_is_left_to_the_first_worker_under_the_layer_that_says_so_in_one_crawl(
    lasting: Store, title: str | None, layer: str
) -> None:
    first, second = workers(lasting)
    pages = [a_fact(number, [1, 2], title=title) for number in (1, 2)]
    found = [worker.run.ask(facts) for worker, facts in zip((first, second), pages, strict=True)]

    kept = first.give(pages[0], found[0])
    left = second.give(pages[1], found[1])

    assert not kept.dropped
    assert left.dropped
    assert left.same is not None
    assert (left.same.layer, left.same.keeper) == (layer, a_key(1))


def test_pages_that_name_each_other_as_translations_are_both_kept(lasting: Store) -> None:
    first, second = workers(lasting)
    facts, other = a_fact(1, [1]), a_fact(2, [1], siblings=frozenset({a_key(1)}))
    found = second.run.ask(other)

    first.claim(facts, first.run.ask(facts))

    assert not second.give(other, found).dropped


def test_a_page_that_an_earlier_crawl_left_out_counts_where_it_is_first_now(lasting: Store) -> None:
    first, second = workers(lasting)
    facts, other = a_fact(1, [1], title="T"), a_fact(2, [1], title="T")
    assert second.run.decide(facts, second.run.ask(facts)).same is None
    assert second.run.decide(other, second.run.ask(other)).dropped
    second.run.write()
    first.claim(other, first.run.ask(other))
    found = second.run.ask(facts)

    left = second.project.claim(facts.page_key, claims_of(facts, found, SETTINGS))

    titles = with_holders(found, facts, left, SETTINGS).answer.titles
    assert [(twin.page_key, twin.dropped) for twin in titles] == [(other.page_key, False)]
