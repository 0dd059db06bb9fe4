"""Claims of the workers of one run: of two pages with one title or text, one is told that it is first."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from sqlalchemy import text, update

from scrapy_dedup.store import workers
from scrapy_dedup.store.records.records import ClaimKey, ClaimKind, ReleaseRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import RunWorker
from scrapy_dedup.store.workers import Claimant, PageClaim, Shown
from scrapy_dedup.store.writer import ProjectStore
from tests.store.at_once import at_once
from tests.store.builders import a_key, a_time, claim


def a_worker(store: Store, job: str = "job") -> ProjectStore:
    project = store.project("shop")
    project.begin_run(spider="site", jobdir=None, started_at=datetime.now(UTC), job=job, lease=timedelta(minutes=1))
    return project


def who(project: ProjectStore) -> Claimant:
    claimant = project.claimant
    assert claimant is not None
    return claimant


def a_text(name: object = 1) -> ClaimKey:
    return ClaimKey(ClaimKind.TEXT, a_key(name))


def die(project: ProjectStore) -> None:
    with project.transaction(write=True) as connection:
        gone = update(RunWorker).where(RunWorker.id == who(project).worker_id)
        connection.execute(gone.values(lease_until=a_time()))


def rows_of(store: Store) -> int:
    with store.session(read_only=True) as session:
        return int(session.scalar(text("SELECT count(*) FROM claims")) or 0)


def test_the_first_worker_has_it_and_every_other_is_told_which_page_holds_it(store):
    first, second = a_worker(store), a_worker(store)
    title = ClaimKey(ClaimKind.TITLE, a_key(1))

    assert claim(first, a_key("a"), [a_text(), title]) == {}
    assert claim(second, a_key("b"), [a_text(), title, a_text(2)]) == {a_text(): a_key("a"), title: a_key("a")}
    assert claim(first, a_key("c"), [a_text(), a_text(2)]) == {a_text(2): a_key("b")}
    assert claim(a_worker(store, "another job"), a_key("d"), [a_text()]) == {}


def test_of_pages_that_claim_together_each_has_what_it_had_if_they_claimed_in_turn(store):
    first, second, shown = a_worker(store), a_worker(store), Shown(b"shown")
    claim(first, a_key("a"), [a_text(1)])
    loses = PageClaim(a_key("b"), [a_text(2), a_text(1)], shown)
    wins = PageClaim(a_key("c"), [a_text(3), a_text(2)], replace(shown, is_out=True))

    assert second.claim([loses, wins, replace(wins, keys=[], shown=shown)]) == [{a_text(1): a_key("a")}, {}, {}]
    assert claim(first, a_key("d"), [a_text(2), a_text(3)]) == {a_text(2): a_key("b"), a_text(3): a_key("c")}
    assert [first.shown_by(a_key(page)) for page in "bc"] == [None, wins.shown]


def test_of_pages_that_claim_together_none_loses_to_itself(store):
    first, second = a_worker(store), a_worker(store)
    claim(first, a_key("b"), [a_text()])

    assert second.claim([PageClaim(a_key(page), [a_text()]) for page in "ab"]) == [{a_text(): a_key("b")}, {}]


def test_of_a_page_is_seen_that_lost_nothing_or_that_goes_out_all_the_same(store):
    first, second = a_worker(store), a_worker(store)
    won, lost = Shown(b"first"), Shown(b"second")

    claim(first, a_key("a"), [a_text()], won)
    claim(second, a_key("b"), [a_text(), a_text(2)], lost)
    before = [second.shown_by(a_key(page)) for page in "ab"]
    claim(second, a_key("b"), [], replace(lost, is_out=True))
    claim(second, a_key("b"), [a_text(3)], lost)

    assert before == [won, None]
    assert first.shown_by(a_key("b")) == replace(lost, is_out=True)
    second.write([ReleaseRecord(ClaimKey(ClaimKind.PAGE, a_key("b")), a_key("b"))])
    assert first.shown_by(a_key("b")) is None


def test_what_a_dead_worker_had_is_taken_over_once(store):
    dead, second, third = (a_worker(store) for _ in range(3))
    claim(dead, a_key("a"), [a_text()])
    die(dead)

    assert claim(second, a_key("b"), [a_text()]) == {}
    assert claim(third, a_key("c"), [a_text()]) == {a_text(): a_key("b")}


def test_what_its_page_releases_is_free_for_the_next(store):
    first, second = a_worker(store), a_worker(store)
    claim(first, a_key("a"), [a_text(1), a_text(2)])
    ours = [ReleaseRecord(a_text(name), a_key("a")) for name in (1, 2)]

    second.write(ours)
    first.write([ReleaseRecord(a_text(), a_key("another page"))])
    assert len(claim(second, a_key("b"), [a_text(1), a_text(2)])) == 2

    first.write(ours)
    assert claim(second, a_key("b"), [a_text(1), a_text(2)]) == {}


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    "touch",
    [
        pytest.param(lambda project, keys: claim(project, a_key("x"), keys), id="claim"),
        pytest.param(
            lambda project, keys: project.write([ReleaseRecord(key, a_key("x")) for key in keys]), id="release"
        ),
        pytest.param(lambda project, _: project.forget_claims(who(project).run_id), id="forget"),
    ],
)
def test_many_claims_are_locked_in_the_order_of_their_keys(store, touch):
    """Another worker has locked the first one, since it found it, too, and goes on to the last one."""
    worker, other = a_worker(store), a_worker(store)
    keys = sorted((a_text(name) for name in range(20)), reverse=True)
    for key in keys:
        # So that the rows lie on the disk against the order of their keys.
        claim(worker, a_key("x"), [key])

    with ThreadPoolExecutor(1) as pool:
        with other.transaction(write=True) as connection:
            workers.claim(connection, who(other), [PageClaim(a_key("y"), [keys[-1]])])
            touching = pool.submit(touch, worker, keys)
            while not is_somebody_waiting(store):
                assert not touching.done()
            workers.claim(connection, who(other), [PageClaim(a_key("y"), [keys[0]])])
        touching.result()


def is_somebody_waiting(store: Store) -> bool:
    with store.session(read_only=True) as session:
        return bool(session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")))


def win(url: str, number: int) -> int:
    dice = random.Random(number)
    with Store.open(url, timeout=timedelta(seconds=60)) as store:
        project = store.project("shop")
        project.begin_run(spider="site", jobdir=None, started_at=a_time(), job="job", lease=timedelta(hours=1))
        won: set[ClaimKey] = set()
        for turn in range(10):
            keys = [ClaimKey(kind, a_key(name)) for name in dice.sample(range(600), 20) for kind in ClaimKind]
            won |= set(keys) - claim(project, a_key((number, turn)), keys).keys()
    return len(won)


def test_of_several_processes_one_wins_each_claim_and_none_waits_in_a_circle(url):
    Store.open(url).close()

    won = at_once(4, win, url)

    with Store.open(url) as store:
        assert sum(won) == rows_of(store)
    assert all(won)
