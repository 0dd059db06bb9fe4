import uuid
from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.boilerplate.repeats import RepeatPolicy
from scrapy_dedup.core.duplicates import ITEM_BYTES, NO_FIELDS
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.recrawl.verdicts import (
    DEFAULT_POLICY,
    NO_FRAME,
    Change,
    ChangePolicy,
    Verdict,
    VerdictKind,
    page_keys,
)
from scrapy_dedup.service.cut.site_cleaning import frames_of
from scrapy_dedup.service.learning import Steps, at_once, done
from scrapy_dedup.service.recrawl import (
    MANY_BLOCKS,
    NOTHING_KNOWN,
    AskedPage,
    Delivered,
    GivenPages,
    KnownPage,
    PagesMet,
    Recall,
    SiteVersions,
    TwoVersions,
    look_up,
    page_state,
    was_met,
    wire_key,
)
from scrapy_dedup.service.templates.site_knowledge import REST, learn_site
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import DeliveryRecord, Record
from scrapy_dedup.store.records.stored import Run
from scrapy_dedup.store.writer import ProjectStore
from tests.core.builders import parsed
from tests.service.site_pages import url_of, words
from tests.store.builders import DOMAIN, NOON, a_crawled_url, a_document, a_key, a_time, a_url, an_answer, an_extraction
from tests.tables import table

CONTENT = b"c" * 32
WIRE = wire_key(a_url(1))
ASKED = AskedPage(a_key(1), WIRE, a_key("outcome"))


def an_outcome(**fields: Any) -> Record:
    return an_extraction(1, CONTENT, **{"memo_key": ASKED.outcome_key, "content_hash": CONTENT, **fields})


def a_page(name: object = 1, **fields: Any) -> list[Record]:
    return [a_document(name, content_hash=CONTENT, last_changed_at=NOON, **fields), a_crawled_url(name)]


def known_of(project: ProjectStore, asked: AskedPage = ASKED) -> KnownPage:
    return look_up(project, [asked])[asked]


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(AskedPage(a_key(1)), id="nothing-wanted"),
        pytest.param(AskedPage(a_key(1), wire_key(a_url("other")), a_key("other")), id="other-keys"),
    ],
)
def test_answer_and_outcome_are_found_by_their_own_keys_alone(project, asked):
    project.write([*a_page(), an_answer(wire_key=WIRE), an_outcome()])

    known = known_of(project, asked)

    assert known.state is not None
    assert (known.answer, known.outcome) == (None, None)


def test_outcome_of_a_run_that_has_not_ended_is_none(project):
    project.begin_run(spider="shop", jobdir=None, started_at=NOON)
    project.write([*a_page(), an_outcome()])
    before = known_of(project).outcome
    project.release_extractions(project.run.id)

    assert before is None
    assert known_of(project).outcome is not None


@pytest.mark.parametrize(
    "damage", ["UPDATE extractions SET requests = x'00ff'", "UPDATE responses SET headers = x'00ff'"]
)
def test_what_is_damaged_is_counted_and_harms_no_other_page(project, damage):
    project.write([*a_page(1), an_answer(wire_key=WIRE), an_outcome(), *a_page(2)])
    with project._database.transaction(write=True) as connection:
        connection.exec_driver_sql(damage)
    other = AskedPage(a_key(2))

    found = look_up(project, [ASKED, other])

    assert found[ASKED].damaged == 1
    assert (found[ASKED].answer is None) is ("responses" in damage)
    assert (found[ASKED].outcome is None) is ("extractions" in damage)
    assert found[other].state is not None


# What is done about a request.


def test_without_its_answer_only_that_a_page_is_gone_is_known(project):
    project.write(a_page())
    fine = page_state(known_of(project))
    project.write([a_crawled_url(1, status="failed", http_status=404, last_crawled_at=a_time(1))])
    gone = page_state(known_of(project))

    assert page_state(NOTHING_KNOWN) is None
    assert fine is None
    assert (gone.at, gone.status) == (a_time(1), 404)


