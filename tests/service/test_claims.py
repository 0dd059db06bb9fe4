"""Two workers of one run that meet the same texts: one of them gives each, whoever was first."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_dedup.service.claims import (
    Lost,
    chunk_claims,
    done_records,
    failed_records,
    lost_of,
    not_needed,
    page_claim,
    text_claims,
    title_to_wait_for,
    with_holders,
    won_of,
)
from scrapy_dedup.service.comparison import Comparison, would_drop
from scrapy_dedup.service.others import Found
from scrapy_dedup.service.page_facts import Facts
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.claim_records import ClaimDoneRecord, ClaimKey, ClaimReleasedRecord, Kind, Wanted
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.known_facts import SETTINGS, Run, a_fact
from tests.store.builders import a_key

NUMBERS = count()
PAGES = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def lasting() -> Iterator[Store]:
    with Store.open("sqlite://") as opened:
        yield opened


class Worker:
    """One of several, whose rows are not written while it works: nobody knows of them by the store."""

    def __init__(self, store: Store, name: str, chosen: Settings) -> None:
        self.project: ProjectStore = store.project(name)
        at = datetime.now(UTC)
        self.project.begin_run(spider="site", jobdir=None, started_at=at, job="job", lease=timedelta(hours=1))
        self.run = Run(self.project, chosen)
        self.chosen = chosen

    def claim(self, wanted: list[Wanted], held: dict[ClaimKey, bytes]) -> Lost:
        claimant = self.project.claimant
        assert claimant is not None
        found = self.project.claim(claimant, wanted)
        held |= won_of(wanted, found)
        return lost_of(found)

    def texts(self, facts: Facts, found: Found, held: dict[ClaimKey, bytes]) -> Found:
        lost = self.claim(text_claims(facts, found, self.chosen), held)
        return with_holders(found, facts, lost, self.chosen)

    def decide(self, facts: Facts, found: Found, held: dict[ClaimKey, bytes]) -> Comparison:
        if not would_drop(self.run.others, facts, found, self.chosen):
            lost = self.claim(chunk_claims(facts, found, self.chosen), held)
            found = with_holders(found, facts, lost, self.chosen)
        comparison = self.run.decide(facts, found)
        self.project.write([ClaimReleasedRecord(*key) for key in not_needed(held, comparison)])
        return comparison

    def give(self, facts: Facts, found: Found) -> Comparison:
        held: dict[ClaimKey, bytes] = {}
        return self.decide(facts, self.texts(facts, found, held), held)


def workers(lasting: Store, chosen: Settings = SETTINGS) -> tuple[Worker, Worker]:
    name = f"shared-{next(NUMBERS)}"
    return Worker(lasting, name, chosen), Worker(lasting, name, chosen)


def given_texts(*found: Comparison) -> Counter[bytes]:
    return Counter(chunk.key for one in found for chunk in one.chunks.given)


class TestTwoWorkers:
    @settings(max_examples=25)
    @given(st.data(), PAGES)
    def test_give_each_text_exactly_once(self, lasting: Store, data: st.DataObject, pages: list[list[int]]) -> None:
        """In any order in which pages ask, claim and are decided, with nothing of it written."""
        pair, chosen = workers(lasting), replace(SETTINGS, near_duplicate="mark")
        under_way: list[Iterator[Comparison | None]] = []

        def steps(worker: Worker, facts: Facts) -> Iterator[Comparison | None]:
            found = worker.run.ask(facts)
            yield None
            held: dict[ClaimKey, bytes] = {}
            found = worker.texts(facts, found, held)
            yield None
            yield worker.decide(facts, found, held)

        for number, paragraphs in enumerate(pages):
            under_way.append(steps(pair[data.draw(st.integers(0, 1))], a_fact(number, paragraphs, chosen)))
        decided: list[Comparison] = []
        while under_way:
            one = data.draw(st.sampled_from(under_way))
            step = next(one)
            if step is not None:
                decided.append(step)
                under_way.remove(one)

        wanted = {chunk.key for number, page in enumerate(pages) for chunk in a_fact(number, page).chunks}
        assert given_texts(*decided) == Counter(dict.fromkeys(wanted, 1))

    @pytest.mark.parametrize(
        ("title", "layer"), [pytest.param(None, "duplicate", id="text"), pytest.param("T", "title", id="title-too")]
    )
    def test_leave_a_page_to_the_first_under_the_layer_that_says_so_in_one_crawl(
        self, lasting: Store, title: str | None, layer: str
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

    def test_keep_pages_that_name_each_other_as_translations(self, lasting: Store) -> None:
        first, second = workers(lasting)
        facts, other = a_fact(1, [1]), a_fact(2, [1], siblings=frozenset({a_key(1)}))
        found = second.run.ask(other)

        first.texts(facts, first.run.ask(facts), {})

        assert not second.give(other, found).dropped

    def test_trust_a_title_that_the_other_has_where_titles_are_trusted(self, lasting: Store) -> None:
        first, second = workers(lasting, replace(SETTINGS, title_trust="always"))
        facts, other = a_fact(1, [1], title="T"), a_fact(2, [2], title="T")
        found = second.run.ask(other)

        first.texts(facts, first.run.ask(facts), {})
        left = second.give(other, found)

        assert left.dropped
        assert title_to_wait_for(other, found, {}, second.chosen) is None

    def test_wait_for_the_text_of_a_page_that_has_the_title(self, lasting: Store) -> None:
        first, second = workers(lasting)
        facts, other = a_fact(1, [1], title="T"), a_fact(2, [2], title="T")
        found = second.run.ask(other)
        first.texts(facts, first.run.ask(facts), {})

        lost = second.claim(text_claims(other, found, second.chosen), {})

        assert title_to_wait_for(other, found, lost, second.chosen) == a_key(1)
        first.decide(facts, first.run.ask(facts), {})
        first.run.write()
        assert title_to_wait_for(other, second.run.ask(other), lost, second.chosen) is None


def test_nothing_is_claimed_that_several_pages_may_hold() -> None:
    facts = a_fact(1, [1, 2])

    assert len(chunk_claims(facts, Found(), SETTINGS)) == len(facts.chunks) > 0
    assert chunk_claims(facts, Found(), replace(SETTINGS, chunk_min_documents=2)) == []


def test_layers_that_do_not_act_claim_nothing() -> None:
    facts = a_fact(1, [1, 2], title="T")
    shadowed = replace(SETTINGS, shadow=frozenset({"title", "duplicate", "chunk"}))

    assert [one.kind for one in text_claims(facts, Found(), SETTINGS)] == [Kind.TITLE, Kind.TEXT]
    assert text_claims(facts, Found(), shadowed) == chunk_claims(facts, Found(), shadowed) == []


@pytest.mark.parametrize(
    "other", [page_claim(a_key(2), "parse"), page_claim(a_key(1), "parse_item"), page_claim(a_key(1), "parse", b"x")]
)
def test_pages_are_claimed_by_url_callback_and_what_else_tells_a_request_apart(other: ClaimKey) -> None:
    assert page_claim(a_key(1), "parse") == page_claim(a_key(1), "parse")
    assert page_claim(a_key(1), "parse") != other


def test_page_that_failed_was_fetched_and_leaves_its_texts_to_others() -> None:
    held = {ClaimKey(Kind.PAGE, a_key(1)): a_key(1), ClaimKey(Kind.TEXT, a_key(2)): a_key(1)}

    assert failed_records(dict(held)) == [
        ClaimDoneRecord(Kind.PAGE, a_key(1), a_key(1)),
        ClaimReleasedRecord(Kind.TEXT, a_key(2)),
    ]
    assert [type(one) for one in done_records(held)] == [ClaimDoneRecord] * 2
    assert held == {}