@pytest.mark.parametrize(
    ("known", "met"),
    [
        pytest.param(NOTHING_KNOWN, False, id="nothing-known"),
        pytest.param(KnownPage(answer=an_answer(validated_at=a_time(-1))), False, id="of-a-run-before"),
        pytest.param(KnownPage(answer=an_answer(validated_at=a_time(1))), True, id="another-worker-has-it"),
    ],
)
def test_answer_that_another_worker_had_is_one_of_this_run(known, *, met):
    worker = Run(uuid.uuid4(), worker=uuid.uuid4())

    assert was_met(known, worker, NOON) is met


@pytest.mark.parametrize(("same_run", "resumed"), [(True, True), (False, True), (True, False)])
def test_page_that_the_run_saw_before_it_was_resumed_is_met(project, *, same_run, resumed):
    run = project.begin_run(spider="shop", jobdir=None, started_at=NOON)
    project.write(a_page(last_seen_at=NOON))
    asking = Run(run.id if same_run else uuid.uuid4(), resumed=resumed)

    assert was_met(known_of(project), asking, None) is (same_run and resumed)


MENU = "<nav><p>Home Boats Nets</p></nav>"
NEW_MENU = "<nav><p>Home Boats Nets Offers</p></nav>"
ALL = ChangePolicy(frozenset(Change))


def page_of(name: object, menu: str = MENU, footer: str = "") -> Page:
    return parsed(f"<title>{name}</title>{menu}<main><p>All about {name} and nothing else.</p></main>{footer}")


def a_site(*, earlier: int = 0, today: int = 0, menu: str = MENU) -> SiteVersions:
    """Return a site of which so many pages were seen in the last crawl, and so many today."""
    site = SiteVersions(RepeatPolicy())
    at_once(site.recall([page_keys(page_of(number)) for number in range(earlier)]))
    for number in range(today):
        at_once(site.meet(page_keys(page_of(number, menu))))
    return site


def compared(site: SiteVersions, old: Page, new: Page, policy: ChangePolicy = DEFAULT_POLICY) -> Verdict:
    return at_once(site.compare(lambda: TwoVersions(old, new), policy, with_diff=False))[0]


def test_page_in_a_new_frame_is_unchanged_once_both_frames_are_known():
    """Of yesterday's frame the last crawl knows, of today's the pages that came before."""
    old, new = page_of("cats"), page_of("cats", NEW_MENU)

    unknown, known = SiteVersions(RepeatPolicy()), a_site(earlier=8, today=16, menu=NEW_MENU)

    assert compared(unknown, old, new).kind is VerdictKind.CHANGED
    for kind, counted in ((VerdictKind.UNCHANGED, ChangePolicy()), (VerdictKind.CHANGED, ALL)):
        told = compared(known, old, new, counted)
        assert known.differ_in_chrome(page_keys(old), page_keys(new), REST)
        assert told == known.verdict_on_repeats(page_keys(old), new, NO_FRAME, counted)
        assert (told.kind, told.change) == (kind, Change.BOILERPLATE_ONLY)


def parts_of(steps: Steps[Any]) -> int:
    """Return how many parts of steps are done elsewhere."""
    parts = 0
    try:
        part = next(steps)
        while True:
            parts += 1
            part = done(steps, part)()
    except StopIteration:
        return parts


@pytest.mark.parametrize(
    ("blocks", "parts"), [pytest.param(MANY_BLOCKS - 10, 1, id="small"), pytest.param(MANY_BLOCKS, 2, id="large")]
)
def test_large_page_is_compared_where_nothing_else_waits_for_it(blocks, parts):
    """Where the older version is read nobody waits in any case."""
    old, new = (page_of(text, footer="".join(f"<p>{text} {n}</p>" for n in range(blocks))) for text in ("old", "new"))

    assert parts_of(SiteVersions(RepeatPolicy()).compare(lambda: TwoVersions(old, new), ALL, with_diff=True)) == parts


@pytest.mark.parametrize("fact", ["{} in stock", "Mon-Fri 8-{}", "{},-", "Version 2.{}", "Room {}", "{}.11.2026"])
def test_number_that_differs_on_all_pages_is_told_of_each(fact):
    """What a shop has in stock, and a price without a currency, differ so; a counter says in words that it is one."""
    site = a_site(earlier=8)
    for number in range(1, 20):
        old, new = (page_of(number, footer=f"<p>{fact.format(one)}</p>") for one in (number, number + 1))
        assert compared(site, old, new).change is Change.NUMBERS


@pytest.mark.parametrize(
    ("was", "now"),
    [("Shipping € 5.90", "Shipping € 6.90"), ("4 in stock", "0 in stock"), ("In stock", "Sold out"), ("", "Closed")],
)
@table("recrawl/what_became_the_same_on_all_pages_is_told")
def test_what_became_the_same_on_all_pages_is_told_amid_what_their_template_keeps(was, now, shape):
    """It is a fact of each page; a banner and a footer are not."""

    def html(number: int, fact: str, year: int, state: str) -> str:
        body = shape.format(f"Boat {number}", words(number, 30), fact, state)
        return f"<title>{number}</title><b>Nets since {year}</b>{body}<footer><p>Our firm {year}</p></footer>"

    pages, site = range(30), SiteVersions(RepeatPolicy())
    before = [html(number, was, 2024, "in-stock") for number in pages]
    known = learn_site(DOMAIN, [(url_of("a", number), before[number]) for number in pages], Settings())
    old = [parsed(one) for one in before]
    at_once(site.recall(map(page_keys, old)))
    for number in pages:
        is_new = number % 3 > 0
        new = parsed(html(number, now if is_new else was, 2025, "out-of-stock" if is_new else "in-stock"))
        at_once(site.meet(page_keys(new)))
        frames, keys = frames_of(old[number], new, url_of("a", number), known), page_keys(old[number])
        read = partial(TwoVersions, old[number], new, frames)
        told = [at_once(site.compare(read, DEFAULT_POLICY, with_diff=False))[0]]
        if site.differ_in_repeats(keys, page_keys(new)):
            told.append(site.verdict_on_repeats(keys, new, frames[1], DEFAULT_POLICY))
        assert {one.kind for one in told} == {VerdictKind.CHANGED if is_new else VerdictKind.UNCHANGED}
        assert not (is_new and site.differ_in_chrome(keys, page_keys(new), REST))


GIVER = a_key("parse")
HASHES = st.just(NO_FIELDS) | st.integers(1, 3).map(lambda number: bytes([number]) * ITEM_BYTES)
KEEPERS = st.sampled_from([a_key(2), a_key(3)])


@given(items=st.lists(HASHES), left_out=st.dictionaries(HASHES, KEEPERS), fields=st.sets(HASHES, min_size=1))
def test_the_next_visit_is_told_each_item_of_the_last_also_those_without_a_value(lasting, items, left_out, fields):
    project = lasting.project(str(uuid.uuid4()))
    alias, keeper = Delivered(items, set(), left_out), Delivered([], fields)
    project.write([a_document(number) for number in (2, 3)])
    project.write([DeliveryRecord(a_key(1), GIVER, DOMAIN, NOON, *alias.packed())])
    project.write([DeliveryRecord(key, GIVER, DOMAIN, NOON, *keeper.packed()) for key in (a_key(2), a_key(3))])

    earlier = Recall(project, PagesMet(), ()).earlier(a_key(1), GIVER)

    assert earlier.items == Counter(items)
    assert earlier.left_out == left_out
    assert earlier.keepers == dict.fromkeys(set(left_out.values()), frozenset(fields))


def test_a_page_that_is_visited_again_and_again_is_not_forgotten_for_others():
    pages = GivenPages(most=2)
    polled = pages.of(b"polled", b"parse")
    for other in (b"one", b"two", b"three"):
        pages.of(other, b"parse")
        assert pages.of(b"polled", b"parse") is polled
